"""`python -m benchmarks shapes`: race the grid, worst ratio first; a stopped run goes on.

Every race is written to the JSON file when it ends, and is not run again by the next command with
the same file. With `--cpu` one thread of each contender is timed by the processor's clock, which a
busy machine disturbs least; without it seconds pass on the wall, with all threads.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import race, report
from benchmarks.race import Row
from benchmarks.shapes.contenders import CONTENDERS, Contender
from benchmarks.shapes.grid import Shape, shapes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not yet in the file, print all; the exit code."""
    options = _parser().parse_args(arguments)
    file = Path(options.json) if options.json else None
    rows = _known(file)
    done = {row.workload for row in rows}
    with chosen_clock(options.cpu) as clock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for shape, contender, n in _races(options):
            entry = contender.workload(shape, n)
            if entry.key in done:
                continue
            print(f"... {entry.key}", file=sys.stderr, flush=True)
            alternate = functools.partial(race.alternate, clock=clock, budget=options.budget)
            rows += race.race(entry, n, options.repeat, alternate)
            if file is not None:
                _write(file, rows)
    print(text(rows))
    return int(any(row.failed for row in rows))


def _races(options: argparse.Namespace) -> Iterator[tuple[Shape, Contender, int]]:
    for shape in shapes():
        if options.quick and shape.quick is None:
            continue
        n = shape.quick if options.quick and shape.quick else shape.n
        for contender in CONTENDERS:
            chosen = not options.model or any(m in contender.estimator for m in options.model)
            if chosen and _asked(shape, options.shape) and contender.takes(shape):
                yield shape, contender, n


def _asked(shape: Shape, names: Sequence[str]) -> bool:
    return not names or any(name == shape.name or name in shape.name.split() for name in names)


@contextlib.contextmanager
def chosen_clock(cpu: bool) -> Iterator[Callable[[], float]]:
    """The clock of the race; the processor's needs one thread everywhere."""
    if not cpu:
        yield time.perf_counter
        return
    for library in ("OMP", "OPENBLAS", "MKL"):  # for those that are loaded later
        os.environ[f"{library}_NUM_THREADS"] = "1"
    from threadpoolctl import threadpool_limits

    from pellucid import parallel

    before = parallel.get_threads()
    parallel.set_threads(1)
    try:
        with threadpool_limits(1):
            yield time.process_time
    finally:
        parallel.set_threads(before)


def _known(file: Path | None) -> list[Row]:
    if file is None or not file.exists():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return [Row(**{k: v for k, v in row.items() if k in Row.__dataclass_fields__}) for row in found]


def _write(file: Path, rows: Sequence[Row]) -> None:
    document = {**report.document(rows, []), "means": means(rows)}
    partial = file.with_name(file.name + ".part")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)


def means(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Geometric mean of the ratios, races and races lost, per peer and action."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        if row.ratio is not None and not row.failed:
            action = "fit" if row.action == "fit" else "predict"
            groups.setdefault(f"{row.peer}, {action}", []).append(row.ratio)
    return {
        key: {
            "mean": math.exp(sum(map(math.log, found)) / len(found)),
            "races": len(found),
            "below 1": sum(ratio < 1 for ratio in found),
        }
        for key, found in sorted(groups.items())
    }


def text(rows: Sequence[Row]) -> str:
    """The table, worst ratio first, and the means below it."""
    ordered = sorted(rows, key=lambda row: math.inf if row.ratio is None else row.ratio)
    lines = [f"{'ratio':>7}  {'ours ms':>9}  {'peer ms':>9}  action     race, against"]
    for row in ordered:
        if row.ratio is None and not row.failed:
            continue
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        times = [f"{1000 * (s or math.nan):.3g}" for s in (row.ours_seconds, row.peer_seconds)]
        race_of = f"{row.workload}, {row.peer}"
        lines.append(f"{ratio:>7}  {times[0]:>9}  {times[1]:>9}  {row.action:<9}  {race_of}")
        if row.failed:
            lines.append(f"         {row.status}")
    lines += [
        f"{key}: {mean['mean']:.2f} over {mean['races']} races, {mean['below 1']} below 1"
        for key, mean in means(rows).items()
    ]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks shapes", description=__doc__)
    parser.add_argument("--shape", action="append", default=[], help="only this shape (or a word)")
    parser.add_argument("--model", action="append", default=[], help="only models of this name")
    parser.add_argument("--quick", action="store_true", help="fewer rows: a picture in minutes")
    parser.add_argument("--cpu", action="store_true", help="processor time of one thread")
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="best of K (3)")
    parser.add_argument(
        "--budget", type=float, default=20.0, help="seconds after which K ends (20)"
    )
    parser.add_argument("--json", metavar="FILE", help="results; races in it are not run again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
