"""The journal of a run: one JSON object per line, appended and flushed as soon as it is known.

Invariant: whatever happens to the process, the lines that were written can be read again and mean
the same; a line that was cut off in the middle counts as not written.
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
    """A value that JSON can hold: NaN and infinity become null, arrays lists, tuples lists."""
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
    """`events.jsonl` of a run folder; no other process can write it while this one is open."""

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
        """Append one event; it is on disk when this returns."""
        record = plain({"event": event, **facts})
        try:
            self._file.write(dump(record) + "\n")
            self._file.flush()
        except OSError as error:
            raise DataError(f"cannot write {self.path}: {error.strerror or error}.") from None
        return record

    def sync(self) -> None:
        """Survive even a crash of the machine."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """What could not be written has been said by `write`."""
        with suppress(OSError):
            self._file.close()


def hold(file: Any, folder: Path) -> None:
    """Refuse a run that another process is writing; the lock ends with the file or the process."""
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataError(
            f"{folder} is being written by another process: wait for its end, or choose another "
            "--out."
        ) from None
    except OSError:  # a file system without such locks
        return


def _cut_torn_line(path: Path) -> None:
    """Remove what follows the last line break: a line that was being written when all ended."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal; a torn last line is passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            event = _parsed(line)
            if event is None:
                raise DataError(
                    f"{path}, line {number}: not a journal line. The file was changed by hand; "
                    "start a new run."
                )
            yield event


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:  # no JSON, or no UTF-8
        return None
    return event if isinstance(event, dict) else None


@dataclass
class RunState:
    """What the journal says has been done."""

    start: dict[str, Any] | None = None
    candidates: dict[tuple[str, str], dict[int, dict[str, Any]]] = field(default_factory=dict)
    done: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)
    openings: list[dict[str, Any]] = field(default_factory=list)  # of the test part, by this run
    finished: dict[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> RunState:
        state = cls()
        for record in read_events(path):
            state.add(record)
        return state

    def add(self, record: dict[str, Any]) -> None:
        """Take one event in."""
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
