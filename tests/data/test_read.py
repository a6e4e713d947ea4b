"""Tables read from files: types, notes, and an error for each way a file can be wrong."""

import codecs
import datetime
import gzip
import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from pellucid.data.io import delimited
from pellucid.data.io.dialect import sniff_delimiter
from pellucid.data.io.read import FORMATS, read
from pellucid.errors import DataConversionWarning, DataError, DataTypeError, ParameterError
from pellucid.linear_model import LinearRegression

PLAIN = b"name,size,weight\na,1,1.5\nb,2,\n"


def types(table):
    return {field.name: str(field.type) for field in table.schema}


def noted(source, **options):
    remarks = []
    return read(source, note=remarks.append, **options), remarks


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# Formats


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.txt"])
def test_csv(file, name):
    table = read(file(name, PLAIN))
    assert types(table) == {"name": "string", "size": "int64", "weight": "double"}
    assert table.to_pylist() == [
        {"name": "a", "size": 1, "weight": 1.5},
        {"name": "b", "size": 2, "weight": None},
    ]


def test_every_container_gives_the_same_table(file):
    table = read(PLAIN)
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(PLAIN)
    lines = b"\n".join(b'{"name":"%s","size":%d,"weight":%s}' % t for t in [
        (b"a", 1, b"1.5"), (b"b", 2, b"null"),
    ])  # fmt: skip
    parquet = io.BytesIO()
    pa.parquet.write_table(table, parquet)
    sources = {
        "a.csv.gz": gzip.compress(PLAIN),
        "a.csv.zst": packed.getvalue().to_pybytes(),
        "a.tsv": PLAIN.replace(b",", b"\t"),
        "a.tsv.gz": gzip.compress(PLAIN.replace(b",", b"\t")),
        "a.parquet": parquet.getvalue(),
        "a.jsonl": lines,
        "a.json": lines,
        "list.json": b"[" + lines.replace(b"\n", b",\n") + b"]",
        "bom.json": codecs.BOM_UTF8 + b" [" + lines.replace(b"\n", b",\n") + b"]",
        "a.jsonl.gz": gzip.compress(lines),
        "misnamed.csv": gzip.compress(PLAIN),
        "bom.csv": codecs.BOM_UTF8 + PLAIN,
        "crlf.csv": PLAIN.replace(b"\n", b"\r\n"),
        "cr.csv": PLAIN.replace(b"\n", b"\r"),
        "blank_lines.csv": b"\n\r\n" + PLAIN.replace(b"\nb", b"\n\nb"),
        "no_last_line_end.csv": PLAIN.rstrip(b"\n"),
    }
    for name, content in sources.items():
        path = file(name, content)
        assert read(path).equals(table), name
        assert read(str(path)).equals(table), name


def test_buffers_are_recognised_by_content():
    table = read(PLAIN)
    parquet = io.BytesIO()
    pa.parquet.write_table(table, parquet)
    parquet.seek(0)
    assert read(parquet).equals(table)
    assert read(io.StringIO(PLAIN.decode())).equals(table)
    assert read(b'{"x": 1}\n{"x": 2}').column("x").to_pylist() == [1, 2]


def test_nested_cells_of_json_are_refused_where_they_are_used():
    table = read(b'[{"a": {"b": 1}, "c": NaN, "d": 2}]')
    assert types(table) == {"a": "struct<b: int64>", "c": "double", "d": "int64"}
    with pytest.raises(DataTypeError, match=r"column 'a' .*spread it .*--drop a"):
        LinearRegression().fit(table, [1.0])


def test_standard_input():
    code = "import sys; from pellucid.data.io.read import read; print(read('-').column_names)"
    done = subprocess.run([sys.executable, "-c", code], input=PLAIN, capture_output=True)
    assert done.stdout.decode().strip() == "['name', 'size', 'weight']", done.stderr


