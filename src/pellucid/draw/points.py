"""Columns of numbers for a chart: read, counted, thinned.

Invariant: a note counts the points that are left out; NaN interrupts a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pellucid.draw.label_text import clean
from pellucid.errors import ParameterError

Column = Sequence[float]
Points = list[tuple[float, float]]


def floats(values: Iterable[Any]) -> list[float]:
    """Python floats; None is NaN."""
    return [math.nan if value is None else float(value) for value in values]


def table_columns(what: str, columns: Mapping[str, Iterable[Any]]) -> list[list[float]]:
    """Columns of floats that must have equal length."""
    read = [floats(column) for column in columns.values()]
    if len({len(column) for column in read}) > 1:
        lengths = ", ".join(f"{name} {len(c)}" for name, c in zip(columns, read))
        raise ParameterError(f"The columns of {clean(what, 60)!r} differ in length: {lengths}.")
    return read


def read_series(series: Mapping[Any, tuple[Iterable, Iterable]]) -> dict[str, Points]:
    """Named points from named (x, y) columns."""
    result: dict[str, Points] = {}
    for name, (x, y) in series.items():
        xs, ys = table_columns(str(name), {"x": x, "y": y})
        result[_unused(clean(name), result)] = list(zip(xs, ys))
    return result


def read_columns(columns: Mapping[Any, Iterable[Any]], n: int) -> dict[str, list[float]]:
    """Named columns of `n` floats."""
    result: dict[str, list[float]] = {}
    for name, values in columns.items():
        result[_unused(clean(name), result)] = column = floats(values)
        if len(column) != n:
            raise ParameterError(f"{clean(name, 60)!r} must have {n} values. Got {len(column)}.")
    return result


def _unused(name: str, taken: Mapping[str, Any]) -> str:
    """The name, numbered if it is taken: different names may be equal after cleaning."""
    candidate, n = name, 2
    while candidate in taken:
        candidate, n = f"{name} ({n})", n + 1
    return candidate


def left_out(series: Mapping[str, Points], x_log: bool, y_log: bool) -> str:
    """A note about points that the axes cannot show; empty if there are none."""
    infinite = nonpositive = 0
    for points in series.values():
        for x, y in points:
            if math.isinf(x) or math.isinf(y):
                infinite += 1
            elif (x_log and x <= 0) or (y_log and y <= 0):
                nonpositive += 1
    sentences = []
    if infinite:
        sentences.append(f"Not shown: {_count(infinite, 'infinite value')}.")
    if nonpositive:
        what = _count(nonpositive, "value")
        sentences.append(f"Not shown on the logarithmic axis: {what} of 0 or less.")
    return " ".join(sentences)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def evenly(rows: Sequence[Any], limit: int) -> list[Any]:
    """At most `limit` rows, evenly spread, with the first and the last."""
    n = len(rows)
    if n <= limit:
        return list(rows)
    return [rows[i * (n - 1) // (limit - 1)] for i in range(limit)]


def runs(points: Iterable[tuple[float, float]]) -> list[Points]:
    """Runs of consecutive points; a point with a NaN coordinate ends a run."""
    result: list[Points] = [[]]
    for x, y in points:
        if math.isnan(x) or math.isnan(y):
            if result[-1]:
                result.append([])
        else:
            result[-1].append((x, y))
    return [run for run in result if run]


def thin_line(run: Points) -> Points:
    """Per pixel column the first, lowest, highest and last point: looks the same, stays small."""
    result: Points = []
    start = 0
    for i in range(1, len(run) + 1):
        if i == len(run) or int(run[i][0]) != int(run[start][0]):
            chunk = range(start, i)
            low = min(chunk, key=lambda j: run[j][1])
            high = max(chunk, key=lambda j: run[j][1])
            result += [run[j] for j in sorted({start, low, high, i - 1})]
            start = i
    return result
