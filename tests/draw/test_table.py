"""Tables lose nothing, stay narrow and escape everything."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.draw import html_table, text_table
from pellucid.draw.label_text import cells
from pellucid.errors import ParameterError
from tests.draw.gallery import HOSTILE

CELLS = st.none() | st.floats() | st.integers() | st.booleans() | st.text(max_size=30)


def test_text_table_is_aligned():
    rows = [["Adelie", 3.75, "yes"], ["漢字", -12.5, "no"], [None, None, ""]]
    table = text_table(["species", "mass", "ring"], rows, title="Penguins", notes=["Three rows."])
    assert table.splitlines() == [
        "Penguins",
        "species    mass  ring",
        "-------  ------  ----",
        "Adelie     3.75  yes",
        "漢字     -12.50  no",
        "",
        "Three rows.",
    ]


@settings(derandomize=True, deadline=None)
@given(
    st.integers(1, 14).flatmap(
        lambda d: st.lists(st.lists(CELLS, min_size=d, max_size=d), min_size=1, max_size=5)
    )
)
def test_any_table_fits_and_keeps_its_rows(rows):
    columns = [f"column {j}" for j in range(len(rows[0]))]
    lines = text_table(columns, rows).split("\n")
    assert all(cells(line) <= 96 for line in lines)
    shown = " ".join(lines)
    assert all(column in shown for column in columns)
    heads = [line for line in lines if line.lstrip().startswith("column 0")]
    assert len(lines) == len(heads) * (len(rows) + 3) - 1
    parsed = ET.fromstring(html_table(columns, rows).encode())
    assert len(parsed.findall("table/tbody/tr")) == len(rows)


def test_wide_tables_continue_below_with_the_first_column_repeated():
    columns = [f"name of column {j}" for j in range(12)]
    table = text_table(columns, [[f"value {j}" for j in range(12)]], width=60)
    assert all(cells(line) <= 60 for line in table.splitlines())
    assert table.count("value 0") == 4
    assert all(f"value {j}" in table for j in range(12))


def test_facts_stand_in_two_columns():
    facts = {"rows": 569, "R²": 0.876543, "sigma": 6.5, "status": "ok", "time": 1.5}
    lines = text_table(["a"], [[1]], facts=facts).splitlines()
    assert lines[0].split() == ["rows", "569", "status", "ok"]
    assert lines[1].split() == ["R²", "0.8765", "time", "1.5"]
    assert lines[3] == ""


def test_long_words_in_notes_and_titles_are_wrapped():
    text = text_table(["a"], [[1]], title="word " * 50, notes=["x" * 300])
    assert max(map(cells, text.splitlines())) <= 96
    assert text.count("word") == 50


def test_hostile_html():
    table = html_table(
        HOSTILE, [HOSTILE], title=HOSTILE[0], notes=HOSTILE, facts={HOSTILE[0]: HOSTILE[1]}
    )
    root = ET.fromstring(table)
    assert root.find("p").text == root.find("table").get("aria-label") == HOSTILE[0]
    plain = ET.fromstring(html_table(["a"], [[1]], title=HOSTILE[0]))
    assert plain.find("table/caption").text == HOSTILE[0]
    assert root.findall("div/div")[1].text == HOSTILE[1]
    assert "<script" not in table


def test_html_cells_know_what_they_are():
    root = ET.fromstring(html_table(["term", "coef"], [["x", 0.5], ["", 12.0]]))
    assert [cell.get("scope") for cell in root.iter("th")] == ["col", "col", "row", "row"]
    assert [(cell.text, cell.get("class")) for cell in root.iter("td")] == [
        ("0.5", "pl-n"),
        ("12.0", "pl-n"),
    ]
    assert "/>" not in html_table(["a", "b"], [["", None]], title="t"), "HTML has no empty cells"


def test_ragged_rows_are_refused():
    for make in (text_table, html_table):
        with pytest.raises(ParameterError, match="must have 2 cells"):
            make(["a", "b"], [[1, 2], [3]])


def test_empty_tables():
    assert text_table([], []) == ""
    assert text_table(["a"], []).splitlines() == ["a", "-"]
    ET.fromstring(html_table([], []))
