"""Interpretation of the target: classes or numbers, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.arrow import arrow_column
from pellucid.data.kinds import as_kind
from pellucid.errors import DataError

FEW_VALUES = 10  # integers with at most this many different values are treated as classes
MAX_COUNT_MEAN = 20  # mean of a count above which squared errors are suitable too
MIN_DISPERSION = 0.8  # variance / mean of a count: 1 or more in theory, less in small samples
LARGE_SKEWNESS = 1.0  # above it, linear models of the logarithm of the target are compared too
MANY_CLASSES = 100
SQUARED_LARGEST, SQUARED_SMALLEST = 1e140, 1e-140


@dataclass(frozen=True)
class Target:
    """Class codes with their labels, or numbers, and the reason for the choice."""

    task: str
    why: str
    y: np.ndarray
    classes: tuple[Any, ...] | None = None


def understand(column: Any, name: str, task: str, positive: str | None, n_train: int) -> Target:
    """Classes or numbers, as the user asks or by the first `n_train` rows of the column."""
    raw = arrow_column(name, column)
    why = "as requested"
    if task == "auto":
        task, why = _guess(arrow_column(name, column.slice(0, n_train)), str(column.type))
    if task == "regression":
        if positive is not None:
            raise DataError(
                f"--positive is only for two classes, but the target {name!r} is numeric. Leave it out."
            )
        if raw.kind in ("categorical", "text"):
            raise DataError(
                f"the target {name!r} contains text ({str(raw.cells()[0])[:60]!r}), which regression "
                "cannot predict. Use classification, or write numbers without units, such as 3.2."
            )
        y = raw.values.astype(float)
        if not np.isfinite(y).all():
            row = int(np.argmax(~np.isfinite(y)))
            raise DataError(f"the target {name!r} is infinite in row {row}.")
        if (y[:n_train] == y[0]).all():
            raise DataError(
                f"the target {name!r} is {y[0]:g} in every row, so there is nothing to predict."
            )
        largest = np.abs(y).max()
        if not SQUARED_SMALLEST < largest < SQUARED_LARGEST:
            raise DataError(
                f"the target {name!r} has absolute values up to {largest:g}, so squared errors overflow "
                "or underflow. Rescale it."
            )
        return Target(task, why, y)
    return _classes(raw, str(column.type), name, why, positive)


def _guess(raw: Any, type_name: str) -> tuple[str, str]:
    if raw.kind in ("categorical", "text"):
        return "classification", "text labels"
    if type_name == "bool":
        return "classification", "true or false"
    values = np.unique(raw.values)
    if raw.kind == "number" and (values == np.floor(values)).all() and len(values) <= FEW_VALUES:
        return "classification", f"{len(values)} different integers"
    if raw.kind == "datetime":
        return "regression", "dates"
    return "regression", f"{len(values)} different numbers"


def few_values_note(found: Target, name: str) -> str:
    """A note if a numeric target has so few different values that they may be classes; else empty."""
    count = len(np.unique(found.y))
    if found.task == "classification" or count > min(FEW_VALUES, len(found.y) // 2):
        return ""
    return (
        f"the target {name!r} has only {count} different values and is treated as numeric; "
        "--task classification treats them as classes"
    )


def _classes(raw: Any, type_name: str, name: str, why: str, positive: str | None) -> Target:
    column = as_kind(raw, "categorical", name)
    seen = [k for k in range(len(column.levels)) if (column.values == k).any()]
    labels = sorted((column.levels[k] for k in seen), key=lambda v: (isinstance(v, str), v))
    # Numbers with decimals or beyond int64 are kept as text.
    numbers = [label for label in labels if isinstance(label, int | float)]
    unusual = any(label != np.floor(label) or abs(label) >= 2.0**63 for label in numbers)

    def word(label: Any) -> Any:
        if type_name == "bool":
            return bool(label)
        return repr(float(label)).removesuffix(".0") if unusual else label

    labels = [word(label) for label in labels]
    if len(labels) < 2:
        raise DataError(
            f"the target {name!r} has only one class, {labels[0]!r}, so there is nothing to predict."
        )
    if len(labels) > MANY_CLASSES:
        hint = "If it is numeric, use --task regression"
        if raw.kind in ("categorical", "text"):
            text = str(raw.cells()[0])[:60]
            hint = f"It contains text ({text!r}). If that is a number, write it like 3.2"
        raise DataError(
            f"the target {name!r} has {len(labels)} different values, too many for classes. "
            f"{hint}; if it identifies rows, choose another target."
        )
    if len(labels) == len(column.values):
        raise DataError(
            f"the target {name!r} has a different value in every row, so no class can be learned."
        )
    if positive is not None and len(labels) > 2:
        raise DataError(
            f"--positive is only for two classes, but the target {name!r} has {len(labels)}. Leave it "
            "out."
        )
    if positive is not None:
        labels = _positive_last(labels, positive, name)
    where = {label: k for k, label in enumerate(labels)}
    lookup = np.array([where.get(word(level), -1) for level in column.levels])
    return Target("classification", why, lookup[column.values].astype(np.int64), tuple(labels))


def _positive_last(labels: list[Any], positive: str, name: str) -> list[Any]:
    from pellucid.data.io.source import did_you_mean

    named = [label for label in labels if str(label) == positive]
    if not named:
        raise DataError(
            f"the target {name!r} has no class {positive!r}."
            f"{did_you_mean(positive, map(str, labels))} "
            f"Classes: {', '.join(str(label)[:60] for label in labels[:12])}."
        )
    return [label for label in labels if label is not named[0]] + named


# Distribution of a target --------------------------------------------------------------------------


def whole_numbers(y: np.ndarray) -> bool:
    """Whether a target may be a count: no value is negative or has decimals."""
    return bool((y >= 0).all() and (y == np.floor(y)).all())


def small_counts(y: np.ndarray) -> bool:
    """Whether a target looks like a count of rare events.

    It has integers with zeros among them, more than two different values, a mean of at most
    MAX_COUNT_MEAN, and a variance not far below the mean. The variance of counts whose means differ is
    above the mean; that of ratings (0 to 5 stars) is below. Prices and other large integers fail.
    """
    if not whole_numbers(y) or y.min() > 0 or y.max() < 2:
        return False
    return bool(y.mean() <= MAX_COUNT_MEAN and y.var() >= MIN_DISPERSION * y.mean())


def skewness(y: np.ndarray) -> float:
    """Third standardised moment; 0 for a constant."""
    spread = float(y.std())
    return float(np.mean(((y - y.mean()) / spread) ** 3)) if spread > 0 else 0.0


def skewed(y: np.ndarray) -> bool:
    """Whether a positive target has a long right tail that the logarithm shortens.

    Its skewness is above LARGE_SKEWNESS, and the skewness of log(y) is closer to 0.
    """
    if not (y > 0).all() or y.min() == y.max():
        return False
    return skewness(y) > LARGE_SKEWNESS and abs(skewness(np.log(y))) < skewness(y)
