"""How a delimited text is written: separator, decimal mark, encoding, markers of missing cells.

What the user states is taken as it is; what is left open is found in the first 64 KB. Every
finding that differs from plain comma-separated UTF-8 becomes a note.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pellucid.data.io.blank_separated import looks_blank_separated, single_quoted
from pellucid.data.io.encodings import find_encoding
from pellucid.data.io.source import Source
from pellucid.errors import ParameterError

# What an empty cell looks like in the wild: the list of pandas, so that both read the same table.
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)

_SEPARATED = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "blank"}
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?')  # as spreadsheets write above the header
_UNIT = r"\s*([$€£¥₹%]|[A-Z]{3})?\s*"
_DECIMAL_COMMA = re.compile(rf"[+-]?{_UNIT}(\d+|\d{{1,3}}(\.\d{{3}})+),\d+([eE][+-]?\d+)?{_UNIT}")
_DECIMAL_POINT = re.compile(rf"[+-]?{_UNIT}(\d+|\d{{1,3}}(,\d{{3}})+)\.\d+([eE][+-]?\d+)?{_UNIT}")


@dataclass(frozen=True)
class Dialect:
    """Everything a parser needs; `encoding` is a Python codec name."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    missing: tuple[str, ...] = MISSING
    quote: str = '"'
    blanks: bool = False  # cells stood apart by blanks; `blanks.rewritten` has put tabs there

    @property
    def is_utf8(self) -> bool:
        """True if the bytes can be parsed without transcoding."""
        return codecs.lookup(self.encoding).name in ("utf-8", "ascii")

    def markers(self) -> list[str]:
        """The cells that mean missing: each marker, also after one blank (`1, NA, 3`)."""
        return [*self.missing, *(f" {marker}" for marker in self.missing)]


def settle(
    source: Source,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    header: bool,
    missing: Sequence[str],
    note: Callable[[str], None],
) -> Dialect:
    """The dialect of `source`: the stated parts checked, the open parts found."""
    _check(delimiter, decimal, encoding, missing)
    head = source.head()
    if encoding is None:
        encoding = find_encoding(source, head, note)
    lines = complete_lines(head.decode(encoding, errors="replace"))
    stated = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    if stated:
        delimiter, lines = delimiter or stated.group(1), lines[1:]
    quote = "'" if single_quoted(lines) else '"'
    if delimiter is None:
        delimiter = sniff_delimiter(lines, quote)
        if delimiter != ",":
            note(f"{source.name} is {_SEPARATED[delimiter]}-separated.")
    if decimal is None:
        decimal = _sniff_decimal(lines, delimiter, quote)
        if decimal == ",":
            note(f"{source.name} writes numbers with a decimal comma (3,14).")
    blanks = delimiter == " "
    return Dialect(delimiter, decimal, encoding, header, tuple(missing), quote, blanks)


def sniff_delimiter(lines: Sequence[str], quote: str = '"') -> str:
    """The separator that cuts all lines into the same number (> 1) of cells, most cells first.

    A blank stands for one or more of them, and counts only where no other character will do. If
    none does, the one most frequent in the header: the fault is then in a later line, and the
    parser names it.
    """
    best, most = ",", 1
    for candidate in ",;\t|":
        widths = {len(row) for row in _rows(lines, candidate, quote) if row}
        if len(widths) == 1 and max(widths) > most:
            best, most = candidate, max(widths)
    if most == 1 and looks_blank_separated(lines):
        return " "
    if most == 1 and lines:
        return max(",;\t|", key=lines[0].count)  # the first of equals: the comma
    return best


def _check(
    delimiter: str | None, decimal: str | None, encoding: str | None, missing: Sequence[str]
) -> None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ParameterError(f"delimiter must be one character, not {delimiter!r}.")
    if decimal not in (None, ".", ",") or (decimal == "," and delimiter == ","):
        raise ParameterError(
            f"decimal must be '.' or ',' and differ from the delimiter, not {decimal!r}."
        )
    if isinstance(missing, str) or not all(isinstance(marker, str) for marker in missing):
        raise ParameterError(f"missing must be a list of strings, not {missing!r}.")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ParameterError(
                f"There is no encoding {encoding!r}. Usual ones: utf-8, cp1252 (Windows), "
                "latin-1, utf-16."
            ) from None


def complete_lines(text: str) -> list[str]:
    lines = text.lstrip("\ufeff").splitlines()
    if len(text) >= 32_768 and len(lines) > 1:
        lines = lines[:-1]  # perhaps cut by the end of the sample
    return [line for line in lines if line.strip()][:50]


def _rows(lines: Sequence[str], delimiter: str, quote: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter, quotechar=quote))
    except csv.Error:
        return []


def _sniff_decimal(lines: Sequence[str], delimiter: str, quote: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in _rows(lines[1:], delimiter, quote) for cell in row]
    comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    point = any(_DECIMAL_POINT.fullmatch(cell) for cell in cells)
    return "," if comma and not point else "."
