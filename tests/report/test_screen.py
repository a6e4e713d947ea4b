"""Text on a screen: the width, whole words, tables that fit."""

import io

import pytest

from pellucid.report import screen
from pellucid.report.screen import grid, packed, width, wrapped

TEXT = "a sentence of some words, 12.5 % of them long: incomprehensibilities and more of the like"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_columns_says_how_wide_a_terminal_is(monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    assert screen.terminal_width(Terminal()) == 72 and width(Terminal()) == 72
    assert screen.terminal_width(io.StringIO()) is None and width(io.StringIO()) == 72
    for wrong in ("", "0", "wide", "-3"):
        monkeypatch.setenv("COLUMNS", wrong)
        assert width(io.StringIO()) == 100
    monkeypatch.setenv("COLUMNS", "7")
    assert width(Terminal()) == screen.LEAST
    monkeypatch.setenv("COLUMNS", "900")
    assert width(Terminal()) == screen.MOST


@pytest.mark.parametrize("size", [30, 50, 80])
def test_words_stay_whole(size):
    lines = wrapped(TEXT, "head  ", "      ", size)
    assert max(map(len, lines)) <= size and " ".join(lines).split() == ["head", *TEXT.split()]
    assert all(line == line.rstrip() for line in lines)
    assert not any(line.strip().startswith("%") for line in lines)


def test_a_part_wider_than_the_line_is_not_cut():
    path = "/a/very/long/path/of/a/file.csv"
    assert packed(["see", path, "again"], "note: ", "  ", 20) == [
        "note: see",
        f"  {path}",
        "  again",
    ]


def test_a_table_wraps_cells_then_leaves_out_columns():
    heads, rows = ["name", "what it does", "rank"], [["x" * 20, TEXT, "1"], ["y", "short", "12"]]
    assert len(grid(heads, rows, None)) == 4
    for size in (50, 70, 90):
        lines = grid(heads, rows, size, wraps=["what it does"], right=["rank"])
        assert max(map(len, lines)) <= size
        assert set(TEXT.split()) <= set(" ".join(lines).split())
    gone = grid(heads, rows, 30, wraps=["what it does"], drops=["what it does"])
    assert gone[0].split() == ["name", "rank"]
    assert [line[-4:] for line in grid(heads, rows, None, right=["rank"])][2:] == ["   1", "  12"]
