"""What a reader refuses before a parser sees it: endless input, endless lines, bottomless nesting.

Invariant: a pipe is read for at most a quarter of the machine's memory, and waited for at most
`PIPE_WAIT` seconds; no parser gets a line above `LONGEST_LINE` bytes or JSON deeper than `DEEPEST`.
"""

from __future__ import annotations

import os
import re
import select
import stat
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pellucid.errors import DataError

LONGEST_LINE = 1 << 26
DEEPEST = 100
PIPE_WAIT = 10.0
_CHUNK = 1 << 22
_NULL_ROW = re.compile(
    rb"(?:\A(?:\xef\xbb\xbf)?|\})\s*null"
)  # at the beginning, or after an object
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NESTING = np.zeros(256, np.int8)  # what each byte adds to the depth
_NESTING[[ord("["), ord("{")]] = 1
_NESTING[[ord("]"), ord("}")]] = -1


# Devices and pipes


def read_special(path: Path, name: str) -> bytes:
    """The content of what is no regular file: a pipe, read to its end; a device is refused."""
    kind = path.stat().st_mode
    other = stat.S_ISCHR(kind) and not os.path.samefile(path, os.devnull)
    if stat.S_ISSOCK(kind) or stat.S_ISBLK(kind) or other:
        raise DataError(f"{name} is a device, not a file. Give a file or a pipe.")
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as pipe:
        if stat.S_ISFIFO(kind) and not _has_writer(descriptor):
            raise DataError(
                f"{name} is a pipe, and no program has written to it for {PIPE_WAIT:g} seconds."
            )
        os.set_blocking(descriptor, True)
        return read_bounded(pipe, name)


def _has_writer(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(PIPE_WAIT * 1000))


def read_bounded(stream: BinaryIO, name: str) -> bytes:
    """All bytes of a stream; more than a quarter of the machine's memory are refused."""
    most = _most_bytes()
    parts, size = [], 0
    while part := stream.read(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > most:
            raise DataError(
                f"{name} gave more than {most / 1e9:.1f} GB, which is too much for a pipe. "
                "Save the table to a file and give that file."
            )
    return b"".join(parts)


def _most_bytes() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    except (AttributeError, OSError, ValueError):  # Windows does not tell
        return 1 << 32


# Lines


def refuse_long_lines(stream: Any, name: str) -> None:
    """Refuse a text with a line above `LONGEST_LINE` bytes; only line ends are looked for."""
    since, lines = 0, 0
    while chunk := bytes(stream.read(_CHUNK)):
        first = _line_end(chunk, chunk.find)
        if since + (len(chunk) if first < 0 else first) > LONGEST_LINE:
            raise DataError(
                f"line {lines + 1} of {name} is longer than {LONGEST_LINE >> 20} MB, so it is "
                "probably not a table. Look at the file, or save it as Parquet."
            )
        lines += chunk.count(b"\n")
        since = since + len(chunk) if first < 0 else len(chunk) - 1 - _line_end(chunk, chunk.rfind)


def _line_end(chunk: bytes, find: Any) -> int:
    places = [place for place in (find(b"\n"), find(b"\r")) if place >= 0]
    return (min if find == chunk.find else max)(places, default=-1)


# Nesting


def refuse_deep_json(content: Any, name: str) -> None:
    """Refuse JSON with lists or objects nested deeper than `DEEPEST`, however the file ends lines."""
    cells = np.frombuffer(content, np.uint8)
    if _depth(cells) > DEEPEST:  # brackets inside texts may have been counted
        bare = _STRING.sub(b"", bytes(content))
        if _depth(np.frombuffer(bare, np.uint8)) > DEEPEST:
            raise DataError(
                f"{name} has lists or objects nested more than {DEEPEST} deep, so it is not a "
                "table. Each row must be one JSON object of simple values."
            )


def refuse_null_rows(content: Any, name: str) -> None:
    """Refuse JSON with `null` in place of a row: Arrow's parser may not survive it."""
    if _NULL_ROW.search(content) and _NULL_ROW.search(_STRING.sub(b"", bytes(content))):
        raise DataError(
            f"{name} has null in place of a row. Each row must be one JSON object: remove the null, or "
            "write {} for a row without values."
        )


def _depth(cells: np.ndarray) -> int:
    """The largest rise of (opening minus closing brackets) above its lowest value before."""
    level, lowest, deepest = 0, 0, 0
    for begin in range(0, len(cells), _CHUNK):
        steps = _NESTING[cells[begin : begin + _CHUNK]]
        levels = level + np.cumsum(steps[steps != 0], dtype=np.int64)
        if levels.size:
            floor = np.minimum(np.minimum.accumulate(levels), lowest)
            deepest = max(deepest, int((levels - floor).max()))
            level, lowest = int(levels[-1]), int(floor[-1])
    return deepest
