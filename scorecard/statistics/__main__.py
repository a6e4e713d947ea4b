"""`python -m scorecard.statistics`: simulate, judge, or both."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scorecard.statistics.card import chosen, conclusions
from scorecard.statistics.rules import NOW, ByRows
from scorecard.statistics.simulate import simulate


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if a promise is broken."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(options.cache or folder)
        selected = chosen(options.quick, options.tables)
        if options.stage != "judge":
            simulate(selected, cache, options.processes)
        if options.stage == "simulate":
            return 0
        judged = [ByRows(float(factor)) for factor in options.factor.split(",") if factor]
        figures = conclusions(selected, cache, options.quick, judged or [NOW])
    return int(any(not figure.kept for figure in figures))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard.statistics", description=__doc__)
    parser.add_argument("stage", nargs="?", choices=("simulate", "judge", "both"), default="both")
    parser.add_argument("--cache", metavar="DIR", help="store the predictions in DIR")
    parser.add_argument(
        "--processes", type=int, default=1, help="number of processes that simulate"
    )
    parser.add_argument("--tables", type=int, help="number of tables per cell; default: 400")
    parser.add_argument(
        "--factor", default="", help="variance factors to compare, such as 1.0,1.56,2.25"
    )
    parser.add_argument("--quick", action="store_true", help="few cells and tables, as in CI")
    return parser


if __name__ == "__main__":
    sys.exit(main())