def test_columns_are_chosen_by_name(file):
    path = file("a.csv", PLAIN)
    assert read(path, columns=["weight", "name"]).column_names == ["weight", "name"]
    with pytest.raises(DataError, match=r"no column 'wieght'. Did you mean 'weight'\? Columns: n"):
        read(path, columns=["wieght"])
    with pytest.raises(
        DataError, match=r"It has one column, named \"'OBS' 'GPA'\"\. If that is a w"
    ):
        read(b"'OBS' 'GPA'\nx\n", columns=["GPA"])
    wide = ",".join(f"c{i}" for i in range(30)).encode()
    with pytest.raises(DataError, match=r"c10, \.\.\., c29 \(30 in all\)\.$"):
        read(wide + b"\n", columns=["zzz"])
    with pytest.raises(ParameterError, match="list of names"):
        read(path, columns="name")


# Types

CELLS = {
    "bool": (["true", "False", "NA"], "bool"),
    "zero_one": (["0", "1", ""], "int64"),
    "int": (["1", "-2", ""], "int64"),
    "float": (["1", "2.5e3", "NaN"], "double"),
    "huge": (["123456789012345678901", "1", "2"], "double"),
    "zip": (["01234", "90210", ""], "string"),
    "zip_float": (["01234", "1.5", ""], "string"),
    "below_one": (["0.5", "0", "-0.25"], "double"),
    "date": (["2020-01-31", "", "1999-12-01"], "date32[day]"),
    "stamp": (["2020-01-31 10:00", "", "1999-12-01"], "timestamp[s]"),
    "fine_stamp": (["2020-01-31 10:00:00.25", "", "1999-12-01"], "timestamp[ns]"),
    "time": (["10:30", "", "00:00:01"], "duration[s]"),
    "text": (["x", "null", "1"], "string"),
    "mixed_bool": (["1", "true", ""], "string"),
    "empty": (["", "NA", "null"], "double"),
    "quoted": (['"1"', '"2"', '""'], "int64"),
    "unicode": (["größe", "数", "🐧"], "string"),
}


def column_file(cells):
    return ("x,y\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))).encode()


@pytest.mark.parametrize("case", CELLS)
def test_types(case):
    cells, expected = CELLS[case]
    assert types(read(column_file(cells)))["x"] == expected


@pytest.mark.parametrize("case", CELLS)
def test_types_do_not_depend_on_the_size_of_blocks(case, monkeypatch):
    cells, expected = CELLS[case]
    padding = ["", "", ""]
    for order in (cells, cells[::-1]):
        content = column_file([*padding, *order, *padding])
        whole = read(content)
        monkeypatch.setattr(delimited, "HEAD", 28)
        parts = read(content)
        monkeypatch.undo()
        assert parts.column("y").num_chunks > 1
        assert types(parts)["x"] == types(whole)["x"] == expected
        assert parts.combine_chunks().equals(whole.combine_chunks())


def test_values_survive():
    table = read(column_file(CELLS["time"][0]))
    assert table["x"].to_pylist()[0] == datetime.timedelta(hours=10, minutes=30)
    assert read(column_file(CELLS["zip"][0]))["x"].to_pylist() == ["01234", "90210", None]
    assert read(column_file(CELLS["empty"][0]))["x"].null_count == 3


def test_leading_zeros_are_found_anywhere():
    # Beyond the part of the file that one pass of the search holds.
    many = [str(i % 7 + 1) for i in range(60_000)]
    assert types(read(column_file(many)))["x"] == "int64"
    many[-1] = "07"
    table = read(column_file(many))
    assert types(table) == {"x": "string", "y": "int64"}
    assert table["x"][-1].as_py() == "07"


def test_missing_markers_can_be_changed():
    content = b"x,y\n?,NA\n1,b\n"
    assert types(read(content)) == {"x": "string", "y": "string"}
    table = read(content, missing=["", "?"])
    assert types(table) == {"x": "int64", "y": "string"}
    assert table["y"].to_pylist() == ["NA", "b"]
    assert read(b"x, y\n1, NA\n2, 3\n")[" y"].to_pylist() == [None, 3]
    with pytest.raises(ParameterError, match="list of strings"):
        read(content, missing="?")


def test_line_ends_inside_quotes(file):
    content = b'note,"two\nlines"\n' + b'"a\n\nb",1\n' * 1000
    table = read(file("a.csv", content))
    assert table.column_names == ["note", "two\nlines"]
    assert table.num_rows == 1000 and table["note"][999].as_py() == "a\n\nb"


# Dialects


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a,b", "1,2"], ","),
        (["a;b", "1,5;2,5"], ";"),
        (["a;b;c", "x,y;1;2", "z,w;3;4"], ";"),
        (["a\tb", "1\t2"], "\t"),
        (["a|b", "1|2"], "|"),
        (['"a;b",c', '"x;y",1'], ","),
        (["a", "1"], ","),
        (["a,b", "1,2,3"], ","),
        ([], ","),
    ],
)
def test_delimiter(lines, delimiter):
    assert sniff_delimiter(lines) == delimiter


