"""What the target is: classes or numbers, and why it was taken for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.arrow import arrow_column
from pellucid.data.kinds import as_kind
from pellucid.errors import DataError

FEW_VALUES = 10  # whole numbers with at most so many values are taken for classes
MANY_CLASSES = 100
SQUARED_LARGEST, SQUARED_SMALLEST = 1e140, 1e-140


@dataclass(frozen=True)
class Target:
    """Class codes with their labels, or numbers; and the reason."""

    task: str
    why: str
    y: np.ndarray
    classes: tuple[Any, ...] | None = None


def has_target(column: Any) -> np.ndarray:
    """Mask of the rows whose target is present."""
    raw = arrow_column("target", column)
    if raw.kind == "categorical":
        return raw.values >= 0
    if raw.kind == "text":
        return np.array([cell is not None for cell in raw.values])
    return ~np.isnan(raw.values)


def understand(column: Any, name: str, task: str, positive: str | None, n_train: int) -> Target:
    """Classes or numbers, from what the user says or from the column's first `n_train` rows."""
    raw = arrow_column(name, column)
    why = "as asked"
    if task == "auto":
        task, why = _guess(arrow_column(name, column.slice(0, n_train)), str(column.type))
    if task == "regression":
        if raw.kind in ("categorical", "text"):
            raise DataError(
                f"the target {name!r} holds text ({str(raw.cells()[0])[:60]!r}): it cannot be a "
                "regression. Write numbers without units, as 3.2."
            )
        y = raw.values.astype(float)
        if not np.isfinite(y).all():
            row = int(np.argmax(~np.isfinite(y)))
            raise DataError(f"the target {name!r} is infinite in row {row}.")
        if (y[:n_train] == y[0]).all():
            raise DataError(f"the target {name!r} is {y[0]:g} in every row: nothing to predict.")
        _refuse_extreme(y, name)
        return Target(task, why, y)
    return _classes(raw, str(column.type), name, why, positive)


def _refuse_extreme(y: np.ndarray, name: str) -> None:
    """Squared errors must be floats that are neither infinite nor 0."""
    largest = np.abs(y).max()
    if not SQUARED_SMALLEST < largest < SQUARED_LARGEST:
        raise DataError(
            f"the numbers of the target {name!r} reach {largest:g}: their squares are no floats. "
            "Give it in another unit."
        )


def _guess(raw: Any, type_name: str) -> tuple[str, str]:
    if raw.kind in ("categorical", "text"):
        return "classification", "text labels"
    if type_name == "bool":
        return "classification", "true or false"
    values = np.unique(raw.values)
    if raw.kind == "number" and (values == np.floor(values)).all() and len(values) <= FEW_VALUES:
        return "classification", f"{len(values)} different whole numbers"
    if raw.kind == "datetime":
        return "regression", "dates"
    return "regression", f"{len(values)} different numbers"


def few_values_note(found: Target, name: str) -> str:
    """A note about numbers so few that they may be classes; empty if there is no doubt."""
    count = len(np.unique(found.y))
    if found.task == "classification" or count > min(FEW_VALUES, len(found.y) // 2):
        return ""
    return (
        f"the target {name!r} has {count} different numbers only and is predicted as a number; "
        "--task classification takes them for classes"
    )


def _classes(raw: Any, type_name: str, name: str, why: str, positive: str | None) -> Target:
    column = as_kind(raw, "categorical", name)
    seen = [k for k in range(len(column.levels)) if (column.values == k).any()]
    labels = sorted((column.levels[k] for k in seen), key=lambda v: (isinstance(v, str), v))
    word = bool if type_name == "bool" else _named if _unusual(labels) else _itself
    labels = [word(label) for label in labels]
    if len(labels) < 2:
        raise DataError(
            f"the target {name!r} has one class only, {labels[0]!r}: there is nothing to tell apart."
        )
    if len(labels) > MANY_CLASSES:
        raise DataError(
            f"the target {name!r} has {len(labels)} different values, too many for classes. "
            f"{_if_number(raw)}; if it names rows, choose another target."
        )
    if len(labels) == len(column.values):
        raise DataError(
            f"the target {name!r} is different in every row: nothing can be learned about any class."
        )
    if positive is not None:
        labels = _positive_last(labels, positive, name)
    where = {label: k for k, label in enumerate(labels)}
    lookup = np.array([where.get(word(level), -1) for level in column.levels])
    return Target("classification", why, lookup[column.values].astype(np.int64), tuple(labels))


def _unusual(labels: list[Any]) -> bool:
    """Numbers that are classes by name only: a regression's have fractions, arrays end at 2^63."""
    numbers = [label for label in labels if isinstance(label, int | float)]
    return any(label != np.floor(label) or abs(label) >= 2.0**63 for label in numbers)


def _named(label: Any) -> str:
    return repr(float(label)).removesuffix(".0")


def _itself(label: Any) -> Any:
    return label


def _if_number(raw: Any) -> str:
    if raw.kind in ("categorical", "text"):
        return f"It holds text ({str(raw.cells()[0])[:60]!r}). If that is a number, write it as 3.2"
    return "If it is a number, say --task regression"


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
