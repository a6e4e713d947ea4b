"""Facts about the columns for the report, on the training rows: ranges, levels, and the target by
column. Invariant: the test set is not used; the size of the result is bounded for any table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.comparison.planning.dataset import Dataset
from pellucid.data.raw_column import RawColumn
from pellucid.draw.dates import date
from pellucid.draw.number import number

LEVELS = 12
BINS = 20
GRID = 40
POINTS = 400
MAX_COLUMNS = 100


def profile(
    dataset: Dataset, rows: np.ndarray, univariate: dict[str, float], seed: int
) -> dict[str, Any]:
    """Columns (the best predictors if there are many), and the plane for decision regions."""
    names = sorted(dataset.columns, key=lambda name: -_known(univariate.get(name)))
    kept = set(names[:MAX_COLUMNS])
    raw = {name: column for name, column in dataset.raw().items() if name in kept}
    return {
        "target": target(dataset, rows),
        "columns": [
            describe_column(dataset, rows, name, raw[name], univariate.get(name))
            for name in dataset.columns
            if name in kept
        ],
        "columns_left_out": len(dataset.columns) - len(kept),
        "plane": plane(dataset, rows, raw, univariate, seed),
    }


def target(dataset: Dataset, rows: np.ndarray) -> dict[str, Any] | None:
    """Histogram of a numeric target; None for classes."""
    if dataset.classes is not None:
        return None
    y = dataset.y[rows]
    edges, beyond = _edges(y)
    return {"edges": edges, "counts": np.histogram(y, edges)[0], "beyond": beyond}


def _edges(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Edges of equal bins, and the number of values outside them.

    A tail of 1 % of the values is cut off if it would take more than a fifth of the picture.
    """
    low, high = float(values.min()), float(values.max())
    first, last = (float(q) for q in np.quantile(values, (0.01, 0.99)))
    if last > first:
        high = last if high - last > 0.25 * (last - first) else high
        low = first if first - low > 0.25 * (last - first) else low
    if not high > low:
        high = low + 1.0
    return np.linspace(low, high, BINS + 1), int(((values < low) | (values > high)).sum())


def _known(score: float | None) -> float:
    return -np.inf if score is None or score != score else score


def describe_column(
    dataset: Dataset, rows: np.ndarray, name: str, column: RawColumn, univariate: float | None
) -> dict[str, Any]:
    """One column in plain data."""
    values, present = column.values[rows], column.present()[rows]
    shown = values[present]
    facts: dict[str, Any] = {"name": name, "kind": column.kind, "alone": univariate}
    facts["missing"] = int((~present).sum())
    if column.kind == "text":
        return facts | {"distinct": len(set(shown))}
    facts["distinct"] = len(np.unique(shown))
    if column.kind == "categorical":
        return facts | _levels(dataset, rows, values, column.levels)
    if not len(shown):
        return facts
    facts |= {"low": shown.min(), "median": np.median(shown), "high": shown.max()}
    text_of = date if column.kind == "datetime" else number
    return facts | {"by_target": _by_number(dataset, dataset.y[rows[present]], shown, text_of)}


def _levels(dataset: Dataset, rows: np.ndarray, codes: np.ndarray, levels: Any) -> dict[str, Any]:
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    top = np.argsort(-counts, kind="stable")[:LEVELS]
    top = top[counts[top] > 0]
    labels = [str(levels[k])[:200] for k in top]
    return {
        "levels": [{"label": label, "rows": counts[k]} for label, k in zip(labels, top)],
        "rest": int(counts.sum() - counts[top].sum()),
        "by_target": _by_group(dataset, dataset.y[rows], codes, top, labels),
    }


def _by_group(
    dataset: Dataset, y: np.ndarray, codes: np.ndarray, groups: np.ndarray, labels: list[str]
) -> dict[str, Any]:
    """The target of each group of rows: its mean, or the counts of the classes."""
    masks = [codes == group for group in groups]
    if dataset.classes is None:
        means = [float(y[own].mean()) for own in masks]
        rows = [int(own.sum()) for own in masks]
        return {"kind": "means", "labels": labels, "means": means, "rows": rows}
    counts = {
        str(label): [int((own & (y == c)).sum()) for own in masks]
        for c, label in enumerate(dataset.classes)
    }
    return {"kind": "levels", "labels": labels, "counts": counts}