def test_unusual_dialects_are_noted(file):
    table, remarks = noted(file("a.csv", "a;b\n1,5;x\n2,25;y\n"))
    assert table["a"].to_pylist() == [1.5, 2.25]
    assert "is semicolon-separated" in remarks[0] and "decimal comma" in remarks[1]
    table, remarks = noted(file("b.csv", "a;b\n1.5;x\n"))
    assert table["a"].to_pylist() == [1.5] and len(remarks) == 1
    table, remarks = noted(file("c.csv", "a\tb\n1\t2\n"))
    assert table.column_names == ["a", "b"] and "is tab-separated" in remarks[0]
    assert noted(b"a;b\n1;2\n", delimiter=";")[1] == []
    assert noted(PLAIN)[1] == []


def test_notes_are_warnings_by_default():
    with pytest.warns(DataConversionWarning, match="semicolon-separated") as caught:
        read(b"a;b\n1;2\n")
    assert caught[0].filename == __file__


def test_few_cells_that_are_no_numbers_are_noted():
    cells = [str(i) for i in range(1, 100)] + ["?"]
    table, remarks = noted(column_file(cells))
    assert types(table)["x"] == "string"
    assert len(remarks) == 1
    assert "column 'x'" in remarks[0] and "1 of its 100 cells" in remarks[0] and "'?'" in remarks[0]
    assert noted(column_file([f"0{i}" for i in range(20)]))[1] == []
    assert noted(column_file(["a"] * 50))[1] == []


def test_header():
    table, remarks = noted(b",x\n0,1\n")
    assert table.column_names == ["Unnamed: 0", "x"] and "no name" in remarks[0]
    table, remarks = noted(b"5.1,3.5\n4.9,3.0\n")
    assert table.num_rows == 1 and "header=False" in remarks[0]
    table, remarks = noted(b"05,3.5\n04,3.0\n", header=False)
    assert types(table) == {"column_1": "string", "column_2": "double"} and not remarks
    assert table.num_rows == 2


def test_encodings(file):
    text = "name,x\ncafé,1\n"
    assert read(text.encode("cp1252"), encoding="cp1252")["name"].to_pylist() == ["café"]
    path = file("a.csv", text.encode("cp1252"))
    assert read(path, encoding="cp1252")["name"].to_pylist() == ["café"]
    table, remarks = noted(text.encode("utf-16"))
    assert table["name"].to_pylist() == ["café"] and "UTF-16" in remarks[0]
    with pytest.raises(ParameterError, match="no encoding 'klingon'"):
        read(path, encoding="klingon")


# Faults: what, where, what to do


