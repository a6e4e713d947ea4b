"""Excel workbooks: types, sheets, headers, and what is said when one cannot be read."""

import datetime
import sys
import zipfile
from pathlib import Path

import pytest

from pellucid.app import cli
from pellucid.data.io.read import read
from pellucid.errors import DataError

ORIGIN = datetime.datetime(1899, 12, 30)
NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
STYLES = {"date": 1, "stamp": 2, "time": 3, "long": 4}  # number formats 14, 22, 21, 46


def cell(place, value):
    """One cell as Excel writes it: numbers, with a style where they mean a time."""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str) and value.startswith("#"):
        return f'<c r="{place}" t="e"><v>{value}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{value}</t></is></c>'
    style = 0
    if isinstance(value, datetime.datetime):
        style, value = STYLES["stamp"], (value - ORIGIN) / datetime.timedelta(days=1)
    elif isinstance(value, datetime.date):
        style, value = STYLES["date"], (value - ORIGIN.date()).days
    elif isinstance(value, datetime.time):
        style, value = STYLES["time"], (value.hour * 60 + value.minute) / 1440
    elif isinstance(value, datetime.timedelta):
        style, value = STYLES["long"], value / datetime.timedelta(days=1)
    return f'<c r="{place}" s="{style}"><v>{value!r}</v></c>'


def sheet(rows, merged=(), top=1, left="A"):
    lines = []
    for i, row in enumerate(rows, top):
        cells = [cell(f"{chr(ord(left) + j)}{i}", v) for j, v in enumerate(row) if v is not None]
        lines.append(f'<row r="{i}">{"".join(cells)}</row>')
    ranges = "".join(f'<mergeCell ref="{place}"/>' for place in merged)
    merge = f"<mergeCells>{ranges}</mergeCells>" if merged else ""
    return (
        f'<worksheet xmlns="{NAMESPACE}"><sheetData>{"".join(lines)}</sheetData>{merge}</worksheet>'
    )


def book(path, sheets, hidden=()):
    """Write the smallest workbook that holds these sheets."""
    names = list(sheets)
    kind = f"{RELATIONS}/worksheet"
    numbers = range(1, len(names) + 1)
    entries = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"'
        f"{' state=' + chr(34) + 'hidden' + chr(34) if name in hidden else ''}/>"
        for i, name in zip(numbers, names)
    )
    links = "".join(
        f'<Relationship Id="r{i}" Type="{kind}" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 21, 46))
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="a" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{NAMESPACE}" xmlns:r="{RELATIONS}">'
        f"<sheets>{entries}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">{links}'
        f'<Relationship Id="s" Type="{RELATIONS}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{NAMESPACE}"><cellXfs>{formats}</cellXfs></styleSheet>',
    }
    files |= {f"xl/worksheets/sheet{i}.xml": sheets[name] for i, name in zip(numbers, names)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def noted(source, **options):
    remarks = []
    return read(source, note=remarks.append, **options), remarks


DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12)
ROWS = [
    ["name", "n", "x", "day", "at", "clock", "long", "ok", 1960, "zip", "mixed"],
    ["a", 1, 1.5, DAY, NOON, datetime.time(6), datetime.timedelta(hours=30), True, 7, "01", "x"],
    [None] * 11,
    ["NA", None, 2, None, DAY, datetime.time(12), None, False, "#DIV/0!", "02", 3],
]


def test_types(tmp_path):
    path = book(tmp_path / "a.xlsx", {"Data": sheet(ROWS, top=3, left="C")})
    table, remarks = noted(path)
    assert remarks == []
    assert table.to_pydict() == {
        "name": ["a", None], "n": [1, None], "x": [1.5, 2.0], "day": [DAY, None],
        "at": [NOON, datetime.datetime(2020, 2, 29)],
        "clock": [datetime.timedelta(hours=6), datetime.timedelta(hours=12)],
        "long": [datetime.timedelta(hours=30), None],
        "ok": [True, False], "1960": [7, None], "zip": ["01", "02"], "mixed": ["x", "3"],
    }  # fmt: skip
    assert [str(t) for t in table.schema.types[:4]] == ["string", "int64", "double", "date32[day]"]
    assert read(path.read_bytes()).equals(table)
    assert read(path, columns=["x", "n"], text=["n"]).to_pydict() == {
        "x": [1.5, 2],
        "n": ["1", None],
    }
    assert read(path, header=False).column_names[:2] == ["column_1", "column_2"]


