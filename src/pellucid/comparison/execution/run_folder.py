"""The run folder: its name, its files, the link to the latest run, and how often a test set was used.

    config.toml  events.jsonl  results.json  timings.json  leaderboard.csv  predictions.parquet
    model.pellucid  summary.json  report.html  log.txt  parts/ (predictions by model and fold)
    replay.html (the fit of a small recommended model, step by step)

`--use forest` adds forest.pellucid, another model of the leaderboard.
Invariant: a file appears under its name only when it is complete.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pellucid.comparison.execution.journal import dump, hold, read_events
from pellucid.errors import DataError

REPLAY = "replay.html"
FILES = (
    "config.toml", "events.jsonl", "results.json", "timings.json", "leaderboard.csv",
    "predictions.parquet", "model.pellucid", "report.html", "summary.json", "log.txt",
    REPLAY,
)  # fmt: skip
RUNS = "runs"
OPENED = ("opened", "opened before")  # test set used by this run, and by the run it replaced


def new_folder(out: str | None, name: str, force: bool) -> Path:
    """Make the folder of a new run: `out`, or runs/<date>-<name>."""
    try:
        if out is not None:
            return _asked_for(Path(out), force)
        stamp = time.strftime("%Y-%m-%d-%H%M")
        safe = re.sub(r"[^\w.-]+", "_", name)[:60] or "table"
        for number in range(1, 1000):
            path = Path(RUNS) / (f"{stamp}-{safe}" + (f"-{number}" if number > 1 else ""))
            try:
                path.mkdir(parents=True)
                return path
            except FileExistsError:
                if not path.is_dir():
                    raise
        raise DataError(f"{RUNS} has too many runs from this minute.")
    except OSError as error:
        where = error.filename or out or RUNS
        raise DataError(
            f"cannot create the run folder {where}: {error.strerror or error}."
        ) from None


def _asked_for(path: Path, force: bool) -> Path:
    if path.is_dir() and any(path.iterdir()):
        known = {*FILES, "parts"}
        kept = ".pellucid"  # models saved with `--use`
        unknown = [p.name for p in path.iterdir() if p.name not in known and p.suffix != kept]
        if not force:
            raise DataError(
                f"{path} is not empty. Choose another --out, resume the run with --resume, or replace "
                "it with --force."
            )
        if unknown:
            raise DataError(
                f"{path} contains {unknown[0]}, which is not part of a run, so it is not replaced."
            )
        path = path.resolve() if path.is_symlink() else path  # such as runs/latest
        _replace(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def refuse_busy(run: Path) -> None:
    """Raise an error if another process is writing this run."""
    journal = run / "events.jsonl"
    if journal.is_file():
        with journal.open("rb") as file:
            hold(file, run)


def _replace(path: Path) -> None:
    """Empty the folder of a run, but keep the record of how often its test set was used."""
    refuse_busy(path)
    journal = path / "events.jsonl"
    lines = "".join(
        dump(record | {"event": "opened before"}) + "\n"
        for record in _readable(journal, "opened")
        if record.get("event") in OPENED
    )
    shutil.rmtree(path)
    if lines:
        path.mkdir()
        from pellucid.data.io.whole_file import write_whole  # imports NumPy: late

        write_whole(journal, lines)


def link_latest(folder: Path) -> None:
    """Point the link `latest` in the parent folder to this run, where links are possible."""
    link = folder.parent / "latest"
    partial = folder.parent / f".latest.{os.getpid()}"
    try:
        if link.exists() and not link.is_symlink():
            return
        partial.symlink_to(folder.name, target_is_directory=True)
        partial.replace(link)
    except OSError:  # the file system has no links; the run does not need one
        partial.unlink(missing_ok=True)


def find_run(where: str | None) -> Path:
    """The run that the user names: a path, a name inside runs/, or the latest run."""
    latest = Path(RUNS) / "latest"
    path = Path(where) if where else latest
    for candidate in (path, Path(RUNS) / path):
        if (candidate / "events.jsonl").is_file():
            return candidate
    if path == latest:
        raise DataError("there is no run yet. Start one with 'pellucid compare DATA'.")
    why = "has no events.jsonl" if path.exists() else "does not exist"
    raise DataError(f"{where} is not a run folder (it {why}).")


def runs(where: Path) -> list[Path]:
    """All runs inside a folder, oldest first."""
    found = []
    for path in where.iterdir() if where.is_dir() else ():
        with suppress(OSError):  # no permission to read it
            if not path.is_symlink() and (path / "events.jsonl").is_file():
                found.append(path)
    return sorted(found, key=lambda path: path.name)


def openings(folder: Path, test_set_id: str) -> int:
    """How often a test set was used by this run and the other runs in the same parent folder."""
    journals = (run / "events.jsonl" for run in runs(folder.resolve().parent))
    records = [record for path in journals for record in _readable(path, test_set_id)]
    own = [record for record in records if record.get("vault") == test_set_id]
    return sum(record.get("event") in OPENED for record in own)


def _readable(path: Path, word: str) -> list[dict[str, Any]]:
    """The events of a journal that contains a word; none if it is unreadable or does not."""
    try:
        known = word in path.read_text(encoding="utf-8", errors="replace")
        return list(read_events(path)) if known else []
    except (DataError, OSError):  # the unreadable journal of another run does not matter here
        return []
