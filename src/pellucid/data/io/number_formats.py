"""Cells written for people: $1,096.63, 1.096,63 EUR, 12.5%, (250.00), 05.02.2023, 2023/02/05.

A column of text becomes numbers or dates if all its cells can be read in one way only and are in
one unit; a note mentions it. Numbers are read with the decimal mark of the file; else, if a cell has
both marks or a unit, with the other one (119.444,44 in a file of decimal points); else each by
itself, if none of them could mean two numbers (1.234 could). Invariant: cells that could mean two
things (02/05/2023) stay text, and a note explains how to write them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_CURRENCIES = "[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
_UNITS = {"", "%", *"$€£¥₹", "USD", "EUR", "GBP", "CHF", "JPY"}
_INFINITE = "[iI]nf(inity)?"  # a number to the parser, refused later with its place
_DATES = {  # how it is read -> what it looks like: day first after points, year first after slashes
    "%d.%m.%Y": r"^\s*(?P<day>\d{1,2})\.\d{1,2}\.\d{4}\s*$",
    "%Y/%m/%d": r"^\s*\d{4}/\d{1,2}/(?P<day>\d{1,2})\s*$",
}
_UNCLEAR_DATE = r"^\s*\d{1,2}[/.-](\d{1,2}|[A-Za-z]{3})[/.-](\d{4}|\d\d)(\s.*)?$"
_NUMBER = r"^\s*-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_AMBIGUOUS = r"[1-9]\d{0,2}[.,]\d{3}"  # thousands to some, a fraction to others
_BOTH_MARKS = r"\d[.,].*[.,]\d"
_EACH = "each"  # every cell by its own decimal mark
_WRITTEN = {
    ".": "numbers with a decimal point",
    ",": "numbers with a decimal comma",
    _EACH: "numbers, some with a decimal comma and some with a decimal point",
}
_FIRST = 50  # cells that settle most columns


def _number(decimal: str) -> str:
    """Numbers with this decimal mark; whole ones with leading zeros are identifiers."""
    mark, group = (r"\.", ",") if decimal == "." else (",", r"\.")
    grouped = rf"[1-9]\d{{0,2}}({group}\d{{3}})+"
    fraction = rf"(\d+|{grouped}){mark}\d*|{mark}\d+"
    return rf"({_INFINITE}|0|[1-9]\d*|{grouped}|{fraction}|(\d+|{fraction})[eE][+-]?\d+)"


def _amount(number: str) -> str:
    unit = rf"({_CURRENCIES}|%)?"
    signed = rf"[+\-−]?\s*{unit}\s*[+\-−]?\s*{number}\s*{unit}"
    return rf"^\s*({signed}|\(\s*{unit}\s*{number}\s*{unit}\s*\))\s*$"


@dataclass(frozen=True)
class Reading:
    """How a column of text is read: what its cells are, and the function that converts them."""

    kind: str
    convert: Callable[[Any], Any]

    def example(self, column: Any) -> str:
        """What the cells are, with the first cell and its value."""
        first = column.drop_null().slice(0, 1)
        return f"{self.kind}: {first[0].as_py().strip()!r} is {self.convert(first)[0].as_py()}"


class Evidence:
    """What the cells of a column of text, seen in parts, can be read as.

    `decimal` is the decimal mark of the file.
    """

    def __init__(self, decimal: str) -> None:
        self.decimal = decimal
        self.marks = [decimal, "," if decimal == "." else ".", _EACH]
        self.dates = sorted(_DATES)
        self.units: set[str] = set()
        self.certain = False  # whether a cell can be nothing but a number
        self.seen = False

    def see(self, cells: Any) -> bool:
        """Take some cells into account; False if the column stays text whatever follows."""
        part = cells.drop_null()
        if not len(part) or not (self.marks or self.dates):
            return bool(self.marks or self.dates)
        self.seen = True
        self.marks = [mark for mark in self.marks if _all_amounts(part, mark)]
        self.dates = [form for form in self.dates if _all_dates(part, form)]
        if not self.marks and not self.dates:
            return False
        bare = pc.replace_substring_regex(part, r"\d([eE][+-]?\d+)?|[.,()+\-−\s]", "")
        self.units |= {"" if re.match("[iI]", unit) else unit for unit in bare.unique().to_pylist()}
        both = pc.any(pc.match_substring_regex(part, _BOTH_MARKS)).as_py()
        self.certain = self.certain or both or self.units != {""}
        return True

    def reading(self) -> Reading | None:
        """The reading as numbers or dates; None if the column stays text."""
        marks, dates = self.marks, self.dates
        if not self.seen or not (marks or dates):
            return None
        if marks and (marks[0] == self.decimal or self.certain) and _is_one_unit(self.units):
            kind = "numbers" if marks[0] == self.decimal else _WRITTEN[marks[0]]
            return Reading(kind, lambda cells: _numbers(cells, marks[0]))
        return Reading("dates", lambda cells: _dates(cells, dates[0])) if dates else None


def reading_of(column: Any, decimal: str) -> Reading | None:
    """The reading of a column of text as numbers or dates; None if it stays text."""
    evidence = Evidence(decimal)
    if evidence.see(column.drop_null().slice(0, _FIRST)):
        evidence.see(column.drop_null().slice(_FIRST))
    return evidence.reading()


def _is_one_unit(units: set[str]) -> bool:
    """Amounts may lack their currency, but 5 beside 5% could be either."""
    return units <= _UNITS and not units >= {"", "%"} and len(units - {""}) <= 1


def _all_dates(part: Any, form: str) -> bool:
    if not pc.all(pc.match_substring_regex(part, _DATES[form])).as_py():
        return False
    read = pc.strptime(pc.utf8_trim_whitespace(part), form, "s", error_is_null=True)
    written = pc.struct_field(pc.extract_regex(part, _DATES[form]), "day").cast(pa.int64())
    # February 30 is read as a day of March.
    return read.null_count == 0 and pc.all(pc.equal(pc.day(read), written)).as_py()


def _all_amounts(part: Any, mark: str) -> bool:
    """Whether all cells are amounts with this decimal mark."""
    if mark != _EACH:
        return pc.all(pc.match_substring_regex(part, _amount(_number(mark)))).as_py()
    fits = pc.match_substring_regex(part, _amount(f"({_number('.')}|{_number(',')})"))
    clear = pc.invert(pc.match_substring_regex(part, _amount(_AMBIGUOUS)))
    return pc.all(pc.and_(fits, clear)).as_py()


def _numbers(column: Any, decimal: str) -> Any:
    if decimal == _EACH:
        point = pc.match_substring_regex(column, _amount(_number(".")))
        nothing = pa.scalar(None, pa.string())
        parts = (pc.if_else(point, column, nothing), pc.if_else(point, nothing, column))
        return pc.coalesce(_numbers(parts[0], "."), _numbers(parts[1], ","))
    cells = pc.replace_substring_regex(column, rf"{_CURRENCIES}|[%\s]", "")
    negative = pc.match_substring_regex(cells, r"^[\-−(]")
    size = pc.replace_substring_regex(cells, r"^[+\-−]|[()]", "")
    size = pc.replace_substring(size, "," if decimal == "." else ".", "")
    size = pc.replace_substring(size, ",", ".").cast(pa.float64())
    return pc.if_else(negative, pc.negate(size), size)


def _dates(column: Any, form: str) -> Any:
    return pc.strptime(pc.utf8_trim_whitespace(column), form, "s").cast(pa.date32())


def near_numbers(table: Any, note: Callable[[str], None], name: str, text: Any = ()) -> None:
    """A note for each text column that is almost numbers or dates."""
    for field in table.schema:
        where = f"column {field.name!r} of {name}"
        if field.type == pa.float64():
            _note_long_identifiers(table.column(field.name), note, where)
        if pa.types.is_string(field.type) and field.name not in text:
            _nearly(table.column(field.name), note, where)


def _nearly(column: Any, note: Callable[[str], None], where: str) -> None:
    sample = column.slice(0, 2000).drop_null()
    if not len(sample):
        return
    if pc.all(pc.match_substring_regex(sample, _UNCLEAR_DATE)).as_py():
        note(
            f"{where} is text: {sample[0].as_py()!r} and similar cells are ambiguous as dates. Write "
            "them as 2023-12-31 if they are to be dates."
        )
        return
    amount = _amount(f"({_number('.')}|{_number(',')})")
    amounts = pc.match_substring_regex(sample, amount)
    looks = pc.match_substring_regex(sample, _NUMBER)
    written = sample.filter(pc.and_(amounts, pc.invert(looks)))
    # A mark of grouping or of a unit, not only digits with leading zeros.
    marked = len(written) and pc.any(pc.match_substring_regex(written, r"[^\d\s]")).as_py()
    if marked and pc.all(pc.or_(amounts, looks)).as_py():
        note(
            f"{where} is text: its numbers are written in several ways or units "
            f"({written[0].as_py()!r}). Write them as 1234.5 if they are to be numbers."
        )
        return
    if len(sample) < 10 or pc.sum(looks).as_py() < 0.9 * len(sample):
        return
    odd = column.filter(pc.invert(pc.match_substring_regex(column, _NUMBER))).drop_null()
    if not len(odd) or len(odd) > 0.1 * len(column):
        return
    shown = ", ".join(repr(cell) for cell in odd.unique().to_pylist()[:3])
    note(
        f"{where} is text because {len(odd)} of its {len(column)} cells are not numbers ({shown}). "
        "If they mean missing, make them empty (in Python: add them to `missing`)."
    )


def _note_long_identifiers(column: Any, note: Callable[[str], None], where: str) -> None:
    """A note if all cells are numbers of at least 19 digits, which are most likely identifiers."""
    first = column[0].as_py() if len(column) else None
    if first is not None and abs(first) < 2.0**63:  # most columns, without a pass over the cells
        return
    size = pc.min_max(pc.abs(column)).as_py()
    if (size["min"] or 0.0) >= 2.0**63 and size["max"] < 1e60:
        digits = len(str(int(size["max"])))
        note(
            f"{where} holds numbers of {digits} digits, but a float keeps 16: different ones "
            "may look alike. If they name things, read them as text."
        )
