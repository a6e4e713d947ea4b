"""`python -m benchmarks whole_runs [--against PYTHON] [--tables a,b] [--rows N] [--jobs J]`.

Runs `pellucid compare` on reference tables with this Python and with that of another installation, for
instance of an older commit, alternately. Printed are seconds of the clock and of the processor (of all
processes of a run), their ratios, and the best score on each board. Best of `--repeat`. Linux only: what
the processes of a run have used is known once this one, as their last parent, has waited for them.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy import TABLES as SCORED
from benchmarks.accuracy import folder

TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {  # name: (file, target, columns to drop)
    "titanic": ("titanic3.csv", *SCORED["titanic3.csv"]),
    "bank": ("bank_marketing.csv.gz", "y", ()),
    "adult": ("adult.csv.gz", "income", ("subset",)),
    "ames": ("ames.csv", *SCORED["ames.csv"]),
    "bike_hour": ("bike_hour.csv.gz", "cnt", ("instant", "dteday", "casual", "registered")),
}
MAIN = "import sys; from pellucid.app.cli import main; sys.argv[0] = 'pellucid'; main()"
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


def used() -> float:
    """Seconds of the processor that all ended children have used."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime


def timed(command: Sequence[str], env: dict[str, str]) -> tuple[float, float]:
    """Seconds of the clock and of the processor, with all processes that the command left."""
    before, started = used(), time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
    return seconds, used() - before


def compare(python: str, table: Path, target: str, jobs: int, out: Path) -> dict[str, Any]:
    """One run: its seconds and the best model of its board."""
    command = [
        python, "-c", MAIN, "compare", str(table), "--target", target, f"-j{jobs}", "-o", str(out),
    ]  # fmt: skip
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PELLUCID", "PYTHONPATH"))}
    wall, cpu = timed(command, env)
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    best = data["leaderboard"][0]
    return {"wall": wall, "cpu": cpu, "best": best["model"], "score": best["mean"]}


def sampled(name: str, rows: int, scratch: Path) -> Path | None:
    """A CSV file with at most `rows` random rows of a table; None if the table is not here."""
    import pandas as pd

    file, _, drop = TABLES[name]
    place = folder()
    if place is None or not (place / file).is_file():
        return None
    frame = pd.read_csv(place / file).drop(columns=list(drop))
    if rows < len(frame):
        frame = frame.sample(rows, random_state=0)
    path = scratch / f"{name}.csv"
    frame.to_csv(path, index=False)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both installations on the chosen tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks whole_runs")
    parser.add_argument("--against", metavar="PYTHON", help="Python of the other installation")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"of {', '.join(TABLES)}")
    parser.add_argument("--rows", type=int, default=2500, help="at most this many rows of a table")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1, metavar="K", help="best of K")
    options = parser.parse_args(arguments)
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
    sides = {"this": sys.executable} | ({"other": options.against} if options.against else {})
    for name in options.tables.split(","):
        best: dict[str, dict[str, Any]] = {}
        with tempfile.TemporaryDirectory() as scratch:
            table = sampled(name, options.rows, Path(scratch))
            if table is None:
                print(f"{name}: skipped, no reference table (set PELLUCID_SHARED_DATA)")
                continue
            for k in range(options.repeat):
                for side, python in sides.items():
                    out = Path(scratch) / f"{side}{k}"
                    run = compare(python, table, TABLES[name][1], options.jobs, out)
                    least = best.setdefault(side, run)
                    least |= {key: min(least[key], run[key]) for key in ("wall", "cpu")}
        for line in lines(name, best):
            print(line, flush=True)
    return 0


def lines(name: str, best: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each installation, with the ratio to this one."""
    own = best["this"]
    return [
        f"{name:<10}{side:<6}{run['wall']:7.1f} s wall {run['cpu']:7.1f} s CPU "
        f"{run['wall'] / own['wall']:5.2f}x {run['cpu'] / own['cpu']:5.2f}x  "
        f"{run['best']} {run['score']:.5g}"
        for side, run in best.items()
    ]