def test_numbers_written_as_text_are_noted(tmp_path):
    rows = [["a"], ["1.234,50 €"], ["2,5 €"]]
    table, (remark,) = noted(book(tmp_path / "a.xlsx", {"S": sheet(rows)}))
    assert table["a"].to_pylist() == [1234.5, 2.5] and "decimal comma" in remark


def test_sheets(tmp_path):
    small = {name: sheet([["a"], [i]]) for i, name in enumerate(("old", "first", "my data"))}
    path = book(tmp_path / "a.xlsx", small, hidden=("old",))
    table, (remark,) = noted(path)
    assert table["a"].to_pylist() == [1]
    assert "has 2 sheets: 'first' is read" in remark and remark.endswith("a.xlsx#my data'")
    for name, value in (("my data", 2), ("old", 0)):
        table, remarks = noted(f"{path}#{name}")
        assert table["a"].to_pylist() == [value] and remarks == []
    with pytest.raises(DataError, match=r"no sheet 'frist'\. Did you mean 'first'\? Sheets: 'old'"):
        read(f"{path}#frist")
    with pytest.raises(DataError, match=r"There is no file .*b\.xlsx\. Did you mean 'a\.xlsx'"):
        read(tmp_path / "b.xlsx#first")
    named = tmp_path / "c#1.csv"  # a file of that name goes first
    named.write_text("a,b\n1,2\n")
    assert read(named).num_rows == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (sheet([]), "sheet 'S' of .* is empty"),
        (sheet([["a", "b"]]), "has columns but no rows"),
        (sheet([["a", "a"], [1, 2]]), "2 columns named 'a'"),
        (sheet([["size", None, "y"], [1, 2, 3]], ["A1:B1"]), r"cells A1:B1 of the first row are merged"),
        (sheet([["Sales", None, None], ["a", "b", "c"], [1, 2, 3]]), r"row 1 has 1 names for 3 .*title"),
    ],
)  # fmt: skip
def test_faults(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read(book(tmp_path / "a.xlsx", {"S": content}))


def test_names_for_half_of_the_columns_are_enough(tmp_path):
    rows = [["a", None, "b", None], [1, 2, 3, 4], [5, 6, 7, 8]]
    table, _ = noted(book(tmp_path / "a.xlsx", {"S": sheet(rows)}))
    assert table.num_rows == 2


def test_merged_cells_below_the_header_are_noted(tmp_path):
    rows = [["a", "b"], ["x", 1], [None, 2]]
    table, (remark,) = noted(book(tmp_path / "a.xlsx", {"S": sheet(rows, ["A2:A3"])}))
    assert table["a"].to_pylist() == ["x", None] and "merged cells (A2:A3)" in remark


def test_without_the_reader_the_error_says_what_to_install(tmp_path, monkeypatch):
    path = book(tmp_path / "a.xlsx", {"S": sheet([["a"], [1]])})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DataError, match=r"pip install 'pellucid\[excel\]'"):
        read(path)


def test_commands_take_a_sheet(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [["x", "y"], *([i % 5 + i / 99, "ab"[i % 5 > 2]] for i in range(30))]
    book("t.xlsx", {"notes": sheet([["text"], ["hello"]]), "data": sheet(rows)})
    assert cli.run(["check", "t.xlsx#data", "-t", "y"]) != 2
    assert "30 rows" in capsys.readouterr().out
    assert cli.run(["compare", "t.xlsx#data", "-t", "y", "--plan"]) == 0


def test_old_workbooks_are_read():
    import statsmodels.datasets.macrodata as macrodata

    path = next(Path(macrodata.__file__).parent.rglob("macrodata.xls/*.xls"), None)
    if path is None:
        pytest.skip("this statsmodels ships no .xls file")
    table, (remark,) = noted(path)
    assert "3 sheets: 'README' is read" in remark and table.num_rows > 100
