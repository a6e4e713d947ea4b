"""Cells written for people: $1,096.63, 1.096,63 EUR, 12.5%, (250.00), 05.02.2023, 2023/02/05.

A column of text becomes numbers or dates if all its cells can be read in one way only and are in
one unit; a note mentions it. Numbers are read with the decimal mark of the file; else, if a cell has
both marks or a unit, with the other one (119.444,44 in a file of decimal points); else each by
itself, if none of them could mean two numbers (1.234 could). Invariant: cells that could mean two
things (02/05/2023) stay text, and a note explains how to write them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.arrow_numpy import to_arrow

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


class ColumnFormats:
    """How the text columns of one table can be read, narrowed by each part of them that is seen."""

    def __init__(self, names: Any, decimal: str, missing: Any = ()) -> None:
        self._decimal = decimal
        self._missing = to_arrow(list(missing)).cast(pa.string())
        marks = [decimal, "," if decimal == "." else ".", _EACH]
        self._marks: dict[str, list[str]] = {name: list(marks) for name in names}
        self._certain: set[str] = set()  # columns with a cell that can be nothing but a number
        self._units: dict[str, set[str] | None] = {name: set() for name in names}
        self._dates: dict[str, set[str]] = {name: set(_DATES) for name in names}
        self._example: dict[str, str] = {}

    def see(self, name: str, column: Any) -> None:
        """Let the cells of one more part of column `name`, as text, rule out readings."""
        cells = column.drop_null()
        cells = cells.filter(pc.invert(pc.is_in(cells, value_set=self._missing)))
        for part in (cells.slice(0, _FIRST), cells.slice(_FIRST)):
            if len(part) and self._open(name):
                self._example.setdefault(name, part[0].as_py())
                self._see_amounts(name, part)
                self._dates[name] = {f for f in self._dates[name] if _all_dates(part, f)}

    def see_numbers(self, name: str, column: Any = None) -> None:
        """A part of column `name` holds plain numbers only; `column` unless they are whole."""
        units = self._units[name]
        self._units[name] = None if units is None else units | {""}
        self._dates[name] = set()
        others = [mark for mark in self._marks[name] if mark != self._decimal]
        if column is not None and others and units is not None:
            cells = column.drop_null()
            cells = cells.filter(pc.invert(pc.is_in(cells, value_set=self._missing)))
            gone = [mark for mark in others if not _all_amounts(cells, mark)]
            self._marks[name] = [mark for mark in self._marks[name] if mark not in gone]

    def _open(self, name: str) -> bool:
        return self._units[name] is not None or bool(self._dates[name])

    def _see_amounts(self, name: str, part: Any) -> None:
        known = self._units[name]
        self._marks[name] = [mark for mark in self._marks[name] if _all_amounts(part, mark)]
        if known is None or not self._marks[name]:
            self._units[name] = None
            return
        bare = pc.replace_substring_regex(part, r"\d([eE][+-]?\d+)?|[.,()+\-−\s]", "")
        found = {"" if unit.startswith(("i", "I")) else unit for unit in bare.unique().to_pylist()}
        self._units[name] = known | found
        if found != {""} or pc.any(pc.match_substring_regex(part, _BOTH_MARKS)).as_py():
            self._certain.add(name)

    def _mark(self, name: str) -> str | None:
        """The decimal mark by which column `name` is read; None if there is none."""
        marks = self._marks[name]
        return marks[0] if marks and (marks[0] == self._decimal or name in self._certain) else None

    def _unit(self, name: str) -> str | None:
        """The one unit of a column of numbers; None if there are several, or no numbers."""
        units = self._units[name] if self._mark(name) else None
        if units is None or not units <= _UNITS or units >= {"", "%"} or len(units - {""}) > 1:
            return None  # amounts may lack their currency, but 5 beside 5% could be either
        return max(units)

    def reading(self, name: str) -> Callable[[Any], Any] | None:
        """What turns column `name` into numbers or dates; None if it stays text."""
        if name not in self._example:
            return None
        if self._unit(name) is not None:
            return lambda column: _numbers(column, self._mark(name), self._missing)
        if self._dates[name]:
            return lambda column: _dates(column, min(self._dates[name]), self._missing)
        return None

    def leave(self, names: Any) -> None:
        """Columns that are not text, or are to stay text."""
        for name in names:
            self._example.pop(name, None)

    def convert(self, table: Any) -> Any:
        """The table, or a part of it, with every column in its reading."""
        for name in self._example:
            turn, position = self.reading(name), table.schema.get_field_index(name)
            if turn is not None:
                table = table.set_column(position, name, turn(table.column(position)))
        return table

    def notes(self, table_name: str) -> list[str]:
        """One remark for each column that is not read as it is written."""
        out = []
        for name, example in self._example.items():
            turn = self.reading(name)
            if turn is None:
                continue
            value = turn(to_arrow([example]))[0].as_py()
            mark = self._mark(name)
            kind = "numbers" if mark == self._decimal else _WRITTEN[mark or _EACH]
            kind = "dates" if self._unit(name) is None else kind
            out.append(
                f"column {name!r} of {table_name} is read as {kind}: {example.strip()!r} is {value}."
            )
        return out


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


def _numbers(column: Any, decimal: str | None, missing: Any) -> Any:
    if decimal == _EACH:
        point = pc.match_substring_regex(column, _amount(_number(".")))
        nothing = pa.scalar(None, pa.string())
        parts = (pc.if_else(point, column, nothing), pc.if_else(point, nothing, column))
        return pc.coalesce(_numbers(parts[0], ".", missing), _numbers(parts[1], ",", missing))
    cells = pc.replace_substring_regex(_without(column, missing), rf"{_CURRENCIES}|[%\s]", "")
    negative = pc.match_substring_regex(cells, r"^[\-−(]")
    size = pc.replace_substring_regex(cells, r"^[+\-−]|[()]", "")
    size = pc.replace_substring(size, "," if decimal == "." else ".", "")
    size = pc.replace_substring(size, ",", ".").cast(pa.float64())
    return pc.if_else(negative, pc.negate(size), size)


def _dates(column: Any, form: str, missing: Any) -> Any:
    cells = pc.utf8_trim_whitespace(_without(column, missing))
    return pc.strptime(cells, form, "s").cast(pa.date32())


def _without(column: Any, missing: Any) -> Any:
    absent = pc.is_in(column, value_set=missing)
    return pc.if_else(absent, pa.scalar(None, pa.string()), column)


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
    if len(written) and pc.all(pc.or_(amounts, looks)).as_py() and _marked(written):
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


def _marked(cells: Any) -> bool:
    """Whether a cell has a mark of grouping or of a unit, not only digits with leading zeros."""
    return bool(pc.any(pc.match_substring_regex(cells, r"[^\d\s]")).as_py())


def _note_long_identifiers(column: Any, note: Callable[[str], None], where: str) -> None:
    """A note if all cells are numbers of at least 19 digits, which are most likely identifiers."""
    size = pc.min_max(pc.abs(column)).as_py()
    if (size["min"] or 0.0) >= 2.0**63 and size["max"] < 1e60:
        digits = len(str(int(size["max"])))
        note(
            f"{where} holds numbers of {digits} digits, but a float keeps 16: different ones "
            "may look alike. If they name things, read them as text."
        )
