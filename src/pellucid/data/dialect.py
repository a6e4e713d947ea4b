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

from pellucid.data.source import Source
from pellucid.errors import ParameterError

# What an empty cell looks like in the wild: the list of pandas, so that both read the same table.
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"),
    *("NULL", "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)

_SEPARATED = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_BOMS = {  # the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?')  # as spreadsheets write above the header
_UNIT = r"\s*([$€£¥₹%]|[A-Z]{3})?\s*"
_DECIMAL_COMMA = re.compile(rf"[+-]?{_UNIT}(\d+|\d{{1,3}}(\.\d{{3}})+),\d+([eE][+-]?\d+)?{_UNIT}")
_DECIMAL_POINT = re.compile(rf"[+-]?{_UNIT}(\d+|\d{{1,3}}(,\d{{3}})+)\.\d+([eE][+-]?\d+)?{_UNIT}")


@dataclass(frozen=True)
class Dialect:
    """Everything a parser must know; `encoding` is a Python codec name."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    missing: tuple[str, ...] = MISSING

    @property
    def is_utf8(self) -> bool:
        """True if the bytes can be parsed without transcoding."""
        return codecs.lookup(self.encoding).name in ("utf-8", "ascii")

    def markers(self) -> list[str]:
        """The cells that mean missing: each marker, also after one blank (`1, NA, 3`)."""
        return [*self.missing, *(f" {marker}" for marker in self.missing)]


def settle(
    source: Source,
    *,
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
        encoding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), None)
        encoding = encoding or _sniff_width(head)
        if encoding != "utf-8":
            note(f"{source.name} is written in {encoding[:6].upper()}, as its first bytes say.")
    lines = _complete_lines(head.decode(encoding, errors="replace"))
    stated = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    if stated:
        delimiter, lines = delimiter or stated.group(1), lines[1:]
    if delimiter is None:
        delimiter = sniff_delimiter(lines)
        if delimiter != ",":
            note(f"{source.name} is {_SEPARATED[delimiter]}-separated.")
    if decimal is None:
        decimal = _sniff_decimal(lines, delimiter)
        if decimal == ",":
            note(f"{source.name} writes numbers with a decimal comma (3,14).")
    return Dialect(delimiter, decimal, encoding, header, tuple(missing))


def _sniff_width(head: bytes) -> str:
    """UTF-32 or UTF-16 without its mark: of plain words and numbers most other bytes are 0."""
    first = head[:400]
    if first.count(0) > 0.7 * len(first):
        return "utf-32-be" if first[:1] == b"\0" else "utf-32-le"
    for name, zeros in (("utf-16-le", first[1::2]), ("utf-16-be", first[::2])):
        if zeros.count(0) > 0.4 * len(first):
            return name
    return "utf-8"


def sniff_delimiter(lines: Sequence[str]) -> str:
    """The separator that cuts all lines into the same number (> 1) of cells, most cells first.

    If none does, the one most frequent in the header: the fault is then in a later line, and the
    parser names it.
    """
    best, most = ",", 1
    for candidate in _SEPARATED:
        widths = {len(row) for row in _rows(lines, candidate) if row}
        if len(widths) == 1 and max(widths) > most:
            best, most = candidate, max(widths)
    if most == 1 and lines:
        return max(_SEPARATED, key=lines[0].count)  # the first of equals: the comma
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


def _complete_lines(text: str) -> list[str]:
    lines = text.lstrip("\ufeff").splitlines()
    if len(text) >= 32_768 and len(lines) > 1:
        lines = lines[:-1]  # perhaps cut by the end of the sample
    return [line for line in lines if line.strip()][:50]


def _rows(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return []


def _sniff_decimal(lines: Sequence[str], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in _rows(lines[1:], delimiter) for cell in row]
    comma = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    point = any(_DECIMAL_POINT.fullmatch(cell) for cell in cells)
    return "," if comma and not point else "."
