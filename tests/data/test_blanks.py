"""Texts whose cells stand apart by blanks, or in single quotes."""

import pytest

from pellucid.data.io.read import read
from pellucid.errors import DataError


def noted(content, **options):
    remarks = []
    return read(content, note=remarks.append, **options), remarks


@pytest.mark.parametrize(
    "content",
    [
        b"OBS GPA who\n1 2.66 ann\n10 2.89 bob\n",
        b"'OBS' 'GPA' 'who'\n1 2.66 'ann'\n10 2.89 bob\n",
        b"\n  OBS   GPA  who\n    1  2.66  ann\n\n   10  2.89  bob\n",
        b"OBS GPA who\r\n1 2.66 ann\r\n10 2.89\tbob\r\n",
        "OBS GPA who\n1 2.66 ann\n10 2.89 bob\n".encode("utf-16"),
    ],
)
def test_runs_of_blanks_separate(content):
    table, remarks = noted(content)
    assert table.to_pydict() == {"OBS": [1, 10], "GPA": [2.66, 2.89], "who": ["ann", "bob"]}
    assert "blank-separated" in remarks[-1]


def test_quotes_keep_blanks_and_row_names_of_r_have_none():
    table, remarks = noted(b'"a b" "c"\n"row 1" 1 NA\n"it\'s ""2""" 3 4\n')
    assert table.to_pydict() == {
        "Unnamed: 0": ["row 1", 'it\'s "2"'],
        "a b": [1, 3],
        "c": [None, 4],
    }
    assert any("R writes" in remark for remark in remarks)


def test_texts_of_words_are_one_column():
    for content in (b"full name\nJohn Smith\nAnn Lee\n", b"note\nsize 1\nsize two\n", b"x\n1\n2\n"):
        table, remarks = noted(content)
        assert table.num_columns == 1 and remarks == []


def test_a_ragged_line_is_named():
    content = b"a b\n" + b"1 2\n" * 60 + b"1 2 3\n"
    with pytest.raises(
        DataError, match=r"line 62 .* has 3 cells.*contains a blank must stand in d"
    ):
        read(content, note=print)


def test_single_quotes_are_taken_off_where_all_cells_have_them():
    names = b"'a'\t'b c'\n1\t'x y'\n2\t'z'\n"
    assert noted(names)[0].to_pydict() == {"a": [1, 2], "b c": ["x y", "z"]}
    cells = b"a,b,c\n1,'x, y',q\n2,'z',r\n"
    table = noted(cells)[0]
    assert table.to_pydict() == {"a": [1, 2], "b": ["x, y", "z"], "c": ["q", "r"]}
    with pytest.raises(DataError, match="quote opened in line 62 is never closed"):
        read(b"'a','b'\n" + b"1,'x'\n" * 60 + b"2,'z\n3,'y", note=print)


@pytest.mark.parametrize(
    "cells", [["'x'", "it's"], ["'x'", "'z"], ["'x'", "y"], ["'tis", "'twas"], ["'x", "y'"]]
)
def test_other_single_quotes_stay(cells):
    text = "a,b\n" + "".join(f"1,{cell}\n" for cell in cells)
    assert noted(text.encode())[0].column("b").to_pylist() == cells


def test_utf_16_without_its_last_byte_is_named():
    content = "a b\n1 2\n3 4\n5 6\n".encode("utf-16")[:-1]
    with pytest.raises(DataError, match="UTF-16"):
        read(content, format="csv", note=lambda text: None)
