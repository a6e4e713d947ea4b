"""Text on a terminal: its width, wrapped lines, tables that fit.

Invariant: a word is broken only if it is wider than its line; a table that is too wide first wraps
cells, then leaves out columns in the order that its caller gives.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from pellucid.draw.label_text import cells, clean, fit_cells, pad

PIPED = 100  # columns if the width is unknown
LEAST, MOST = 40, 120  # longer lines are hard to read
GLUE = "\u00a0"  # a no-break space: no line is broken here
GAP = 2


def terminal_width(stream: Any) -> int | None:
    """Columns of a stream's terminal (COLUMNS takes precedence); None for a file or a pipe."""
    try:
        if not stream.isatty():
            return None
        return _from_environment() or os.get_terminal_size(stream.fileno()).columns or PIPED
    except (AttributeError, OSError, ValueError):  # a stream without a file descriptor
        return None


def width(stream: Any = None) -> int:
    """Columns that text on a stream (default: stdout) may use."""
    found = terminal_width(sys.stdout if stream is None else stream) or _from_environment() or PIPED
    return min(max(found, LEAST), MOST)


def _from_environment() -> int:
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdecimal() else 0


def wrapped(text: str, first: str, indent: str, width: int = PIPED) -> list[str]:
    """Untrusted text on lines of at most `width` cells, the first one after `first`."""
    parts = clean(text, 4000).replace(" %", f"{GLUE}%").split(" ")
    return packed([fit_cells(part, width - len(indent)) for part in parts], first, indent, width)


def packed(parts: Sequence[str], first: str, indent: str, width: int, gap: str = " ") -> list[str]:
    """As many parts on each line as fit; a part that is wider than a line gets its own line."""
    lines, line, empty = [], first, True
    for part in parts:
        longer = f"{line}{'' if empty else gap}{part}"
        if cells(longer) > width and not (empty and line == indent):
            if not empty or line.strip():
                lines.append(line.rstrip())
            line = indent + part
        else:
            line = longer
        empty = False
    return [done.rstrip().replace(GLUE, " ") for done in (*lines, line)]


def grid(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    wraps: Sequence[str] = (),
    drops: Sequence[str] = (),
    right: Sequence[str] = (),
) -> list[str]:
    """A table with heads, at most `width` wide (None: no limit).

    A table that is too wide wraps the cells of the columns `wraps`, then leaves out the columns
    `drops` one by one. Columns are given by their heads; those in `right` are aligned right.
    """
    shown = list(range(len(heads)))
    while True:
        sizes = [max(cells(heads[j]), *(cells(row[j]) for row in rows), 0) for j in shown]
        over = 0 if width is None else sum(sizes) + GAP * (len(sizes) - 1) - width
        sizes = _narrowed(sizes, over, [shown.index(j) for j in shown if heads[j] in wraps])
        if width is None or sum(sizes) + GAP * (len(sizes) - 1) <= width:
            break
        left = [name for name in drops if name in [heads[j] for j in shown]]
        if not left:
            break
        shown.remove(list(heads).index(left[0]))
    ends = [heads[j] in right for j in shown]
    lines = _row([heads[j] for j in shown], sizes, ends)
    lines.append((" " * GAP).join("-" * size for size in sizes))
    for row in rows:
        lines += _row([row[j] for j in shown], sizes, ends)
    return lines


LEAST_WRAPPED = 16  # cells; narrower columns of text are hard to read


def _narrowed(sizes: list[int], over: int, flexible: list[int]) -> list[int]:
    """Take `over` cells from the widest of the flexible columns."""
    sizes = list(sizes)
    for _ in range(max(0, over)):
        widest = max(flexible, key=lambda j: sizes[j], default=None)
        if widest is None or sizes[widest] <= LEAST_WRAPPED:
            break
        sizes[widest] -= 1
    return sizes


def _row(parts: Sequence[str], sizes: Sequence[int], right: Sequence[bool]) -> list[str]:
    """The lines of one row of a table, as many as its longest cell needs."""
    columns = [
        packed(_fitting(part, size), "", "", size) if cells(part) > size else [part]
        for part, size in zip(parts, sizes)
    ]
    lines = []
    for i in range(max(map(len, columns), default=0)):
        texts = [column[i] if i < len(column) else "" for column in columns]
        lines.append(
            (" " * GAP).join(pad(t, s, r) for t, s, r in zip(texts, sizes, right)).rstrip()
        )
    return lines


def _fitting(text: str, size: int) -> list[str]:
    """The words of a text; those that are wider than their column are broken."""
    parts: list[str] = []
    for word in text.split(" "):
        while cells(word) > size:
            cut = next(k for k in range(len(word), 0, -1) if cells(word[:k]) <= size or k == 1)
            parts.append(word[:cut])
            word = word[cut:]
        parts.append(word)
    return parts
