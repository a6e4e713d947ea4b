"""The journal of a run: one JSON object per line, appended and flushed for each event.

Invariant: whatever happens to the process, complete lines can be read again with the same meaning; an
incomplete last line counts as not written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid.errors import DataError


def plain(value: Any) -> Any:
    """A value for JSON: NaN and infinity become null, arrays and tuples become lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def dump(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


class Journal:
    """`events.jsonl` of a run folder, locked against other processes while it is open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a", encoding="utf-8")
        try:
            hold(self._file, path.parent)
            _cut_torn_line(path)
        except BaseException:
            self._file.close()
            raise

    def write(self, event: str, **facts: Any) -> dict[str, Any]:
        """Append one event and flush it."""
        record = plain({"event": event, **facts})
        try:
            self._file.write(dump(record) + "\n")
            self._file.flush()
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror or error}.") from None
        return record

    def sync(self) -> None:
        """Force the journal to disk, so that it survives a crash of the machine."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; `write` has already raised errors of writing."""
        with suppress(OSError):
            self._file.close()


def hold(file: Any, folder: Path) -> None:
    """Lock the file, or raise an error if another process is writing this run.

    The lock ends when the file is closed or the process ends.
    """
    try:
        import fcntl
    except ImportError:  # this system has no such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataError(
            f"another process is writing {folder}. Wait until it ends, or choose another --out."
        ) from None
    except OSError:  # this file system has no such locks
        return


def _cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line, left by a process that was killed while writing."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal, without an incomplete last line."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                event = json.loads(line)
            except ValueError:  # not JSON, or not UTF-8
                event = None
            if not isinstance(event, dict):
                raise DataError(
                    f"{path}, line {number} is not a valid event. Was the file edited? Start a new "
                    "run."
                )
            yield event


@dataclass
class RunState:
    """The records of a run so far, from its journal."""

    start: dict[str, Any] | None = None
    candidates: dict[tuple[str, str], dict[int, dict[str, Any]]] = field(default_factory=dict)
    done: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)
    openings: list[dict[str, Any]] = field(default_factory=list)  # uses of the test set by this run
    finished: dict[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> RunState:
        state = cls()
        for record in read_events(path):
            state.add(record)
        return state

    def completed(self, model: str, n_folds: int) -> bool:
        """Whether a model has a result in every fold."""
        folds = range(n_folds)
        return model not in self.failed and all((model, str(k)) in self.done for k in folds)

    def opened_for(self, model: str, candidate: int) -> bool:
        """Whether this run has scored the same model on the test set already: no new use."""
        return any((o["model"], o["candidate"]) == (model, candidate) for o in self.openings)

    def add(self, record: dict[str, Any]) -> None:
        """Add one event."""
        event = record["event"]
        if event == "candidate":
            place = self.candidates.setdefault((record["model"], record["fold"]), {})
            place[record["candidate"]] = record
        elif event == "done":
            self.done[record["model"], record["fold"]] = record
        elif event == "failed":
            self.failed.setdefault(record["model"], record)
        elif event == "start":
            self.start = self.start or record
        elif event == "opened":
            self.openings.append(record)
        elif event == "finished":
            self.finished = record
