"""The one way from the tests to the reference data, which are not part of the project.

The folder is `PELLUCID_SHARED_DATA`, or else the nearest `shared/data` above this file. Where there
is none, every function here skips the calling test and says why; nothing here ever fails for want
of the folder, and nothing guesses at numbers it did not read.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

VARIABLE = "PELLUCID_SHARED_DATA"

NIST_NAMES = (
    *("Norris", "Pontius", "NoInt1", "NoInt2", "Filip", "Longley"),
    *("Wampler1", "Wampler2", "Wampler3", "Wampler4", "Wampler5"),
)


def find_folder() -> Path | None:
    """The reference data folder, or None. A variable that is set wins, even if it is wrong."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named) if Path(named).is_dir() else None
    for parent in Path(__file__).resolve().parents:
        if (parent / "shared" / "data").is_dir():
            return parent / "shared" / "data"
    return None


def path(name: str) -> Path:
    """The file of that name in the reference folder; skips the test when there is none."""
    folder = find_folder()
    if folder is None:
        pytest.skip(f"reference data folder not found: set {VARIABLE}")
    file = folder / name
    if not file.is_file():
        pytest.skip(f"reference data file {name} is not in {folder.name}/")
    return file


def frame(name: str, **options: Any) -> Any:
    """A CSV file as a pandas frame; `options` go to `pandas.read_csv`.

    Texts and tables where "NA" is a level need `keep_default_na=False`.
    """
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(path(name), **options)


def columns(name: str, **options: Any) -> dict[str, np.ndarray]:
    """A CSV file as a dict of NumPy columns in file order (text as object)."""
    table = frame(name, **options)
    return {column: table[column].to_numpy() for column in table.columns}


def r_reference(key: str) -> dict[str, Any]:
    """One entry computed by R, e.g. `r_reference("lm_mtcars")`; numbers have 17 digits."""
    return _entry("r_reference.json", key)


def statsmodels_reference(key: str) -> dict[str, Any]:
    """One entry of the values that ship with statsmodels (5 to 10 digits), by class name."""
    document = _document("statsmodels_reference.json")
    full = [known for known in document if known == key or known.endswith(f":{key}")]
    return _entry("statsmodels_reference.json", full[0] if len(full) == 1 else key)


@dataclass(frozen=True)
class NistSet:
    """One linear regression of the NIST Statistical Reference Datasets.

    `X` holds the regressors without the constant, exactly as written in the file: a polynomial
    has ONE column there, and `design()` gives its powers. Certified values have 15 digits.
    """

    name: str
    model: str
    intercept: bool
    X: np.ndarray
    y: np.ndarray
    estimate: np.ndarray
    std_error: np.ndarray
    residual_sd: float
    r_squared: float
    exact_estimate: tuple[Fraction, ...]
    exact_std_error: tuple[Fraction, ...]

    def design(self) -> np.ndarray:
        """The regressors of the model, (n, p), without the constant."""
        if self.model.startswith("poly"):
            return self.X ** np.arange(1, int(self.model.removeprefix("poly")) + 1)
        return self.X

    def digits(self, estimate: np.ndarray) -> float:
        """Correct significant digits of the worst coefficient (constant first, if there is one).

        The measure is -log10 of the relative error against the exact solution, computed in
        fractions, at most 17; an exact answer counts 17. Relative to 1 where the truth is 0.
        """
        found = np.asarray(estimate, dtype=float).ravel()
        if found.shape != self.estimate.shape:
            raise ValueError(f"{self.name} has {self.estimate.size} coefficients, got {found.size}")
        if not np.all(np.isfinite(found)):
            return 0.0
        errors = [
            abs(Fraction(float(value)) - exact) / (abs(exact) or 1)
            for value, exact in zip(found, self.exact_estimate)
        ]
        worst = float(max(errors))
        return 17.0 if worst == 0 else min(17.0, -float(np.log10(worst)))


def nist(name: str) -> NistSet:
    """One of `NIST_NAMES`, with certified and exact values."""
    entry = _entry("nist_strd_linear.json", name)
    data = np.array(entry["data"], dtype=float)
    certified, exact = entry["certified"], entry["exact25"]
    return NistSet(
        name=name,
        model=entry["model"],
        intercept=entry["intercept"],
        X=np.ascontiguousarray(data[:, 1:]),
        y=np.ascontiguousarray(data[:, 0]),
        estimate=np.array(certified["estimate"], dtype=float),
        std_error=np.array(certified["std_error"], dtype=float),
        residual_sd=float(certified["residual_sd"]),
        r_squared=float(certified["r_squared"]),
        exact_estimate=tuple(Fraction(text) for text in exact["estimate"]),
        exact_std_error=tuple(Fraction(text) for text in exact["std_error"]),
    )


def _entry(file: str, key: str) -> Any:
    document = _document(file)
    if key not in document:
        near = [known for known in document if key.lower() in known.lower()]
        raise KeyError(f"{file} has no entry {key!r}; near: {near or sorted(document)}")
    return document[key]


def _document(file: str) -> Mapping[str, Any]:
    return _parse(path(file))


@functools.cache
def _parse(file: Path) -> Mapping[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))
