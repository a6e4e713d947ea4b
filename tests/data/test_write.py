"""Columns to files: what is written reads back, and a file appears whole or not at all."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pellucid.data.io.write import WRITERS, format_of, write
from pellucid.errors import DataError

COLUMNS = {
    "prediction": np.array(["plain", "a,b", 'say "x"', "two\nlines", ""], dtype=object),
    "p_1,5": np.array([0.1, 1e-300, 1 / 3, 1.0, np.nan]),
    "größe": np.arange(5),
}


def test_csv_reads_back_to_the_last_bit(tmp_path):
    write(COLUMNS, str(tmp_path / "out.csv"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(), newline="")))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["prediction"] for row in rows] == COLUMNS["prediction"].tolist()
    np.testing.assert_array_equal([float(row["p_1,5"]) for row in rows], COLUMNS["p_1,5"])
    assert [int(row["größe"]) for row in rows] == list(range(5))


def test_plain_labels_are_not_quoted(tmp_path):
    write({"prediction": np.array(["no", "yes"]), "p_no": [0.75, 0.25]}, str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == "prediction,p_no\nno,0.75\nyes,0.25\n"


def test_missing_and_empty_text_differ(tmp_path):
    write({"a": pa.array([None, "", "x"])}, str(tmp_path / "out.csv"))
    assert (tmp_path / "out.csv").read_text() == 'a\n\n""\n"x"\n'


def test_parquet_reads_back(tmp_path):
    write(COLUMNS, str(tmp_path / "out.parquet"))
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == list(COLUMNS)
    np.testing.assert_array_equal(table["p_1,5"].to_numpy(), COLUMNS["p_1,5"])


def test_json_lines_are_valid_json(tmp_path):
    write(COLUMNS, str(tmp_path / "out.jsonl"))
    lines = (tmp_path / "out.jsonl").read_text().splitlines()

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    rows = [json.loads(line, parse_constant=refuse) for line in lines]
    assert [row["p_1,5"] for row in rows] == [0.1, 1e-300, 1 / 3, 1.0, None]
    assert rows[3]["prediction"] == "two\nlines" and rows[4]["größe"] == 4


def test_the_ending_decides_and_the_argument_wins(tmp_path):
    assert [format_of(p) for p in ("-", "x", "x.CSV", "a.b/x.jsonl")] == [
        "csv",
        "csv",
        "csv",
        "jsonl",
    ]
    with pytest.raises(DataError, match=r"'\.xlsx' is not .* \(known: \.csv, \.jsonl, \.parquet\)"):
        format_of("x.xlsx")
    write({"a": [1]}, str(tmp_path / "out.csv"), "jsonl")
    assert (tmp_path / "out.csv").read_text() == '{"a": 1}\n'


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    def stop_half_way(table, file):
        file.write(b"half")
        raise KeyboardInterrupt

    target = tmp_path / "out.csv"
    target.write_text("old")
    monkeypatch.setitem(WRITERS, "csv", stop_half_way)
    with pytest.raises(KeyboardInterrupt):
        write({"a": [1]}, str(target))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.csv", "old")]


def test_links_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    write({"a": [1]}, str(tmp_path / "link.csv"))
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\n1\n"
    write({"a": [1]}, "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(
        DataError, match=r"cannot write .*absent/out\.csv: No such file or directory"
    ):
        write({"a": [1]}, str(tmp_path / "absent" / "out.csv"))


def test_standard_output(monkeypatch):
    class Screen:
        buffer = io.BytesIO()

        @staticmethod
        def isatty():
            return False

    monkeypatch.setattr(sys, "stdout", Screen)
    write({"a": [1, 2]}, "-")
    assert Screen.buffer.getvalue() == b"a\n1\n2\n"


def test_a_type_that_csv_lacks_is_named_before_anything_is_written(tmp_path):
    table = {"a": pa.array([1, 2]), "tags": pa.array([[1], [2]])}
    with pytest.raises(DataError, match=r"column 'tags' has type list<.*CSV cannot hold"):
        write(table, str(tmp_path / "a.csv"))
    assert list(tmp_path.iterdir()) == []
    write(table, str(tmp_path / "a.jsonl"))
    for column in (pa.nulls(2), pa.array([1, 2]).cast(pa.duration("s"))):
        write({"a": column}, str(tmp_path / "b.csv"))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_no_control_characters(monkeypatch):
    """A label with an escape sequence could write into the clipboard or rename the window."""
    labels = ["ok", "\x1b]52;c;aGk=\x07", "tab\there", "\x9b31m", "grün", "\x7f", "\u202eb"]
    monkeypatch.setattr(sys, "stdout", Terminal())
    write({"prediction": np.array(labels)}, "-")
    shown = sys.stdout.getvalue()
    assert "\n" in shown and "grün" in shown and "tab\there" in shown
    assert not any(c in shown for c in "\x1b\x07\x9b\x7f\u202e") and shown.count("\ufffd") == 5


def test_parquet_is_not_written_to_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(DataError, match="Parquet is not text"):
        write({"a": [1]}, "-", "parquet")


@pytest.mark.parametrize("coded", [False, True])
def test_texts_that_a_spreadsheet_would_run_get_an_apostrophe(tmp_path, coded):
    texts = ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "\n=1", "\uff1d1", "a=b", "", None, "'q"]
    column = pa.array(texts).dictionary_encode() if coded else pa.array(texts)
    columns = {"=name": column, "p": pa.array([-1.5] * len(texts))}
    write(columns, str(tmp_path / "raw.csv"))
    write(columns, str(tmp_path / "safe.csv"), spreadsheet_safe=True)

    def read_back(name):
        return list(csv.reader(io.StringIO((tmp_path / name).read_text(), newline="")))

    assert [row[0] for row in read_back("raw.csv")] == ["=name", *(t or "" for t in texts)]
    safe = read_back("safe.csv")
    assert [row[0] for row in safe] == [
        "'=name", "'=1+1", "'+x", "'-x", "'@SUM(A1)", "'\tx", "'\n=1", "'\uff1d1", "a=b", "", "", "'q",
    ]  # fmt: skip
    assert {row[1] for row in safe[1:]} == {"-1.5"}
