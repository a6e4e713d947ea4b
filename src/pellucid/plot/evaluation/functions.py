"""Curves of functions: losses, inverse links and impurities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.plot.display import Display
from pellucid.plot.picture import Axis, Line, Panel, Picture


def _bits(p: np.ndarray) -> np.ndarray:
    """-p log2 p, which is 0 for p = 0."""
    return -p * np.log2(np.where(p > 0, p, 1.0))


CLASSIFICATION = {
    "0-1": lambda z: np.where(z > 0, 0.0, 1.0),
    "hinge": lambda z: np.maximum(0.0, 1.0 - z),
    "squared hinge": lambda z: np.maximum(0.0, 1.0 - z) ** 2,
    "logistic": lambda z: np.logaddexp(0.0, -z),
    "exponential": lambda z: np.exp(-z),
    "perceptron": lambda z: np.maximum(0.0, -z),
}
REGRESSION = {
    "squared / 2": lambda r: r**2 / 2,
    "absolute": np.abs,
    "Huber (1)": lambda r: np.where(np.abs(r) <= 1, r**2 / 2, np.abs(r) - 0.5),
    "epsilon-insensitive (0.5)": lambda r: np.maximum(0.0, np.abs(r) - 0.5),
}
LINKS = {
    "logit (sigmoid)": lambda z: 1 / (1 + np.exp(-z)),
    "probit": lambda z: np.array([math.erfc(-v / math.sqrt(2)) / 2 for v in z]),
    "complementary log-log": lambda z: -np.expm1(-np.exp(z)),
    "cauchit": lambda z: 0.5 + np.arctan(z) / np.pi,
}
IMPURITIES = {
    "Gini": lambda p: 2 * p * (1 - p),
    "entropy (bits)": lambda p: _bits(p) + _bits(1 - p),
    "misclassification": lambda p: np.minimum(p, 1 - p),
}


class FunctionDisplay(Display):
    """Named functions of one number.

    Parameters
    ----------
    x : where the functions are shown.
    curves : name -> values at x.
    x_label, y_label, title : texts of the picture.
    top : upper end of the y axis; that of the curves by default.
    """

    def __init__(
        self, x: Any, curves: Mapping[str, Any], x_label: str, y_label: str, title: str,
        top: float | None = None,
    ) -> None:  # fmt: skip
        self.x = np.asarray(x, dtype=float)
        self.curves = {name: np.asarray(values, dtype=float) for name, values in curves.items()}
        self.x_label, self.y_label, self.title, self.top = x_label, y_label, title, top

    def columns(self) -> dict[str, Any]:
        return {self.x_label: self.x, **self.curves}

    def picture(self) -> Picture:
        lines = tuple(
            Line(*_broken(self.x, values), name, i, points=False)
            for i, (name, values) in enumerate(self.curves.items())
        )
        panel = Panel(lines, Axis(self.x_label), Axis(self.y_label, high=self.top, zero=True))
        return Picture((panel,), self.title, self.title)


def _broken(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The curve with a gap at each jump, so that no steep line pretends to be part of it."""
    jump = np.flatnonzero(np.abs(np.diff(y)) >= 0.5 * max(np.ptp(y), 1e-300)) + 1
    return np.insert(x, jump, np.nan), np.insert(y, jump, np.nan)


def _chosen(table: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    unknown = [name for name in names or () if name not in table]
    if unknown:
        raise ParameterError(f"Unknown curve {unknown[0]!r}. Use {', '.join(map(repr, table))}.")
    return {name: table[name] for name in (table if names is None else names)}


def losses(
    kind: str = "classification", *, names: Sequence[str] | None = None, reach: float = 2.5
) -> FunctionDisplay:
    """Loss functions.

    Parameters
    ----------
    kind : "classification" (by the margin y f(x)) or "regression" (by the residual).
    names : the losses to show, such as "hinge" and "0-1"; all of them by default.
    reach : the curves go from -reach to reach.

    Examples
    --------
    >>> from pellucid import plot
    >>> frame = plot.losses(names=["0-1", "hinge"]).frame()
    >>> frame["margin y f(x)"][0], frame["hinge"][0]
    (-2.5, 3.5)
    """
    tables: dict[str, Any] = {"classification": CLASSIFICATION, "regression": REGRESSION}
    if kind not in tables:
        raise ParameterError(
            f"kind must be 'classification' or 'regression'. Got {kind!r} instead."
        )
    x = np.linspace(-reach, reach, 241)
    curves = {name: f(x) for name, f in _chosen(tables[kind], names).items()}
    label = "margin y f(x)" if kind == "classification" else "residual"
    return FunctionDisplay(x, curves, label, "loss", f"Losses for {kind}", top=4.0)


def links(*, names: Sequence[str] | None = None, reach: float = 6.0) -> FunctionDisplay:
    """Inverse links: from a linear score to a probability.

    Examples
    --------
    >>> from pellucid import plot
    >>> plot.links(names=["logit (sigmoid)"], reach=1).frame()["logit (sigmoid)"][120]
    0.5
    """
    x = np.linspace(-reach, reach, 241)
    curves = {name: f(x) for name, f in _chosen(LINKS, names).items()}
    return FunctionDisplay(x, curves, "linear score", "probability", "Inverse links")


def impurities(*, names: Sequence[str] | None = None) -> FunctionDisplay:
    """Impurities of a node with two classes, by the share of one of them.

    Examples
    --------
    >>> from pellucid import plot
    >>> plot.impurities().frame()["Gini"][50]
    0.5
    """
    p = np.linspace(0.0, 1.0, 101)
    curves = {name: f(p) for name, f in _chosen(IMPURITIES, names).items()}
    return FunctionDisplay(p, curves, "share of one class", "impurity", "Impurity of a node")