def _by_number(
    dataset: Dataset, y: np.ndarray, values: np.ndarray, text_of: Callable[[float], str]
) -> dict[str, Any]:
    distinct = np.unique(values)
    if len(distinct) <= LEVELS and (distinct == np.floor(distinct)).all():
        labels = [number(v, 15) if text_of is number else text_of(v) for v in distinct]
        return _by_group(dataset, y, values, distinct, labels)
    if dataset.classes is not None:
        edges, beyond = _edges(values)
        return {
            "kind": "histogram", "edges": edges, "beyond": beyond,
            "counts": {str(label): np.histogram(values[y == c], edges)[0]
                       for c, label in enumerate(dataset.classes)},
        }  # fmt: skip
    edges = np.unique(np.quantile(values, np.linspace(0, 1, 11)))
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, max(len(edges) - 2, 0))
    used = np.unique(place)
    labels = [_span(values[place == k], text_of) for k in used]
    return _by_group(dataset, y, place, used, labels)


def _span(values: np.ndarray, text_of: Callable[[float], str]) -> str:
    """`smallest - largest` of the values of a bin, so that bins do not overlap."""
    ends = [text_of(float(v)) for v in (values.min(), values.max())]
    between = " - " if text_of is number else " to "
    return ends[0] if ends[0] == ends[1] else between.join(ends)


def plane(
    dataset: Dataset,
    rows: np.ndarray,
    raw: dict[str, RawColumn],
    univariate: dict[str, float],
    seed: int,
) -> dict[str, Any] | None:
    """The two numeric columns that predict best, a grid over them, and some rows to draw."""
    numbers = [name for name, column in raw.items() if column.kind in ("number", "datetime")]
    usable = [name for name in numbers if len(np.unique(raw[name].values[rows])) > 5]
    usable.sort(key=lambda name: -_known(univariate.get(name)))
    pair = _pair(usable, raw, rows)
    if pair is None:
        return None
    x, y = pair
    drawn = rows[np.isfinite(raw[x].values[rows]) & np.isfinite(raw[y].values[rows])]
    rng = np.random.default_rng(seed)
    if len(drawn) > POINTS:
        drawn = np.sort(rng.choice(drawn, POINTS, replace=False))
    return {
        "x": x, "y": y, "xs": _grid(raw[x].values[rows]), "ys": _grid(raw[y].values[rows]),
        "middle": {name: _middle(column, rows) for name, column in dataset.raw().items()},
        "points": [[raw[x].values[i], raw[y].values[i], dataset.y[i]] for i in drawn],
    }  # fmt: skip


def _pair(names: list[str], raw: dict[str, RawColumn], rows: np.ndarray) -> Any:
    """The best column, and the best one that is not highly correlated with it."""
    for other in names[1:]:
        a, b = (np.nan_to_num(raw[n].values[rows].astype(float)) for n in (names[0], other))
        spread = a.std() * b.std()
        r = ((a - a.mean()) * (b - b.mean())).mean() / spread if spread > 0 else 1.0
        if abs(r) < 0.9:
            return names[0], other
    return (names[0], names[1]) if len(names) > 1 else None


def _grid(values: np.ndarray) -> np.ndarray:
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.04 * (high - low)
    return np.linspace(low - margin, high + margin, GRID)


def _middle(column: RawColumn, rows: np.ndarray) -> int:
    """A row with a typical cell: the most frequent level, or the value nearest to the median."""
    values, present = column.values[rows], column.present()[rows]
    if column.kind == "text" or not present.any():
        return int(rows[0])
    if column.kind == "categorical":
        return int(rows[(values == np.bincount(values[present]).argmax()).argmax()])
    return int(rows[np.nanargmin(np.abs(values - np.nanmedian(values)))])