def test_no_such_file(file, tmp_path):
    file("sales.csv", PLAIN)
    with pytest.raises(DataError, match=r"no file .*/slaes.csv. Did you mean 'sales.csv'\?"):
        read(tmp_path / "slaes.csv")
    with pytest.raises(DataError, match=r"no file .*/sales.parquet. Did you mean 'sales.csv'\?"):
        read(tmp_path / "sales.parquet")
    with pytest.raises(DataError, match=r"The folder .*/dta does not exist"):
        read(tmp_path / "dta" / "deep" / "sales.csv")
    with pytest.raises(DataError, match=r"no file .*/unlike.xyz.$"):
        read(tmp_path / "unlike.xyz")


def test_a_folder(file, tmp_path):
    file("sales.csv", PLAIN)
    with pytest.raises(DataError, match=r"is a folder.*sales\.csv"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", r"empty.csv is empty \(0 bytes\)"),
        ("blank.csv", b"\n \n\n", r"blank.csv is empty \(4 bytes\)"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("empty.jsonl", b" \n", "is empty"),
        ("header.csv", b"a,b\n", "has columns but no rows"),
        ("twice.csv", b"a,b,a\n1,2,3\n", r"2 columns named 'a' \(columns 1, 3\). Rename"),
        ("table.xyz", PLAIN, r"extension \.xyz .*\.csv.*format='csv'"),
        ("table", PLAIN, r"extension \(none\)"),
        ("book.csv", b"PK\x03\x04" + b"\0" * 50, "Excel workbook.*xlsx"),
        ("book.xlsx", b"PK\x03\x04" + b"\0" * 50, "cannot be opened as an Excel workbook"),
        ("t.sqlite", b"SQLite format 3\0" + b"\0" * 50, r"SQLite database.*scan\(connection"),
        ("t.duckdb", b"12345678DUCK" + b"\0" * 50, r"DuckDB database.*scan\(.*t.duckdb', table="),
        ("table.pkl", b"\x80\x04\x95" + b"\0" * 50, "pickle.*Parquet"),
        ("text.parquet", PLAIN, "is not a Parquet file.*format='csv'"),
        ("cut.csv.gz", gzip.compress(bytes(range(256)) * 400)[:-20], "damaged.*again"),
        ("empty.json", b"[]", "empty list"),
        ("cells.json", b"[[1, 2], [3, 4]]", r"entry 1 of the list .*is not an object: '\[1, 2\]'"),
        ("cut.json", b'[{"a": 1},\n {"a": 2', r"line 2 of .*not valid JSON.*\(column 9\)"),
        ("types.json", b'[{"a": 1}, {"a": "x"}]', "row 2 of .*changed from number to string"),
        ("latin.json", b'[{"a": "caf\xe9"}]', "is not UTF-8: byte 0xe9 at offset 11, line 1"),
        ("types.jsonl", b'{"a": 1}\n{"a": "x"}\n', "row 2 of .*changed from number to string"),
        ("cut.jsonl", b'{"a": 1}\n{"a": 2\n', "row 2 of .*cannot be read: Missing"),
        ("latin.jsonl", b'{"a": "caf\xe9"}\n', "is not UTF-8: byte 0xe9 at offset 10, line 1"),
    ],
)
def test_faults(file, name, content, message):
    path = file(name, content)
    with pytest.raises(DataError, match=message):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n3\n4,5\n", r"line 3 of \S+ has 1 cells, but the first line has 2: '3'"),
        (b'a,b\n1,"x\ny"\n\n2,3\n1,2,3\n', r"line 6 of \S+ has 3 cells, .*: '1,2,3'"),
        (b"a;b\n1;2;\n", r"line 2 of \S+ has 3 cells.*';' must stand in double quotes"),
        (b'a,b,c\n1,"x,2\n1,2,3\n', r"line 2 .*quote that is opened there may not be closed"),
        (b'a,b\n1,"x\n2,y\n3,z\n', r"the quote opened in line 2 is never closed"),
    ],
)
def test_ragged_rows(file, content, message):
    for options in ({}, {"columns": ["b"]}):
        with pytest.raises(DataError, match=message):
            read(file("bad.csv", content), note=print, **options)


