"""Tables to try things on, offline: `names()` lists them, `load(name)` gives one.

Invariant: every entry loads without the network, has its target as a column of the table, and
says what it is and under which licence. Five are held by scikit-learn; it is imported for two only.
Three sets may not be shipped: `load(name, path=...)` reads them from a file and checks its values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import _sklearn
from pellucid.data import synthetic
from pellucid.data.io import known_files
from pellucid.errors import DataError, ParameterError

_FILES = Path(__file__).with_name("files")
_OWN = "BSD-3-Clause (made by Pellucid)"


@dataclass(frozen=True)
class Dataset:
    """A table with a target, and what is known about it.

    `facts` holds numbers that are true by construction, such as the error of the best rule.
    """

    name: str
    table: Any
    target: str
    task: str
    description: str
    licence: str
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def X(self) -> Any:
        """The table without the target."""
        return self.table.drop_columns([self.target])

    @property
    def y(self) -> Any:
        """The target as a NumPy array of numbers or strings."""
        from pellucid.data.arrow_numpy import to_numpy

        column = self.table.column(self.target)
        return np.array(column.to_pylist()) if str(column.type) == "string" else to_numpy(column)

    @property
    def features(self) -> list[str]:
        """Names of all columns but the target."""
        return [name for name in self.table.column_names if name != self.target]

    def __repr__(self) -> str:
        shape = f"{self.table.num_rows} rows x {len(self.features)} features"
        return f"Dataset({self.name!r}: {shape}, target {self.target!r}, {self.task})"


@dataclass(frozen=True)
class _Entry:
    """How to make a data set; the target is the last column unless `target` names it."""

    make: Callable[..., Any]
    task: str
    description: str
    licence: str = _OWN
    target: str | None = None
    facts: Callable[..., Mapping[str, float]] = lambda **options: {}


def names() -> list[str]:
    """The names that `load` accepts."""
    return sorted(_ENTRIES)


def load(name: str, **options: Any) -> Dataset:
    """The data set of that name.

    Drawn ones take options: `load("two_gaussians", n=1000, p=0.4, random_state=0)`. "boston",
    "spambase" and "newsgroups4" are read from your own copy, `load("boston", path="boston.csv")`;
    without `path`, the error says where to get it.

    >>> from pellucid.data.datasets import load
    >>> load("penguins")
    Dataset('penguins': 344 rows x 7 features, target 'species', classification)
    """
    entries = _ENTRIES | _FROM_FILES
    if name not in entries:
        from pellucid.data.io.source import did_you_mean

        known = ", ".join(sorted(entries))
        raise DataError(
            f"There is no data set {name!r}.{did_you_mean(str(name), list(entries))} Known: {known}"
        )
    from pellucid.data.io.write import as_table

    entry = entries[name]
    try:
        made, facts = entry.make(**options), entry.facts(**options)
    except TypeError as error:
        reason = str(error).split("() ")[-1].rstrip(".")
        raise ParameterError(f"load({name!r}): {reason}.") from None
    table = as_table(made) if isinstance(made, dict) else made
    target = entry.target or table.column_names[-1]
    return Dataset(name, table, target, entry.task, entry.description, entry.licence, facts)


def _bundled(name: str) -> Any:
    from pellucid.data.io.read import read

    return read(_FILES / f"{name}.csv")


def _from_sklearn(loader: str, target: str, **options: Any) -> dict[str, Any]:
    """A scikit-learn set with its classes by name, so that reports can name them."""
    bunch = getattr(_sklearn.datasets(), loader)(**options)
    columns = {str(c): bunch.data[:, j] for j, c in enumerate(bunch.feature_names)}
    labels = bunch.get("target_names")
    if labels is None or loader == "load_digits":
        return {**columns, target: bunch.target}
    return {**columns, target: [str(labels[code]) for code in bunch.target]}


def _from_file(
    file: str, loader: str, columns: list[str], target: str, **options: Any
) -> dict[str, Any]:
    """A scikit-learn set read from its file: the package takes seconds to import.

    The first line of such a file is: rows, columns, names of the classes.
    """
    path = _sklearn.data_file(file)
    if path is None or options:
        return _from_sklearn(loader, target, **options)
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    labels = head.split(",")[2:]
    cells = np.array([line.split(",") for line in lines if line], dtype=float)
    named = {name: np.ascontiguousarray(cells[:, j]) for j, name in enumerate(columns)}
    return {**named, target: [labels[int(code)] for code in cells[:, -1]]}


_NUCLEI = (
    "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity",
    "concave points", "symmetry", "fractal dimension",
)  # fmt: skip
_BREAST_CANCER = [
    pattern.format(name) for pattern in ("mean {}", "{} error", "worst {}") for name in _NUCLEI
]
_IRIS = [f"{part} {size} (cm)" for part in ("sepal", "petal") for size in ("length", "width")]
_WINE = [
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols",
    "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue",
    "od280/od315_of_diluted_wines", "proline",
]  # fmt: skip

_FROM_FILES = {
    "boston": _Entry(
        partial(known_files.number_table, known_files.BOSTON),
        "regression",
        "506 census tracts of Boston, 13 columns; median value of homes in 1000 dollars.",
        "none stated (Harrison, Rubinfeld 1978)",
    ),
    "newsgroups4": _Entry(
        known_files.newsgroups,
        "classification",
        "3949 messages of four newsgroups: graphics, autos, hockey and space.",
        "none stated (Lang 1995)",
    ),
    "spambase": _Entry(
        known_files.spambase,
        "classification",
        "4601 e-mails, 57 frequencies of words and signs; spam or not?",
        "CC BY 4.0 (UCI; Hopkins, Reeber, Forman, Suermondt 1999)",
    ),
}

_ENTRIES = {
    "breast_cancer": _Entry(
        partial(_from_file, "breast_cancer.csv", "load_breast_cancer", _BREAST_CANCER, "diagnosis"),
        "classification",
        "569 tumours, 30 measurements of their cell nuclei; malignant or benign?",
        "as distributed with scikit-learn (UCI, CC BY 4.0)",
    ),
    "course": _Entry(
        synthetic.course,
        "classification",
        "20 students, five yes-no facts about a course; did they like it?",
    ),
    "course_ratings": _Entry(
        synthetic.course_ratings,
        "regression",
        "20 students, five yes-no facts about a course; their marks for it, -2 to 2.",
    ),
    "diabetes": _Entry(
        partial(_from_sklearn, "load_diabetes", "progression"),
        "regression",
        "442 patients, ten measurements (standardised; scaled=False for the units); progression of "
        "the disease after one year.",
        "as distributed with scikit-learn (Efron et al. 2004)",
    ),
    "digits": _Entry(
        partial(_from_sklearn, "load_digits", "digit"),
        "classification",
        "1797 handwritten digits as 8 x 8 grey pixels of 0 to 16.",
        "as distributed with scikit-learn (UCI, CC BY 4.0)",
    ),
    "height_weight_foot": _Entry(
        synthetic.height_weight_foot,
        "classification",
        "Eight people measured in feet, pounds and inches; male or female?",
    ),
    "iris": _Entry(
        partial(_from_file, "iris.csv", "load_iris", _IRIS, "species"),
        "classification",
        "150 irises of three species, four lengths in cm (Fisher 1936).",
        "as distributed with scikit-learn (UCI, CC BY 4.0)",
    ),
    "moons": _Entry(
        synthetic.moons,
        "classification",
        "Two half moons that reach into each other: no straight line separates them.",
    ),
    "penguins": _Entry(
        partial(_bundled, "penguins"),
        "classification",
        "344 penguins of three species on the islands of the Palmer Archipelago: measurements, "
        "sex, island and year, with missing values (Gorman, Williams, Fraser 2014).",
        "CC0-1.0",
        target="species",
    ),
    "tips": _Entry(
        partial(_bundled, "tips"),
        "regression",
        "244 restaurant bills and the tips that one waiter recorded (Bryant, Smith 1995).",
        "MIT",
        target="tip",
    ),
    "two_gaussians": _Entry(
        synthetic.two_gaussians,
        "classification",
        "Two normal clouds of unequal share; the best possible error is known.",
        facts=lambda **options: {"bayes_error": synthetic.bayes_error(options.get("p", 0.4))},
    ),
    "wine": _Entry(
        partial(_from_file, "wine_data.csv", "load_wine", _WINE, "cultivar"),
        "classification",
        "178 Italian wines of three cultivars, 13 chemical measurements.",
        "as distributed with scikit-learn (UCI, CC BY 4.0)",
    ),
    "xor": _Entry(
        synthetic.xor,
        "classification",
        "Four clouds, opposite corners alike: each column alone says nothing.",
    ),
    "xor_table": _Entry(
        synthetic.xor_table,
        "regression",
        "The four corners of exclusive or, with the values 0 and 10.",
    ),
}
