"""`python -m scorecard.same_bits record FILE` and `... compare FILE`: see the package.

Exit code 1 if something differs. A comparison lists each key that was added, removed or changed;
`--only NAME` (repeatable) restricts it to some classes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pellucid
from scorecard.same_bits.fits import public_classes, record

THREADS = (1, 2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; the exit code."""
    options = _parser().parse_args(arguments)
    path = Path(options.file)
    names = options.only or list(public_classes())
    before = json.loads(path.read_text()) if options.command == "compare" else {}
    now = _recorded(names, options.threads)
    if options.command == "record":
        path.write_text(json.dumps(now, indent=0, sort_keys=True) + "\n")
        print(f"{len(now)} digests of {len(names)} classes")
        return 0
    before = {key: value for key, value in before.items() if key.split("/")[0] in names}
    lines = differences(before, now)
    print("\n".join(lines[: options.lines] + _counts(lines)))
    print(f"{len(before)} digests before, {len(now)} now, {len(lines)} differences")
    return int(bool(lines))


def differences(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """One line per key that was added, removed or changed."""
    keys = sorted(before.keys() | now.keys())
    words = {key: _word(before.get(key), now.get(key)) for key in keys}
    return [f"{word}  {key}" for key, word in words.items() if word]


def _word(old: str | None, new: str | None) -> str:
    if old == new:
        return ""
    if old is None or new is None:
        return "added  " if old is None else "removed"
    return "changed"


def _counts(lines: list[str]) -> list[str]:
    """How many lines each class has."""
    counts = Counter(line.split()[1].split("/")[0] for line in lines)
    return [f"{name}: {count} differences" for name, count in counts.most_common()]


def _recorded(names: Sequence[str], threads: Sequence[int]) -> dict[str, str]:
    """All digests; those of two threads are listed only where they differ from those of one."""
    found: dict[str, str] = {}
    for name in names:
        began = time.monotonic()
        for count in threads:
            pellucid.set_threads(count)
            for key, value in record(name):
                if found.setdefault(key, value) != value:
                    found[f"{key} ({count} threads)"] = value
        print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    pellucid.set_threads(None)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scorecard.same_bits", description=__doc__)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("file", help="JSON of digests")
    parser.add_argument("--only", action="append", metavar="NAME", help="a class; repeatable")
    parser.add_argument("--lines", type=int, default=200, help="differences listed at most")
    most = int(os.environ.get("PELLUCID_NUM_THREADS", "2"))
    threads = [count for count in THREADS if count <= most]
    parser.add_argument(
        "--threads", type=int, nargs="+", default=threads, help="numbers of threads"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