CAFE = [
    (b"name,x\nabc,1\ncaf\xe9,2\n", 3),
    (b"caf\xe9,x\nabc,1\n", 1),
    (b"name,x\n" + b"abc,1\n" * 400_000 + b"caf\xe9,1\n", 400_002),
]


@pytest.mark.parametrize(("content", "line"), CAFE)
def test_windows_texts_are_read_with_a_note(file, content, line):
    path = file("a.csv", content)
    table, remarks = noted(path)
    assert "café" in [*table.column_names, table.column(0)[-1].as_py()]
    assert len(remarks) == 1
    assert (
        "not UTF-8" in remarks[0]
        and f"cp1252 (Windows), where line {line} holds 'café'" in remarks[0]
    )
    assert noted(path, encoding="latin-1")[1] == []


@pytest.mark.parametrize(
    "text",
    ["Größe;ß\nMüller;1\nGroß & süß;2\n", "prix;x\ncréée;1\n“5 €”;2\ndon’t;3\n25°C – l´été;4\n"],
)
def test_words_of_windows_texts(text):
    table, remarks = noted(text.encode("cp1252"))
    assert table.column(0).to_pylist() == [line.split(";")[0] for line in text.splitlines()[1:]]
    assert "cp1252" in remarks[0]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe,x\nMüller,1\n", "cp850"),
        ("имя,x\nПривет,1\n", "cp1251"),
        ("nazwa,x\nWałęsa,1\nŁódź,2\n", "cp1250"),
        ("name,x\ncafé,1\nMüller,2\n", "mac-roman"),
        ("name,x\n日本語,1\n", "gb18030"),
        ("name,x\n日本語,1\n", "shift-jis"),
        ("όνομα,x\nΓιώργος,1\n", "cp1253"),
    ],
)
def test_other_encodings_are_refused_not_guessed(text, encoding):
    with pytest.raises(
        DataError, match=r"is not UTF-8: byte 0x.. at offset \d+, line \d; nor.*--encoding"
    ):
        read(text.encode(encoding))
    assert read(text.encode(encoding), encoding=encoding).num_rows >= 1


@pytest.mark.parametrize("end", [b"caf\xe9,2\n", b"caf\xc3"])
def test_one_wrong_line_in_utf8_is_an_error(end):
    with pytest.raises(DataError, match=r"line 4 .*though other lines are\. Correct"):
        read("name,x\ncafé,1\nMüßig,2\n".encode() + end)


def test_an_encoding_that_does_not_fit_names_the_place(file):
    with pytest.raises(DataError, match=r"byte 0xe9 at offset 10, line 2\. .*'cp1252'.*café"):
        read(b"name,x\ncaf\xe9,2\n", encoding="ascii")


def test_damaged_parquet(file):
    whole = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": np.random.default_rng(0).normal(size=1000)}), whole)
    data = whole.getvalue()
    for bad in (data[:1000], data[:-1], b"PAR1", data[:20] + b"\xff" * 300 + data[320:]):
        with pytest.raises(DataError, match=r"cannot be read: .*again"):
            read(file("bad.parquet", bad))


def test_parquet_hides_the_labels_of_pandas(file, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "a.parquet"
    pandas.DataFrame({"x": [1, 2]}, index=["u", "v"]).to_parquet(path)
    table, remarks = noted(path)
    assert table.column_names == ["x"] and "row labels" in remarks[0]


def test_parquet_with_equal_names(file):
    whole = io.BytesIO()
    pa.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), whole)
    with pytest.raises(DataError, match="2 columns named 'a'"):
        read(file("a.parquet", whole.getvalue()))


