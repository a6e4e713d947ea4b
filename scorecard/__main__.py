"""`python -m scorecard [row...]`: check the promises at full size, print the scorecard, write JSON.

It takes hours. Exit code 1 if a row fails, 2 for an unknown row. `--quick` runs the sizes of CI.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from scorecard.rows import ROWS, Row
from tests.sizes import VARIABLE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen rows; the exit code."""
    options = _parser().parse_args(arguments)
    known = {row.name: row for row in ROWS}
    unknown = sorted(set(options.row) - set(known))
    if unknown:
        print(f"unknown row: {', '.join(unknown)}. Known: {', '.join(known)}", file=sys.stderr)
        return 2
    results = []
    for name in options.row or known:
        results.append(_result(known[name], options))
        print(_line(results[-1]), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(any(not result["kept"] for result in results))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard", description=__doc__)
    parser.add_argument("row", nargs="*", help="names of rows; default: all")
    parser.add_argument("--quick", action="store_true", help="use the small sizes of CI")
    parser.add_argument("--json", metavar="FILE", help="write all numbers to FILE")
    parser.add_argument(
        "--cache", metavar="DIR", help="keep simulated tables (row statistics) in DIR"
    )
    return parser


def _result(row: Row, options: argparse.Namespace) -> dict[str, object]:
    card = {"row": row.name, "promise": row.promise, "mark": row.mark}
    if row.module:
        return {**card, **_checked(row, options)}
    return {**card, **_run(row, options.quick)}


def _checked(row: Row, options: argparse.Namespace) -> dict[str, object]:
    """The figures of a row with a module; the promise is kept if no figure breaks it."""
    check = importlib.import_module(row.module).check
    figures = check(quick=options.quick, cache=options.cache)
    broken = [str(figure) for figure in figures if not figure.kept]
    counts = {"passed": len(figures) - len(broken), "failed": len(broken), "skipped": 0}
    return {"kept": bool(figures) and not broken, **counts, "detail": broken}


def _run(row: Row, quick: bool) -> dict[str, object]:
    """The counts of one row; the promise is kept if some test ran and none failed."""
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder) / "outcome.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow or not slow", *row.tests]
        command += [f"--junitxml={outcome}", *(["-k", row.only] if row.only else [])]
        environment = os.environ | {VARIABLE: "few" if quick else "full"}
        environment.setdefault("PELLUCID_TEST_LIMIT", "100000")
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        counts = _counts(outcome)
    kept = done.returncode == 0 and counts["passed"] > 0
    detail = [] if kept else [line for line in done.stdout.splitlines() if "FAILED" in line]
    return {"kept": kept, **counts, "detail": detail}


def _counts(outcome: Path) -> dict[str, int]:
    if not outcome.exists():
        return {"passed": 0, "failed": 0, "skipped": 0}
    suites = ElementTree.parse(outcome).getroot().iter("testsuite")
    total, failed, skipped = 0, 0, 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}


def _line(result: dict[str, object]) -> str:
    word = "kept  " if result["kept"] else "BROKEN"
    counts = f"{result['passed']} passed, {result['failed']} failed, {result['skipped']} skipped"
    return f"{word}  {result['row']:16} {result['mark']:40} {counts}"


if __name__ == "__main__":
    sys.exit(main())
