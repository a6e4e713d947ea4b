"""`python -m scorecard fuzz [target...] [--count N] [--seed S] [--work DIR] [--only NUMBER]`.

Each input is made from (target, seed, number), and tried in a child process with limits of time and
memory. The corpus of what was ever bad comes first. Exit code 1 if anything was taken badly.
`--only` tries one input in this process, to see where it fails; `--work` keeps a journal and
continues it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from scorecard.fuzz import corpus
from scorecard.fuzz.targets import TARGETS, made, try_case
from scorecard.runner import Case, Limits, Tally, tally

LIMITS = Limits(seconds=20, memory=4 << 30)
COUNT = 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay the corpus, then attack the chosen targets."""
    options = _parser().parse_args(arguments)
    unknown = sorted(set(options.target) - set(TARGETS))
    if unknown:
        print(f"unknown target: {', '.join(unknown)}. Known: {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    chosen = options.target or list(TARGETS)
    if options.only is not None:
        for target in chosen:
            print(repr(made(target, options.only, options.seed))[:2000])
            try_case(target, options.only, options.seed)
        return 0
    bad = _show("corpus", tally(corpus.cases(), None, LIMITS))
    for target in chosen:
        cases = (
            Case(f"{target} {options.seed} {i}", partial(try_case, target, i, options.seed))
            for i in range(options.count)
        )
        journal = Path(options.work) / f"fuzz-{target}.jsonl" if options.work else None
        bad += _show(target, tally(cases, journal, LIMITS, options.seconds))
    return int(bad > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"some of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--count", type=int, default=COUNT, help="inputs of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each target")
    parser.add_argument("--work", metavar="DIR", help="folder of the journals")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try one input, here")
    return parser


def _show(name: str, found: Tally) -> int:
    print(f"{name:8} {found.tried} of {found.wanted} tried, {len(found.bad)} bad", flush=True)
    for key, text in list(found.bad.items())[:20]:
        print(f"  {key}: {text}")
    return len(found.bad)