def test_addresses_and_other_objects_are_refused():
    with pytest.raises(DataError, match="Download the file first"):
        read("https://example.org/a.csv")
    with pytest.raises(DataError, match="not from a int"):
        read(3)
    with pytest.raises(ParameterError, match="format must be one of csv"):
        read(PLAIN, format="xls")
    with pytest.raises(ParameterError, match="one character"):
        read(PLAIN, delimiter=", ")
    with pytest.raises(ParameterError, match="decimal"):
        read(PLAIN, delimiter=",", decimal=",")


def test_unreadable_file(file, monkeypatch):
    path = file("a.csv", PLAIN)

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(DataError, match="may not read it"):
        read(path)


def test_formats_name_themselves():
    assert {FORMATS[end] for end in (".csv", ".tsv", ".parquet", ".jsonl")} == {
        *("csv", "tsv", "parquet", "jsonl")
    }


def test_columns_can_stay_text():
    content = b"code,n\n1,1\n2.50,2\n"
    whole = read(content, text=["code", "absent"])
    assert whole["code"].to_pylist() == ["1", "2.50"] and whole["n"].to_pylist() == [1, 2]


def test_many_columns_are_read_in_time_and_twins_among_them_named():
    names = [f"c{j}" for j in range(20_000)]
    line = ",".join(["1"] * len(names))
    assert read(f"{','.join(names)}\n{line}\n".encode()).num_columns == len(names)
    names[-1] = "c7"
    with pytest.raises(DataError, match="2 columns named 'c7' \\(columns 8, 20000\\)"):
        read(f"{','.join(names)}\n{line}\n".encode())


def test_rows_longer_than_a_block(file):
    long = "x" * 3_000_000
    path = file("long.csv", f"a,b\n1,{long}\n2,y\n")
    assert read(path).column("b").to_pylist() == [long, "y"]
    assert read(path).column("a").to_pylist() == [1, 2]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-32"])
def test_wide_encodings_without_their_mark(encoding):
    table, remarks = noted("name,size\nÅsa,1\nBo,2\n".encode(encoding))
    assert table.column("name").to_pylist() == ["Åsa", "Bo"]
    assert encoding[:6].upper() in remarks[0]


def test_a_line_that_states_the_separator_is_no_header():
    table, _ = noted(b"sep=;\na;b\n1;2\n")
    assert table.column_names == ["a", "b"]
    assert table.column("b").to_pylist() == [2]


def test_numbers_too_long_are_noted():
    rows = "".join(f"{10**22 + k},1\n" for k in range(5))
    _, remarks = noted(f"id,b\n{rows}".encode())
    assert any("'id'" in remark and "23 digits" in remark for remark in remarks)


def test_decimal_commas_with_an_exponent():
    table, _ = noted(b"a;b\n1,5E+03;2\n-2,5E+03;3\n")
    assert table["a"].to_pylist() == [1500.0, -2500.0]


@pytest.mark.parametrize("cells", [("1,5", "2.5"), ("$5", "€5"), ("5%", "5")])
def test_numbers_that_stay_text_are_noted(cells):
    table, remarks = noted(f"a;b\n{cells[0]};x\n{cells[1]};y\n".encode())
    assert table["a"].to_pylist() == list(cells)
    assert any("'a'" in remark and "several ways or units" in remark for remark in remarks)


def test_very_wide_text_is_converted_some_columns_at_a_time(monkeypatch):
    """Arrow's converters need 14 kB for each column: 100,000 at once would take 1.4 GB."""
    rows = ["a,b,c,d,e,f,g", "1,x,2.5,01,,2024-01-31,true", "2,y,,02,7,2024-02-01,false"]
    content = "\n".join(rows).encode()
    whole = read(content, format="csv")
    passes, options = [], delimited.parse_options
    monkeypatch.setattr(delimited, "_AT_ONCE", 3)
    monkeypatch.setattr(
        delimited, "parse_options", lambda *a: passes.append(list(a[1])) or options(*a)
    )
    assert read(content, format="csv").equals(whole)
    assert max(map(len, passes)) == 3
    assert {name for part in passes for name in part} == set("abcdefg")
