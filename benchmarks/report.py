"""The rows of a run as a text table and as JSON.

The table shows what a reader decides by: the ratio beside its goal, and whether the answers agree.
The JSON holds everything, with versions and processor, for comparing runs of one machine.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.race import Row
from benchmarks.workload import OURS

_HEAD = (
    "workload",
    "size",
    "action",
    "ours ms",
    "peer ms",
    "ratio",
    "goal",
    "answers",
    "MB ours/peer",
)


def table(rows: Sequence[Row]) -> str:
    """Aligned text; what went wrong stands in full below the row it belongs to."""
    lines = [_HEAD, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    text = []
    for line, row in zip(lines, [None, *rows]):
        text.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        if row is not None and row.status != "ok":
            text.append(f"    {row.status}")
    return "\n".join(text)


def growth_table(found: Sequence[dict[str, Any]]) -> str:
    """Seconds at n/4, n/2 and n, and the exponent of n, per contender; ours with 1 and 2 threads."""
    lines = []
    for entry in found:
        lines.append(f"{entry['workload']}  n = {', '.join(str(n) for n in entry['sizes'])}")
        for who, seconds in entry["seconds"].items():
            times = "  ".join(f"{1000 * s:9.2f}" for s in seconds)
            lines.append(f"    {who:14s} {times} ms   n^{entry['exponents'][who]:.2f}")
        one, two = (entry["threads"][k] for k in ("1", "2"))
        lines.append(
            f"    1 thread {1000 * one:.2f} ms, 2 threads {1000 * two:.2f} ms: {one / two:.2f}x"
        )
    return "\n".join(lines)


def document(rows: Sequence[Row], growth: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Everything, as plain data."""
    return {
        "schema": 1,
        "machine": {
            "processor": _processor(),
            "cpus": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
        },
        "versions": {
            name: _version(name)
            for name in (
                OURS,
                "scikit-learn",
                "statsmodels",
                "numpy",
                "scipy",
                "lightgbm",
                "xgboost",
            )
        },
        "rows": [{**asdict(row), "ratio": row.ratio, "failed": row.failed} for row in rows],
        "growth": list(growth),
    }


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.workload,
        row.shape if row.n == 0 else f"{row.shape} (n={row.n})" if _scaled(row) else row.shape,
        row.action,
        _milliseconds(row.ours_seconds),
        _milliseconds(row.peer_seconds),
        "-" if row.ratio is None else f"{row.ratio:.2f}x",
        _goal(row),
        _answers(row),
        _megabytes(row),
    )


def _scaled(row: Row) -> bool:
    rows = row.shape.split(" ")[0]
    full = int(rows.removesuffix("k")) * (1000 if rows.endswith("k") else 1)
    return row.n != full


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{1000 * seconds:.3g}" if seconds < 1 else f"{1000 * seconds:.0f}"


def _goal(row: Row) -> str:
    """The goal, with its verdict; sizes below the full one are not judged."""
    if row.goal_seconds is not None:
        mark = _mark(row.ours_seconds is not None, (row.ours_seconds or 0) <= row.goal_seconds)
        return f"{row.goal_seconds:g} s{mark}"
    if row.goal is None:
        return "-"
    mark = "" if _scaled(row) else _mark(row.ratio is not None, (row.ratio or 0) >= row.goal)
    return f"{row.goal:g}x{mark}"


def _mark(known: bool, reached: bool) -> str:
    return "" if not known else " yes" if reached else " no"


def _answers(row: Row) -> str:
    if row.failed:
        return "DIFFER" if row.status.startswith("mismatch") else "ERROR"
    if row.ours_answer is None or row.peer_answer is None:
        return "same" if row.answer and row.ours_seconds is not None else "-"
    scale = abs(row.peer_answer) or 1.0
    return f"same ({(row.ours_answer - row.peer_answer) / scale:+.0e})"


def _megabytes(row: Row) -> str:
    if row.ours_bytes is None or row.peer_bytes is None:
        return "-"
    return f"{row.ours_bytes / 1e6:.0f} / {row.peer_bytes / 1e6:.0f}"


def _processor() -> str:
    """The name of the processor, as the kernel of Linux gives it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
