"""The panels and marks of a replay as plain JSON data, and how numbers are shortened for it.

A chart has axes and a list of marks; a mark that changes with the step has a series with one entry per
step (`series`). `player.js` draws them. Invariant: nothing here knows a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

FIRST = 35  # the character code of 0 in a series of letters; `player.js` has the same
MOST_CODES = 200
DASHES = (None, [7, 3], [2, 3], [9, 3, 2, 3], [4, 2])  # of lines, by number
DIGITS = 5  # significant digits of a number that is only drawn


def shortened(value: Any, digits: int = DIGITS) -> Any:
    """A number or nested arrays of numbers with few digits; None for what is not finite."""
    if isinstance(value, np.ndarray | list | tuple):
        return [shortened(entry, digits) for entry in value]
    number = float(value)
    if not math.isfinite(number):
        return None
    if number == int(number) and abs(number) < 1e15:
        return int(number)
    return float(f"{number:.{digits}g}")


def placed(values: Any, limits: Sequence[float], parts: int = 5000) -> list[Any]:
    """Positions on an axis, rounded to at least this many parts of its range."""
    step = (limits[1] - limits[0]) / parts
    decimals = max(0, -math.floor(math.log10(step))) if step > 0 else 6
    whole = np.round(np.asarray(values, dtype=float), decimals)
    return [shortened(v, 12) for v in whole.ravel().tolist()]


def letters(codes: Any) -> str:
    """Small whole numbers as one text, a letter each."""
    flat = np.asarray(codes, dtype=np.int64).ravel()
    if flat.size and not 0 <= flat.min() <= flat.max() <= MOST_CODES:
        raise AssertionError(f"codes must lie between 0 and {MOST_CODES}")
    return (flat + FIRST).astype(np.uint8).tobytes().decode("latin-1")


def series(entries: Iterable[Any]) -> list[Any]:
    """One entry per step; None where the entry before it is repeated."""
    found: list[Any] = []
    last = None
    for entry in entries:
        found.append(None if found and entry == last else entry)
        last = entry
    return found


def span(values: Any, room: float = 0.04, zero: bool = False) -> list[float]:
    """A range around all finite values with a little room on both sides."""
    flat = np.asarray(values, dtype=float).ravel()
    flat = flat[np.isfinite(flat)]
    if zero:
        flat = np.append(flat, 0.0)
    if not flat.size:
        return [0.0, 1.0]
    low, high = float(flat.min()), float(flat.max())
    margin = room * (high - low) or max(abs(low) * 0.05, 1e-6)
    return [low - margin, high + margin]


def axis(label: str, limits: Sequence[float], **more: Any) -> dict[str, Any]:
    """One axis; `log` for a logarithmic one, `whole` for counts, `ticks` for named positions."""
    return {"label": label, "range": [shortened(v, 8) for v in limits], **more}


def chart(
    title: str, x: dict[str, Any], y: dict[str, Any], marks: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """A chart of marks; `legend` lists (name, colour, kind), `note` stands below."""
    return {"kind": "chart", "title": title, "x": x, "y": y, "marks": marks, **more}


def curves(
    title: str,
    iterations: Sequence[float],
    lines: Mapping[str, Any],
    label: str,
    *,
    x_label: str = "iteration",
    log: bool | None = None,
    note: str = "",
) -> dict[str, Any]:
    """Lines that grow with the step. A logarithmic axis is used where the values span decades."""
    values = np.concatenate([np.asarray(line, dtype=float) for line in lines.values()])
    known = values[np.isfinite(values)]
    if log is None:
        log = bool(known.size and known.min() > 0 and known.max() > 50 * known.min())
    x = axis(x_label, span(iterations, 0.02), whole=True)
    if log:
        low, high = float(known.min()), float(known.max())
        y = axis(label, [low / 1.15, high * 1.15], log=True)
    else:
        y = axis(label, span(values))
    at = [shortened(v, 8) for v in iterations]
    marks = [
        {"m": "trail", "x": at, "y": shortened(line), "colour": k, **dashed(k)}
        for k, line in enumerate(lines.values())
    ]
    legend = [[name, k, DASHES[k % 5] or "line"] for k, name in enumerate(lines)]
    more = {"legend": legend} if len(lines) > 1 else {}
    return chart(title, x, y, marks, **more, **({"note": note} if note else {}))


def dashed(k: int) -> dict[str, Any]:
    """The dash of line k; colour is never the only difference between lines."""
    dash = DASHES[k % len(DASHES)]
    return {"dash": dash} if dash else {}


def bars(
    title: str, names: Sequence[str], values: Sequence[Any], label: str, **more: Any
) -> dict[str, Any]:
    """Horizontal bars from 0, one per name, one list of lengths per step."""
    n = len(names)
    ticks = [[k, name] for k, name in enumerate(names)]
    limits = span(np.asarray(values, dtype=float), zero=True)
    mark = {"m": "bars", "s": series(shortened(v) for v in values)}
    if "c" in more:
        mark["c"] = more.pop("c")
    y = {"label": "", "range": [n - 0.4, -0.6], "ticks": ticks}
    return chart(title, axis(label, limits), y, [mark], bars=n, **more)


def table(title: str, head: Sequence[str], rows: Sequence[Any], **more: Any) -> dict[str, Any]:
    """A table with other rows at each step."""
    return {"kind": "table", "title": title, "head": list(head), "s": series(rows), **more}


def matrices(title: str, layers: Mapping[str, Sequence[np.ndarray]], **more: Any) -> dict[str, Any]:
    """Matrices of weights as colours; all share one scale, from minus to plus the largest size."""
    largest = max(float(np.abs(w).max()) for steps in layers.values() for w in steps) or 1.0
    found = [
        {
            "name": name,
            "rows": steps[0].shape[0],
            "cols": steps[0].shape[1],
            "s": series(letters(np.rint(40 + 40 * w / largest)) for w in steps),
        }
        for name, steps in layers.items()
    ]
    return {"kind": "matrices", "title": title, "layers": found, "largest": largest, **more}
