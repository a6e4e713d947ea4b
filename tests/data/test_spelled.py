"""Amounts and dates as people write them: read where there is one reading, else text and a note."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.data.io import number_formats
from pellucid.data.io.read import read


def column(cells, **options):
    """The cells as one column of a text with `;`, and the remarks about it."""
    remarks = []
    lines = [f"{cell};1" for cell in cells]
    table = read("\n".join(["a;b", *lines]).encode(), note=remarks.append, delimiter=";", **options)
    return table["a"].to_pylist(), [r for r in remarks if r.startswith("column 'a'")]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("$1,096.63", "$5", "", "($250.00)", "-$7", "$-8.5"), (1096.63, 5, None, -250, -7, -8.5)),
        (("1,234", "12,345,678.5", "900"), (1234, 12345678.5, 900)),
        (("12.5%", "5 %", "-3%"), (12.5, 5, -3)),
        (("USD 12", "7", "1e3"), (12, 7, 1000)),
        (("£0.05", "£.5", "NA"), (0.05, 0.5, None)),
    ],
)
def test_amounts_are_numbers(cells, values):
    found, (remark,) = column(cells, decimal=".")
    assert found == list(values)
    assert f"read as numbers: {cells[0]!r} is {float(values[0])}" in remark


def test_amounts_with_decimal_commas_are_found():
    found, (remark,) = column(["1.096,63 €", "-5 €", "1.000.000,5 €"])
    assert found == [1096.63, -5.0, 1000000.5]
    assert "'1.096,63 €' is 1096.63" in remark


@pytest.mark.parametrize(
    ("cells", "values", "how"),
    [
        (("119.444,44", "1.234.567,89", "119.444"), (119444.44, 1234567.89, 119444), "a decimal c"),
        (("12,5 €", "1.000 €"), (12.5, 1000), "a decimal comma"),
        (
            ("1.234.567,89", "1,234.56", "12"),
            (1234567.89, 1234.56, 12),
            "some with a decimal comma",
        ),
    ],
)
def test_a_column_may_have_a_decimal_mark_of_its_own(cells, values, how):
    found, (remark,) = column(cells, decimal=".")
    assert found == list(values)
    assert how in remark and f"{cells[0]!r} is {values[0]}" in remark


@pytest.mark.parametrize(
    "cells", [("119.444,44", "1,234.56", "1.234"), ("1,5", "2,3"), ("1,234.5", "1.5,2")]
)
def test_numbers_with_two_readings_stay_text(cells):
    found, remarks = column(cells, decimal=".")
    assert found == list(cells)
    assert all("several ways" in remark for remark in remarks)


def test_decimal_points_in_a_file_of_decimal_commas():
    found, (remark,) = column(["1,234.56", "3.5"], decimal=",")
    assert found == [1234.56, 3.5] and "with a decimal point" in remark


@pytest.mark.parametrize("cells", [("05.02.2023", "1.3.2023"), ("2023/02/05", "2023/3/1")])
def test_dates_with_one_reading_are_dates(cells):
    found, (remark,) = column([*cells, ""])
    assert found == [date(2023, 2, 5), date(2023, 3, 1), None]
    assert "read as dates" in remark


@pytest.mark.parametrize(
    "cell", ["02/05/2023", "12/31/2022", "30.02.2023", "5-Feb-2023", "05.02.23"]
)
def test_dates_with_two_readings_stay_text_and_are_noted(cell):
    found, (remark,) = column([cell, cell])
    assert found == [cell, cell]
    assert "Write them as 2023-12-31" in remark


@pytest.mark.parametrize("cells", [("01234", "$5"), ("A1", "A2"), ("1,23", "1,2345"), ("$", "$5")])
def test_what_is_no_amount_stays_text(cells):
    found, _ = column(cells, decimal=".")
    assert found == list(cells)


def test_columns_that_are_to_stay_text_do_without_a_remark():
    assert column(["$5", "$6"], text=["a"]) == (["$5", "$6"], [])


AMOUNTS = ["$5", "$1,234.5", "7", "1e3", "($3)", "1,234", "-2.5", "", "NA"]
OTHERS = ["inf", "007.5", "01", "5%", "true", "x", "2023-01-05", "05.02.2023"]
DATES = ["05.02.2023", "31.12.2022", "1.1.1970", "", "NA"]
COMMAS = ["119.444,44", "1.234.567,89", "3,5", "12", "119.444", "NA", "5 €"]
MIXED = ["119.444,44", "1,234.56", "3.5", "12", "1e3", ""]
KINDS = st.sampled_from(
    [
        AMOUNTS,
        DATES,
        COMMAS,
        MIXED,
        [*COMMAS, *MIXED],
        ["5%", "7%", ""],
        [*AMOUNTS, *OTHERS],
        ["5%", "7"],
    ]
)


@given(
    KINDS.flatmap(lambda cells: st.lists(st.sampled_from(cells), min_size=1, max_size=60)),
    st.sampled_from([1, 2, 4096]),
)
def test_the_first_cells_do_not_decide_for_the_others(cells, first):
    text = "\n".join(["a;b", *(f"{cell};1" for cell in cells)]).encode()
    whole = read(text, note=lambda remark: None, delimiter=";", decimal=".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_formats, "_FIRST", first)
        parts = read(text, note=lambda remark: None, delimiter=";", decimal=".")
    assert parts.equals(whole)
