"""Cases, tried one by one in a child process with limits, and a journal of what came out.

A case is a key and a check that raises if its promise is broken; it may return what it measured,
such as seconds. A child runs case after case and reports each; if it dies (a crash, or the alarm of a
case that takes too long), the case it was at is bad and a new child goes on behind it. The journal is
continued when a row is run again, so that nothing is tried twice.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

SKIPPED = "skipped: "  # how the outcome of a case begins that was not tried


@dataclass(frozen=True)
class Case:
    """One try: `check` raises if something is wrong."""

    key: str
    check: Callable[[], object]


@dataclass(frozen=True)
class Limits:
    """Of one case: seconds, and bytes that the child may add to its memory (0: no limit)."""

    seconds: int = 60
    memory: int = 0


@dataclass
class Tally:
    """The number of cases that there are and that were tried; the bad ones and the skipped ones."""

    wanted: int = 0
    tried: int = 0
    bad: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    measured: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Outcome:
    """What is wrong with a case, empty if nothing is, and what it measured."""

    text: str = ""
    measured: dict[str, float] = field(default_factory=dict)


def counted(full: int, share: float) -> range:
    """Numbers of cases: a share of `full`, at least one."""
    return range(max(1, round(full * share)))


def tally(
    cases: Iterable[Case], journal: Path | None, limits: Limits, seconds: float = float("inf")
) -> Tally:
    """Try the cases that the journal lacks, until `seconds` have passed; count them all."""
    known = _read(journal)
    every = list(cases)
    left = [case for case in every if case.key not in known]
    end, start = time.monotonic() + seconds, 0
    while start < len(left) and time.monotonic() < end:
        found = _run_child(left[start:], limits, end, partial(_append, journal))
        start += len(found)
        known |= found
    mine = {case.key: known[case.key] for case in every if case.key in known}
    skipped = {key: it.text for key, it in mine.items() if _is_skipped(it.text)}
    bad = {key: it.text for key, it in mine.items() if it.text and key not in skipped}
    measured = {key: it.measured for key, it in mine.items() if it.measured}
    return Tally(len(every), len(mine) - len(skipped), bad, skipped, measured)


def _is_skipped(text: str) -> bool:
    """A case that could not be tried, such as one whose reference data are absent."""
    return text.startswith(SKIPPED)


def _run_child(
    cases: list[Case], limits: Limits, end: float, note: Callable[[str, _Outcome], None]
) -> dict[str, _Outcome]:
    """The outcomes of the first cases: all of them, or up to the one at which the child died.

    Each is noted when it is known, so that a run that is killed loses none.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(cases, limits, end, writing)
    os.close(writing)
    found: dict[str, _Outcome] = {}
    with os.fdopen(reading, encoding="utf-8") as lines:
        for line in lines:
            key, *rest = json.loads(line)
            found[key] = _Outcome(*rest)
            note(key, found[key])
    _, status = os.waitpid(child, 0)
    if status:
        key = cases[len(found)].key
        found[key] = _Outcome(_end_of(status, limits))
        note(key, found[key])
    return found


def _end_of(status: int, limits: Limits) -> str:
    """What ended a child, from the status that `waitpid` gives."""
    if not os.WIFSIGNALED(status):
        return f"ended with exit code {os.WEXITSTATUS(status)}"
    number = os.WTERMSIG(status)
    late = f"took more than {limits.seconds} s"
    return late if number == signal.SIGALRM else f"died of signal {number}"


def _work(cases: list[Case], limits: Limits, end: float, writing: int) -> None:
    """The child: reports each case on one line and never returns."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if limits.memory:
            most = _address_space() + limits.memory
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        warnings.simplefilter("ignore")
        for case in cases:
            if time.monotonic() >= end:
                break
            signal.alarm(limits.seconds)
            found = _outcome(case)
            signal.alarm(0)
            os.write(writing, _line(case.key, found))
        code = 0
    finally:
        os._exit(code)


def _address_space() -> int:
    """Bytes that this process has mapped already; a limit of memory counts from here."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _outcome(case: Case) -> _Outcome:
    """What is wrong with a case, or what it measured."""
    try:
        found = case.check()
    except BaseException as error:  # pytest's "skipped" is no Exception
        if type(error).__name__ == "Skipped":
            return _Outcome(f"{SKIPPED}{error}")
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return _Outcome(f"{type(error).__name__} at {where}: {error}"[:400])
    return _Outcome("", found) if isinstance(found, dict) else _Outcome()


def _line(key: str, found: _Outcome) -> bytes:
    """A line of the journal."""
    measured = [found.measured] if found.measured else []
    return (json.dumps([key, found.text, *measured]) + "\n").encode()


def _read(journal: Path | None) -> dict[str, _Outcome]:
    if journal is None or not journal.exists():
        return {}
    found = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            key, *rest = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            continue
        found[key] = _Outcome(*rest)
    return found


def _append(journal: Path | None, key: str, outcome: _Outcome) -> None:
    """One line more; on a line of its own, even if the last one was cut off by a kill."""
    if journal is None or _is_skipped(outcome.text):
        return
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
            file.write(b"\n" * torn)
        file.write(_line(key, outcome))
