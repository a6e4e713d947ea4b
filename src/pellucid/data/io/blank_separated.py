"""Texts without a separating character: cells that stand apart by blanks, and cells in 'single' quotes.

R writes tables this way, and so do many teaching collections. Such a text is rewritten with tabs
between its cells; its lines stay where they were, so that errors name the right one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from pellucid.data.io.encodings import wrong_encoding
from pellucid.data.io.source import Source

_CELL = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|'([^']*)'|(\S+))(?=\s|$)""")
_QUOTED_LINE = re.compile(r"'[^']*'(?:[,;|\t]'[^']*')*")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


def cells_of(line: str) -> list[str]:
    """The cells of one line; quotes keep blanks together."""
    cells = []
    for found in _CELL.finditer(line):
        double, single, bare = found.groups()
        cells.append(double.replace('""', '"') if double is not None else single or bare or "")
    return cells


def looks_blank_separated(lines: Sequence[str]) -> bool:
    """Whether blanks cut all lines into the same number of cells and some column holds only numbers.

    The first line may be one cell short: R writes no name above the names of rows. Without the
    numbers, every list of two words would be a table.
    """
    rows = [cells_of(line) for line in lines]
    widths = {len(row) for row in rows[1:]}
    if len(widths) != 1 or max(widths) < 2:
        return False
    width = max(widths)
    if len(rows[0]) not in (width, width - 1):
        return False
    return any(all(_NUMBER.fullmatch(row[j]) for row in rows[1:]) for j in range(width))


def rewritten(source: Source, encoding: str, header: bool, note: Callable[[str], None]) -> Source:
    """The text in UTF-8 with tabs between its cells."""
    data = bytes(source.content())
    try:
        lines = data.decode(encoding).lstrip("\ufeff").splitlines()
    except UnicodeDecodeError as error:
        raise wrong_encoding(source, data, error, encoding) from None
    rows = [cells_of(line) for line in lines]
    first, *others = [row for row in rows if row]
    if header and others and len(first) == len(others[0]) - 1:
        note(f"{source.name} has no name above its first column, as R writes names of rows.")
        first.insert(0, "")
    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="\n").writerows(rows)
    return Source(source.name, data=out.getvalue().encode())


def single_quoted(lines: Sequence[str]) -> bool:
    """Whether 'single quotes' enclose cells: all names, or each cell of the columns that have any."""
    if not lines or any('"' in line for line in lines):
        return False
    if not _QUOTED_LINE.fullmatch(lines[0].strip()):
        return any(_columns_quoted(lines[1:], mark) for mark in ",;|\t")
    return not any(_QUOTE_INSIDE.search(_QUOTED_CELL.sub("", line)) for line in lines)


_QUOTED_CELL = re.compile(r"(?<![^,;|\t ])'[^']*'(?![^,;|\t ])")
_QUOTE_INSIDE = re.compile(r"(?<![^,;|\t ])'")  # opens a cell that nothing closes


def _columns_quoted(lines: Sequence[str], delimiter: str) -> bool:
    outside = re.compile(rf"{re.escape(delimiter)}(?=(?:[^']*'[^']*')*[^']*$)")
    rows = [[cell.strip() for cell in outside.split(line)] for line in lines]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return False
    columns = [[c for c in column if c] for column in zip(*rows)]
    quoted = [[re.fullmatch("'[^']*'", c) is not None for c in column] for column in columns]
    stray = any("'" in c for column, q in zip(columns, quoted) for c in column if not all(q))
    return not stray and any(q and all(q) for q in quoted)
