"""A sheet of an Excel workbook as an Arrow table, through python-calamine.

The first row that is not empty holds the names; rows and columns that are empty are skipped.
`file.xlsx#Sheet` names a sheet, otherwise the first visible one is read. Cells have the types that
Excel gives them: dates stay dates, times of day and durations are durations, and the result of a
formula is what Excel stored. A column of several types is text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from shlex import quote
from typing import Any

import pyarrow as pa

from pellucid.data.io.delimited import as_meant, column_names
from pellucid.data.io.dialect import Dialect
from pellucid.data.io.source import Source, did_you_mean, selected
from pellucid.errors import DataError

_LEAST_NAMED = 0.5  # of the columns, in the first row: fewer names are a title


def read_excel(
    source: Source,
    columns: Sequence[str] | None,
    note: Callable[[str], None],
    dialect: Dialect,
    text: Sequence[str] = (),
) -> Any:
    """The table of one sheet; `dialect` defines missing values and whether there is a header."""
    sheet = _sheet(source, note)
    where = f"sheet {sheet.name!r} of {source.name}"
    rows = [row for row in sheet.to_python(skip_empty_area=True) if any(c != "" for c in row)]
    if not rows:
        raise DataError(f"{where} is empty: there is no table in it.")
    _note_merged(sheet, where, note)
    names = [f"column_{j + 1}" for j in range(len(rows[0]))]
    if dialect.header:
        _refuse_title(sheet, rows, where)
        names = list(column_names(source, [_text(cell) for cell in rows.pop(0)], note))
    wanted = selected(source, names, columns)
    missing = set(dialect.missing)
    data = {}
    for name in wanted:
        cells = [row[names.index(name)] for row in rows]
        cells = [None if isinstance(c, str) and c.strip() in missing else c for c in cells]
        data[name] = _column(cells, name in text)
    return as_meant(source, dialect, pa.table(data), text, note)


def _sheet(source: Source, note: Callable[[str], None]) -> Any:
    """The sheet that the user names, or the first that is visible."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise DataError(
            f"{source.name} is an Excel workbook. To read it, install one more package: "
            "pip install 'pellucid[excel]'. Or save the sheet as CSV."
        ) from None
    try:
        book = calamine.CalamineWorkbook.from_object(io.BytesIO(source.content()))
    except calamine.PasswordError:
        raise DataError(f"{source.name} has a password. Save it without one.") from None
    except (calamine.CalamineError, calamine.ZipError, calamine.XmlError, OSError) as error:
        raise source.broken(f"it cannot be opened as an Excel workbook ({error})") from None
    kinds = calamine.SheetTypeEnum.WorkSheet, calamine.SheetVisibleEnum.Visible
    shown = [s.name for s in book.sheets_metadata if (s.typ, s.visible) == kinds]
    sheets = [s.name for s in book.sheets_metadata if s.typ == kinds[0]]
    name = source.sheet or next(iter([*shown, *sheets]), "")
    if name not in sheets:
        hint = did_you_mean(name, sheets)
        raise DataError(
            f"{source.name} has no sheet {name!r}.{hint} Sheets: {', '.join(map(repr, sheets))}."
        )
    if source.sheet is None and len(shown) > 1:
        note(
            f"{source.name} has {len(shown)} sheets: {name!r} is read. For another write "
            f"{quote(source.name + '#' + next(other for other in shown if other != name))}"
        )
    return book.get_sheet_by_name(name)


def _refuse_title(sheet: Any, rows: list[list[Any]], where: str) -> None:
    """The first row must name the columns, one name each."""
    first = sheet.start[0]
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        if top <= first <= bottom and right > left:
            raise DataError(
                f"{where}: the cells {_place(top, left)}:{_place(bottom, right)} of the first row are "
                "merged, so they name no single columns. Give every column a name of its own, and "
                "delete titles above them."
            )
    named = sum(cell != "" for cell in rows[0])
    if named < _LEAST_NAMED * len(rows[0]):
        raise DataError(
            f"{where}: row {first + 1} has {named} names for {len(rows[0])} columns: it looks like a "
            "title. Delete what stands above the names of the columns."
        )


def _note_merged(sheet: Any, where: str, note: Callable[[str], None]) -> None:
    body = [pair for pair in sheet.merged_cell_ranges or () if pair[0][0] > sheet.start[0]]
    if body:
        (top, left), (bottom, right) = body[0]
        more = f" and {len(body) - 1} more" if len(body) > 1 else ""
        note(
            f"{where} has merged cells ({_place(top, left)}:{_place(bottom, right)}{more}): only the "
            "first of them has the value, the others are missing."
        )


def _place(row: int, column: int) -> str:
    """A cell as Excel calls it."""
    letters = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return f"{letters}{row + 1}"


# Cells


def _column(cells: list[Any], as_text: bool) -> Any:
    present = [cell for cell in cells if cell is not None]
    types = {str} if as_text else {type(cell) for cell in present}
    if types <= {int, float}:
        whole = present and all(float(c).is_integer() and abs(c) < 2**53 for c in present)
        cells = [None if c is None else int(c) if whole else float(c) for c in cells]
        return pa.array(cells, pa.int64() if whole else pa.float64())
    if types == {bool}:
        return pa.array(cells, pa.bool_())
    if types == {date}:
        return pa.array(cells, pa.date32())
    if types <= {date, datetime}:
        return pa.array([_stamp(c) for c in cells], pa.timestamp("us"))
    if types <= {time, timedelta}:
        return pa.array([_duration(c) for c in cells], pa.duration("us"))
    return pa.array([None if c is None else _text(c) for c in cells], pa.string())


def _stamp(cell: Any) -> datetime | None:
    if cell is None or isinstance(cell, datetime):
        return cell
    return datetime(cell.year, cell.month, cell.day)


def _duration(cell: Any) -> timedelta | None:
    if not isinstance(cell, time):
        return cell
    return datetime.combine(date.min, cell) - datetime.min


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)
