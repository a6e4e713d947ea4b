"""The run folder: its name, its files, the link to the latest, and how often a test part was opened.

    config.toml  events.jsonl  results.json  timings.json  leaderboard.csv  predictions.parquet
    model.pellucid  summary.json  report.html  log.txt  parts/ (answers by model and fold)

Other models of the board may lie beside it: forest.pellucid (`--use forest`).
Invariant: a file appears under its name only when it is complete.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

from pellucid.comparison.execution.journal import dump, hold, read_events
from pellucid.errors import DataError

FILES = (
    "config.toml", "events.jsonl", "results.json", "timings.json", "leaderboard.csv",
    "predictions.parquet", "model.pellucid", "report.html", "summary.json", "log.txt",
)  # fmt: skip
RUNS = "runs"
OPENED = ("opened", "opened before")  # by this run, and by the one that it replaced


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and rename it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        partial.unlink(missing_ok=True)


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
        raise DataError(f"{RUNS} holds too many runs of this minute.")
    except OSError as error:
        where = error.filename or out or RUNS
        raise DataError(f"cannot make the run folder {where}: {error.strerror or error}.") from None


def _asked_for(path: Path, force: bool) -> Path:
    if path.is_dir() and any(path.iterdir()):
        known = {*FILES, "parts"}
        kept = ".pellucid"  # models that were chosen by `--use`
        strange = [p.name for p in path.iterdir() if p.name not in known and p.suffix != kept]
        if not force:
            raise DataError(
                f"{path} is not empty. Choose another --out, continue it with --resume, or replace "
                "it with --force."
            )
        if strange:
            raise DataError(f"{path} holds {strange[0]}, which is no part of a run: not replaced.")
        path = path.resolve() if path.is_symlink() else path  # such as runs/latest
        _replace(path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def refuse_busy(run: Path) -> None:
    """An error if a process is writing this run."""
    journal = run / "events.jsonl"
    if journal.is_file():
        with journal.open("rb") as file:
            hold(file, run)


def _replace(path: Path) -> None:
    """Empty the folder of a run that no process is writing; what it opened stays opened."""
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
        write_whole(journal, lines)


def link_latest(folder: Path) -> None:
    """`latest` beside the folder points to it; where links are impossible there is none."""
    link = folder.parent / "latest"
    partial = folder.parent / f".latest.{os.getpid()}"
    try:
        if link.exists() and not link.is_symlink():
            return
        partial.symlink_to(folder.name, target_is_directory=True)
        partial.replace(link)
    except OSError:  # a convenience: a file system without links has runs all the same
        partial.unlink(missing_ok=True)


def find_run(where: str | None) -> Path:
    """The folder a user means: a path, a name inside runs/, or the latest."""
    latest = Path(RUNS) / "latest"
    path = Path(where) if where else latest
    for candidate in (path, Path(RUNS) / path):
        if (candidate / "events.jsonl").is_file():
            return candidate
    if path == latest:
        raise DataError("there is no run yet: start one with 'pellucid compare DATA'.")
    raise DataError(f"{where} is not a run folder (it has no events.jsonl).")


def runs(where: Path) -> list[Path]:
    """All run folders inside a folder, oldest first."""
    if not where.is_dir():
        return []
    return sorted((p for p in where.iterdir() if _is_run(p)), key=lambda p: p.name)


def _is_run(path: Path) -> bool:
    try:
        return not path.is_symlink() and (path / "events.jsonl").is_file()
    except OSError:  # a folder of somebody else
        return False


def openings(folder: Path, test_set_id: str) -> int:
    """How often the test part of this name was opened by the runs beside this one, itself included."""
    journals = (run / "events.jsonl" for run in runs(folder.resolve().parent))
    return sum(
        _opens(record, test_set_id) for path in journals for record in _readable(path, test_set_id)
    )


def _opens(record: dict[str, Any], test_set_id: str) -> bool:
    return record.get("event") in OPENED and record.get("vault") == test_set_id


def _readable(path: Path, word: str) -> list[dict[str, Any]]:
    """The events of a journal that can be read and holds a word; none of any other."""
    try:
        known = word in path.read_text(encoding="utf-8", errors="replace")
        return list(read_events(path)) if known else []
    except (DataError, OSError):  # an unreadable journal of another run is its own problem
        return []
