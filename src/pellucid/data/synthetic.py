"""Tables made here, from a formula or a page of paper, whose truth is known.

Drawn tables depend on their arguments alone: equal arguments, equal bits. Columns come back as a
dict of name -> values, the target last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.errors import ParameterError

Columns = dict[str, Any]


def two_gaussians(n: int = 1000, p: float = 0.4, random_state: int = 0) -> Columns:
    """Clouds with identity covariance around (1, 1), label 1, and (-1, -1), label -1.

    A row has label 1 with probability `p`. The best possible rule is
    2 x1 + 2 x2 + log(p / (1 - p)) > 0, and its error is `bayes_error(p)`.
    """
    _require("p", p, 0 < p < 1, "between 0 and 1")
    rng = _generator(n, random_state)
    label = np.where(rng.random(n) < p, 1, -1)
    X = rng.standard_normal((n, 2)) + label[:, None]
    return {"x1": X[:, 0], "x2": X[:, 1], "label": label}


def bayes_error(p: float = 0.4) -> float:
    """The error of the best rule for `two_gaussians(p=p)`, exactly.

    The rule's score 2 x1 + 2 x2 + b is normal with mean b + 4 (label 1) or b - 4 (label -1) and
    variance 8.
    """
    _require("p", p, 0 < p < 1, "between 0 and 1")
    b = math.log(p / (1 - p))
    return p * _normal_cdf(-(b + 4) / math.sqrt(8)) + (1 - p) * _normal_cdf((b - 4) / math.sqrt(8))


def moons(n: int = 400, noise: float = 0.2, random_state: int = 0) -> Columns:
    """Two half circles of radius 1 that reach into each other, plus normal noise."""
    _require("noise", noise, noise >= 0, "not negative")
    rng = _generator(n, random_state)
    upper = (n + 1) // 2
    t = np.concatenate([np.linspace(0, np.pi, upper), np.linspace(0, np.pi, n - upper)])
    below = np.arange(n) >= upper
    x1 = np.where(below, 1 - np.cos(t), np.cos(t))
    x2 = np.where(below, 0.5 - np.sin(t), np.sin(t))
    X = np.column_stack([x1, x2]) + noise * rng.standard_normal((n, 2))
    order = rng.permutation(n)
    moon = np.where(below, "lower", "upper")
    return {"x1": X[order, 0], "x2": X[order, 1], "moon": moon[order]}


def xor(n: int = 400, noise: float = 0.25, random_state: int = 0) -> Columns:
    """Clouds around the corners of the unit square; opposite corners share the label.

    Each column alone says nothing about the label, both together almost everything.
    """
    _require("noise", noise, noise >= 0, "not negative")
    rng = _generator(n, random_state)
    corner = np.arange(n) % 4
    a, b = corner // 2, corner % 2
    X = np.column_stack([a, b]) + noise * rng.standard_normal((n, 2))
    order = rng.permutation(n)
    label = np.where(a == b, "same", "different")
    return {"a": X[order, 0], "b": X[order, 1], "label": label[order]}


def xor_table() -> Columns:
    """The four corners themselves: no first split improves anything, two solve it."""
    return {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "y": [0.0, 10.0, 10.0, 0.0]}


# rating, then: easy, prerequisites taken, same lecturer, has labs, in the morning
_COURSES = """
+2 yynyn  +2 yynyn  +2 nynnn  +2 nnnyn  +2 nyyny  +1 yynnn  +1 yynyn  +1 nynyn   0 nnnny   0 ynnyy
 0 nynyn   0 yyyyy  -1 yyyny  -1 nnyyn  -1 nnyny  -1 ynyny  -2 nnyyn  -2 nyyny  -2 ynynn  -2 ynyny
"""


def course() -> Columns:
    """Twenty students, five facts, and whether they liked the course (a mark of 0 or more)."""
    facts, marks = _courses()
    return {**facts, "like": ["like" if mark >= 0 else "dislike" for mark in marks]}


def course_ratings() -> Columns:
    """The same twenty students with their marks from -2 to 2."""
    facts, marks = _courses()
    return {**facts, "rating": marks}


def _courses() -> tuple[Columns, list[int]]:
    words = _COURSES.split()
    answers = words[1::2]
    names = ("easy", "prerequisites", "same_lecturer", "labs", "morning")
    facts = {
        name: ["yes" if row[j] == "y" else "no" for row in answers] for j, name in enumerate(names)
    }
    return facts, [int(word) for word in words[::2]]


def height_weight_foot() -> Columns:
    """Eight people: height in feet, weight in pounds, foot in inches."""
    return {
        "height": [6.0, 5.92, 5.58, 5.92, 5.0, 5.5, 5.42, 5.75],
        "weight": [180, 190, 170, 165, 100, 150, 130, 150],
        "foot": [12, 11, 12, 10, 6, 8, 7, 9],
        "sex": ["male"] * 4 + ["female"] * 4,
    }


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _generator(n: int, random_state: int) -> np.random.Generator:
    _require("n", n, isinstance(n, int) and n >= 2, "a whole number of at least 2")
    return np.random.default_rng(random_state)


def _require(name: str, value: Any, right: bool, rule: str) -> None:
    if not right:
        raise ParameterError(f"{name} must be {rule}, not {value!r}.")
