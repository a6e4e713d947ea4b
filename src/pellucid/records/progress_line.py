"""`watching(progress=True)`: one line of text that follows a fit, in a terminal or a notebook.

Invariant: nothing is written where nobody would see the line move (a file, a pipe).
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, TextIO

SECONDS = 0.1  # between two updates
WIDTH = 79


class ProgressLine:
    """A function of progress rows that rewrites one line of `stream`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = 0.0
        self._width = 0
        self._latest: dict[str, Any] | None = None

    @classmethod
    def of_command(cls, level: int) -> ProgressLine | None:
        """For a command with this level of messages; None if it is quiet or not in a terminal."""
        dumb = os.environ.get("TERM") == "dumb" or os.environ.get("CI")
        return None if level < 0 or dumb else cls.for_stderr()

    @classmethod
    def for_stderr(cls) -> ProgressLine | None:
        """For the standard error stream; None if it is neither a terminal nor a notebook's."""
        stream = sys.stderr
        notebook = type(stream).__module__.startswith("ipykernel")
        return cls(stream) if stream is not None and (notebook or stream.isatty()) else None

    def __call__(self, row: dict[str, Any]) -> None:
        self._latest = row
        if time.monotonic() >= self._next:
            self._write()
            self._next = time.monotonic() + SECONDS

    def end(self) -> None:
        """The newest row, then a line of its own for what follows."""
        if self._latest is not None:
            self._write()
            self._stream.write("\n")
            self._stream.flush()

    def _write(self) -> None:
        assert self._latest is not None
        text = _text(self._latest)[:WIDTH]
        self._stream.write(f"\r{text}{' ' * (self._width - len(text))}")
        self._stream.flush()
        self._width = len(text)


def _text(row: dict[str, Any]) -> str:
    """`KMeans  iteration 3 of 300  objective 12.5`, `KMeans  pass 3 (60% of 90,000 rows, 5 s left)`.
    Rows without an iteration are visited once."""
    if "rows" in row:
        share = row["rows"] / max(row["n_rows"], 1)
        text = f"{share:.0%} of {row['n_rows']:,} rows, {row['seconds_left']:.0f} s left"
        number = row.get("iteration")
        return f"{row['source']}  {text if number is None else f'pass {int(number)} ({text})'}"
    total = row.get("total")
    text = f"{row['source']}  iteration {int(row['iteration'])}"
    text += f" of {total}" if total else ""
    objective = row.get("objective")
    return text if objective is None else f"{text}  objective {objective:.6g}"
