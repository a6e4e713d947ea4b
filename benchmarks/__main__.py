"""`python -m benchmarks [family...]`: race, print the table, write JSON.

`python -m benchmarks shapes` races all models on a grid of shapes, see `benchmarks.shapes`;
`python -m benchmarks scale` fits tables larger than the memory allowed, see `benchmarks.scale`;
`python -m benchmarks pages` measures the figures of the method pages, see `benchmarks.pages`.

Exit code 1 if the answers of any row differ or a contender breaks, 2 for an unknown family; missed
goals are printed, never an exit code, because seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import player, process, race, report, scale, single_row, watching, workload
from benchmarks.memory import peak_bytes
from benchmarks.race import Row
from benchmarks.shapes import command as shapes_command
from benchmarks.workload import OURS, NotAvailable, Workload

PROCESS, SINGLE_ROW, SHAPES, SCALE = "process", "single_row", "shapes", "scale"
WATCHING, PLAYER = "watching", "player"
PAGES = "pages"
SCORES = ("accuracy", "coverage", "halving", "whole_runs")  # programs of their own


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen families; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] and given[0] in SCORES:
        return importlib.import_module(f"benchmarks.{given[0]}").main(given[1:])
    if given[:1] == [SHAPES]:
        return shapes_command.main(given[1:])
    if given[:1] == [SCALE]:
        return scale.main(given[1:])
    if given[:1] == [PAGES]:
        from benchmarks.pages import command

        return command.main(given[1:])
    known = [*workload.all_families(), PROCESS, SINGLE_ROW, WATCHING, PLAYER]
    options = _parser(known).parse_args(given)
    unknown = sorted(set(options.family) - set(known))
    if unknown:
        print(f"unknown family: {', '.join(unknown)}. Known: {', '.join(known)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    growth: list[dict[str, Any]] = []
    for family in options.family or known:
        if family in (WATCHING, PLAYER):
            print(watching.table(options.repeat) if family == WATCHING else player.table())
            continue
        if family in (PROCESS, SINGLE_ROW):
            rows += [] if options.growth else _special(family, options.repeat)
            continue
        for entry in workload.workloads(family):
            print(f"... {entry.key}", file=sys.stderr, flush=True)
            if options.growth:
                growth += _grown(entry, options)
            else:
                rows += _measured(entry, options)
    if rows:
        print(report.table(rows))
    if growth:
        print(report.growth_table(growth))
    if options.json:
        text = json.dumps(report.document(rows, growth), indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return int(any(row.failed for row in rows))


def _special(family: str, repeat: int) -> list[Row]:
    """Rows that are no workloads: their size is fixed, their goal is seconds."""
    if family == PROCESS:
        return [process.race(command, repeat) for command in process.COMMANDS]
    return [single_row.race(name, repeat) for name in single_row.MODELS]


def _parser(known: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ours and the peers' alternately in one process, at the same answer.",
    )
    parser.add_argument("family", nargs="*", help=f"of {', '.join(known)}; all if none is given")
    parser.add_argument("--growth", action="store_true", help="exponent of n; 1, 2 threads")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to FILE")
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="best of K (3)")
    parser.add_argument("--quick", action="store_true", help="few rows: does it run at all?")
    parser.add_argument("--no-memory", action="store_true", help="leave out peak memory")
    return parser


def _rows(entry: Workload, options: argparse.Namespace) -> int:
    return min(entry.source.quick, entry.source.n) if options.quick else entry.source.n


def _measured(entry: Workload, options: argparse.Namespace) -> list[Row]:
    n = _rows(entry, options)
    rows = race.race(entry, n, options.repeat)
    if options.no_memory:
        return rows
    return [_with_memory(entry, row, n) if _raced_fit(row) else row for row in rows]


def _raced_fit(row: Row) -> bool:
    return row.action == "fit" and row.ours_seconds is not None


def _with_memory(entry: Workload, row: Row, n: int) -> Row:
    ours, peer = (peak_bytes(entry.key, who, n) for who in (OURS, row.peer))
    return replace(row, ours_bytes=ours, peer_bytes=peer)


def _grown(entry: Workload, options: argparse.Namespace) -> list[dict[str, Any]]:
    try:
        return [race.growth(entry, _rows(entry, options), options.repeat)]
    except NotAvailable as reason:
        print(f"    not available: {reason}", file=sys.stderr)
        return []


if __name__ == "__main__":
    sys.exit(main())
