"""Untrusted labels come out as one short, valid, harmless line."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.draw import svg
from pellucid.draw.label_text import cells, clean, escape, fit, fit_cells, width, wrap

QUICK = settings(derandomize=True, deadline=None, max_examples=300)
ANY_TEXT = st.text(st.characters(categories=None), max_size=60)


@QUICK
@given(ANY_TEXT)
def test_any_text_becomes_valid_xml(text):
    markup = svg.element("text", escape(clean(text)) or "-", title=clean(text))
    parsed = ET.fromstring(markup.encode("utf-8"))
    assert parsed.text in (clean(text), "-")
    assert parsed.get("title") == clean(text)


@QUICK
@given(ANY_TEXT, st.integers(4, 30))
def test_clean_is_short_one_line_and_settled(text, limit):
    line = clean(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert clean(line, limit) == line


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("plain", "plain"),
        ("two\n\n lines\t", "two lines"),
        ("\x1b[31mred\x00", "[31mred"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("\ufeffname", "name"),
        ("\ud800", "\ufffd"),
        ("e" + "\u0301" * 50, "e" + "\u0301" * 3),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        (17, "17"),
        ("x" * 10_000, "x" * 199 + "…"),
    ],
)
def test_clean(label, shown):
    assert clean(label) == shown


def test_cutting_keeps_characters_whole():
    family = "👩‍👩‍👧‍👦"
    for room in range(1, 12):
        assert fit(family + "abcdef", room).rstrip("…") in (
            "",
            *(family + "abcdef"[:k] for k in range(7)),
        )
    assert clean("ab" + "e\u0301" * 3, 4) == "abe\u0301"[:2] + "…"


def test_levels_of_one_column_stay_different():
    assert fit("checking_status=A14", 9.5) == "checking_…=A14"
    assert fit("checking_status=a level that is long itself", 9.5).endswith("…")
    assert fit("the_checking_status=", 9.5).endswith("…") and fit("=" * 40, 9.5).endswith("…")


@QUICK
@given(st.text("ab=", max_size=40), st.floats(1, 20))
def test_labels_of_levels_fit(text, em):
    assert width(fit(text, em)) <= em


@QUICK
@given(st.text(max_size=40), st.floats(1, 20))
def test_fit_fits(text, em):
    assert width(fit(text, em)) <= em


@QUICK
@given(st.text(max_size=40), st.integers(1, 20))
def test_fit_cells_fits(text, columns):
    assert cells(fit_cells(text, columns)) <= columns


@QUICK
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1), st.integers(1, 5))
def test_wrap(words, lines):
    text = " ".join(words)
    result = wrap(text, 10.0, lines)
    assert 1 <= len(result) <= lines
    assert all(width(line) <= 10 for line in result)
    if not any("…" in line for line in result):
        assert " ".join(result) == text


def test_wide_characters_count_double():
    assert cells("漢字") == 4
    assert cells("e\u0301") == 1
    assert width("漢") > width("m")


def test_shortened_labels_keep_the_whole_text():
    markup = svg.label(0, 0, "a long label & more", em=5)
    parsed = ET.fromstring(markup)
    assert parsed[0].text == "a long label & more"
    assert parsed[0].tail.endswith("…")


def test_what_tells_a_column_from_its_gaps_is_not_cut_off():
    assert fit("flipper_length_mm missing", 12) == "flipper_leng… missing"
    assert fit("flipper_length_mm missing", 6).endswith("…")  # no place for both
    assert fit("flipper_length_mm <= 206.5", 14) == "flipper_length_… <= 206.5"
    text = f"{'a' * 60} <= 206.5 or missing"
    assert fit(text, 30).endswith("… <= 206.5 or missing")


def test_of_a_class_and_a_column_both_are_shortened():
    assert fit("a very long class: a very long column", 12).count("…") == 2
    assert fit("Europe: a very long name of a column", 12).startswith("Europe: a ")
    assert fit("a very long name of a class: weight", 12).endswith("…: weight")
    for em in (5, 8, 12, 15):
        assert width(fit("a very long class: a very long column", em)) <= em
