"""`python -m scorecard [row...]`: check the promises at full size; print, write JSON and a page.

It takes hours, and continues where it was stopped: `--work DIR` holds a journal of every case. `--quick`
tries 1 % of the cases, as CI does. Exit code 1 if a promise is broken, 2 for an unknown row.

`python -m scorecard fuzz` attacks readers with hostile inputs, `python -m scorecard mutants`
changes lines of the source and runs the tests. Both have their own `--help`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from scorecard.page import page
from scorecard.rows import ROWS, Row
from scorecard.runner import tally

QUICK = 0.01
SHOWN = 20  # bad cases of a row


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen rows, or the command; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["fuzz"], ["mutants"]):
        name = "scorecard.fuzz.command" if given[0] == "fuzz" else "scorecard.mutants.__main__"
        return int(importlib.import_module(name).main(given[1:]))
    options = _parser().parse_args(given)
    known = {row.name: row for row in ROWS}
    unknown = sorted(set(options.row) - set(known))
    if unknown:
        print(f"unknown row: {', '.join(unknown)}. Known: {', '.join(known)}", file=sys.stderr)
        return 2
    results = []
    for name in options.row or [row.name for row in ROWS if not (options.quick and row.module)]:
        results.append(result_of(known[name], options))
        print(line_of(results[-1]), flush=True)
        _write(results, options)
    return int(any(result["verdict"] == "BROKEN" for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard", description=__doc__)
    parser.add_argument("row", nargs="*", help="names of rows; default: all")
    parser.add_argument("--quick", action="store_true", help="try 1 %% of the cases")
    parser.add_argument("--work", metavar="DIR", help="folder of the journals; continues there")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each row")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to FILE")
    parser.add_argument("--page", metavar="FILE", help="write a page (HTML) to FILE")
    parser.add_argument(
        "--cache", metavar="DIR", help="keep simulated tables (row statistics) in DIR"
    )
    return parser


def result_of(row: Row, options: argparse.Namespace) -> dict[str, Any]:
    """Name, promise, mark, counts and verdict of a row."""
    card = {"number": row.number, "row": row.name, "promise": row.promise, "mark": row.mark}
    began = time.monotonic()
    if row.reason:
        return {
            **card,
            "verdict": "later",
            "wanted": 0,
            "tried": 0,
            "bad": 0,
            "detail": [row.reason],
        }
    if row.module:
        counts = _figures(row, options)
    else:
        journal = (
            Path(options.work) / f"{row.name.replace(' ', '_')}.jsonl" if options.work else None
        )
        share = QUICK if options.quick else 1.0
        found = tally(row.find_cases()(share), journal, row.limits, options.seconds)
        shown = found.bad | found.skipped
        detail = [f"{key}: {text}" for key, text in list(shown.items())[:SHOWN]]
        counts = {
            "wanted": found.wanted,
            "tried": found.tried,
            "bad": len(found.bad),
            "detail": detail,
            "measured": found.measured,
        }
    verdict = "kept" if counts["tried"] == counts["wanted"] else "part"
    if counts["bad"]:
        verdict = "BROKEN"
    return {**card, **counts, "verdict": verdict, "seconds": round(time.monotonic() - began, 1)}


def _figures(row: Row, options: argparse.Namespace) -> dict[str, Any]:
    """The counts of a row that is judged by figures."""
    figures = importlib.import_module(row.module).check(quick=options.quick, cache=options.cache)
    broken = [str(figure) for figure in figures if not figure.kept]
    n = len(figures)
    return {"wanted": n, "tried": n, "bad": len(broken), "detail": broken[:SHOWN]}


def line_of(result: dict[str, Any]) -> str:
    """One line of the card, and the bad cases below it."""
    counts = f"{result['tried']} of {result['wanted']} tried, {result['bad']} bad"
    head = f"{result['verdict']:6}  {result['number']:2} {result['row']:16} {result['mark']:38} {counts}"
    texts = [*_summary(result.get("measured", {})), *result["detail"]]
    return "\n".join([head, *(f"          {text}" for text in texts)])


def _summary(measured: dict[str, dict[str, float]]) -> list[str]:
    """The median and the largest value of each quantity that cases measured."""
    names = dict.fromkeys(name for values in measured.values() for name in values)
    found = {name: [v[name] for v in measured.values() if name in v] for name in names}
    return [
        f"{name}: median {median(values):.3g}, largest {max(values):.3g} of {len(values)}"
        for name, values in found.items()
    ]


def _write(results: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Written after every row: a run that is stopped leaves what it has."""
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.page:
        Path(options.page).write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
