"""Rows as points: one series per class of y, or one colour scale for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.data.raw_column import is_missing
from pellucid.draw.label_text import distinct
from pellucid.plot.models.model_marks import xy
from pellucid.plot.picture import Points

MOST_WHOLE = 31  # distinct whole numbers that count as classes


def groups_of(y: np.ndarray | None) -> tuple[list[str], np.ndarray] | None:
    """Names and codes of the classes of y; None if y is missing or holds numbers."""
    if y is None:
        return None
    labels = sorted({v for v in y.tolist() if not is_missing(v)}, key=_order)
    whole = all(isinstance(v, bool | str) or float(v).is_integer() for v in labels if _number(v))
    if any(_number(v) for v in labels) and (not whole or len(labels) > MOST_WHOLE):
        return None
    place = {label: k for k, label in enumerate(labels)}
    codes = np.array([place.get(v, -1) if not is_missing(v) else -1 for v in y.tolist()])
    plain = [int(v) if isinstance(v, float) else v for v in labels]
    return distinct(plain), codes


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))


def grouped_points(
    points: np.ndarray, y: np.ndarray | None, names: bool = True, outline: bool = False,
    target: str = "y",
) -> tuple[Points, ...]:  # fmt: skip
    """Points (n, 2) by class, coloured by number, or in one colour; `names` adds them to the legend.
    `target` is the name of a y that holds numbers."""
    found = groups_of(y)
    if y is None:
        return (Points(*xy(points), outline=outline),)
    if found is None:
        return (Points(*xy(points), values=y.astype(float), name=target if names else ""),)
    labels, codes = found
    return tuple(
        Points(*xy(points[codes == k]), name=label if names else "", index=k, outline=outline)
        for k, label in enumerate(labels)
    )
