"""`python -m benchmarks pages`: measure what the method pages show, and write it to one file.

Times are processor time with one thread in each library, which a busy machine disturbs least. A run of
some pages keeps the others' figures, so it must be on the same machine and with the same versions.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks import race, report, workload
from benchmarks.memory import peak_bytes
from benchmarks.pages import scores
from benchmarks.pages.races import RACES
from benchmarks.shapes.command import chosen_clock
from benchmarks.workload import OURS

FILE = Path(__file__).resolve().parents[2] / "docs" / "_data" / "comparison.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen pages, write the file after each; 1 if answers differ."""
    options = _parser().parse_args(arguments)
    unknown = sorted(set(options.page) - set(RACES))
    if unknown:
        print(f"no such page: {', '.join(unknown)}. Known: {', '.join(RACES)}", file=sys.stderr)
        return 2
    document = _begun(options)
    failed = 0
    with chosen_clock(True) as clock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for page in options.page or RACES:
            print(f"... {page}", file=sys.stderr, flush=True)
            found = _measured(page, options, clock)
            failed += sum(row["failed"] for row in found["races"])
            document["pages"][page] = found
            _write(options.json, document)
    print(f"{options.json}: {len(document['pages'])} pages, {failed} races with different answers")
    return int(failed > 0)


def _begun(options: argparse.Namespace) -> dict[str, Any]:
    """The document with its conditions; the pages that are not measured now stay."""
    made = report.document([], [])
    document = {key: made[key] for key in ("schema", "machine", "versions")}
    document["command"] = "python -m benchmarks pages"
    document["pages"] = {}
    if options.page and options.json.is_file():
        known = json.loads(options.json.read_text(encoding="utf-8"))
        if any(known[key] != document[key] for key in ("machine", "versions")):
            raise SystemExit(
                f"{options.json} comes from another machine or other versions. Measure all pages."
            )
        document["pages"] = known["pages"]
    return document


def _measured(page: str, options: argparse.Namespace, clock: Callable[[], float]) -> dict[str, Any]:
    rows = []
    alternate = functools.partial(race.alternate, clock=clock, budget=options.budget)
    for key in RACES[page]:
        entry = workload.find(key)
        n = min(entry.source.n, options.rows)
        for row in race.race(entry, n, options.repeat, alternate):
            if row.action == "fit" and row.ours_seconds is not None and not options.no_memory:
                ours, peer = (peak_bytes(key, who, n) for who in (OURS, row.peer))
                row = replace(row, ours_bytes=ours, peer_bytes=peer)
            rows.append({**asdict(row), "ratio": row.ratio, "failed": row.failed})
    compared = [] if options.no_scores else _scores(page)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load": round(os.getloadavg()[0], 1),
        "best of": options.repeat,
        "races": rows,
        "scores": compared,
    }


def _scores(page: str) -> list[dict[str, Any]]:
    if page == "tsne":
        return list(scores.embeddings())
    found = [scores.compete(contest) for contest in scores.CONTESTS.get(page, [])]
    return [one for one in found if one is not None]


def _write(file: Path, document: dict[str, Any]) -> None:
    document["pages"] = dict(sorted(document["pages"].items()))
    text = json.dumps(document, indent=1, default=float)
    partial = file.with_name(file.name + ".part")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pages", description=__doc__)
    parser.add_argument("--page", action="append", default=[], help="only this page")
    parser.add_argument("--json", type=Path, default=FILE, metavar="FILE", help=f"({FILE.name})")
    parser.add_argument("--rows", type=int, default=20_000, help="at most this many rows (20000)")
    parser.add_argument("--repeat", type=int, default=3, metavar="K", help="best of K (3)")
    parser.add_argument(
        "--budget", type=float, default=20.0, help="seconds after which K ends (20)"
    )
    parser.add_argument("--no-memory", action="store_true", help="leave out peak memory")
    parser.add_argument("--no-scores", action="store_true", help="leave out the real tables")
    return parser
