"""Notes on the target, marks of leak suspicions, and the page that lists all checks."""

import re

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison.checks.catalogue import CHECKS
from tests.comparison.test_checks_rows import checked, found, numbers
from tests.source_tree import ROOT


def regression(rng, y):
    return pd.DataFrame(rng.normal(size=(len(y), 2)), columns=list("ab")).assign(y=y)


def test_a_skewed_positive_target_points_to_the_log_models(rng):
    (said,) = found(regression(rng, np.exp(1.5 * rng.normal(size=300))), "D020")
    assert (
        said.level == "note" and "models with 'log' in their name predict log(target)" in said.text
    )
    assert not found(regression(rng, rng.gamma(5.0, size=300)), "D020")


@pytest.mark.parametrize("shift", [-0.5, -5.0])
def test_a_skewed_target_with_values_below_zero_gets_no_such_advice(rng, shift):
    (said,) = found(regression(rng, np.exp(1.5 * rng.normal(size=300)) + shift), "D020")
    assert "skewed" in said.text and "log" not in said.text


def test_a_skew_that_logarithms_do_not_mend_gets_no_such_advice(rng):
    y = np.where(rng.random(300) < 0.03, 1e6, 1.0) + 0.01 * rng.random(300)
    (said,) = found(regression(rng, y), "D020")
    assert "log" not in said.text


def test_counts_are_told_that_poisson_deviance_suits_them(rng):
    (said,) = found(regression(rng, rng.poisson(np.exp(rng.normal(size=400)))), "D021")
    assert "Poisson deviance suits it better" in said.text
    assert not found(regression(rng, rng.poisson(np.exp(rng.normal(size=400)))), "D020")
    ratings, prices = (
        rng.choice(6, 400, p=[0.02, 0.08, 0.4, 0.4, 0.08, 0.02]),
        rng.integers(0, 9000, 400),
    )
    for y in (ratings, prices, rng.normal(size=400)):
        assert not found(regression(rng, y), "D021", task="regression")


@pytest.mark.parametrize(
    "half, columns, leaks", [(6, 1000, False), (6, 3, False), (20, 1000, True)]
)
def test_noise_that_separates_a_few_rows_is_no_leak(rng, half, columns, leaks):
    """Of 1,000 noise columns two separate six rows from six: C(12, 6) / 2 = 462."""
    y = np.repeat(["no", "yes"], half)
    table = pd.DataFrame(rng.normal(size=(2 * half, columns))).add_prefix("c").assign(y=y)
    table["c1"] = (y == "yes") + 0.1 * rng.random(2 * half)
    assert [f.columns for f in found(table, "D011")] == ([("c1",)] if leaks else [])


def test_suspicions_of_leaks_are_marked_in_the_results(rng):
    table = numbers(rng, 300)
    table["copy"] = table.y.map({"no": "A", "yes": "B"})
    table["near"] = (table.y == "yes") * 9 + rng.normal(size=300)
    table["body"] = np.where((table.y == "no") & (rng.random(300) < 0.5), 1.0, np.nan)
    table["id"], table["when"] = np.arange(300), pd.date_range("2024-01-01", periods=300)
    marks = {check["code"]: check["leak"] for check in checked(table).plain()}
    assert marks == {"D010": True, "D011": True, "D016": True, "D004": False, "D005": False,
                     "D009": False}  # fmt: skip


def test_parts_of_the_target_are_marked_as_a_leak(rng):
    table = pd.DataFrame(rng.poisson(20, size=(200, 2)), columns=["u", "v"])
    table = table.assign(w=rng.normal(size=200), y=table.u + table.v)
    assert [(f.code, f.leak) for f in checked(table).found if f.leak] == [("D017", True)]


def test_every_check_has_its_line_in_the_documentation():
    page = (ROOT / "docs" / "checks.md").read_text()
    assert re.findall(r"^\| (D\d{3}) \|", page, re.M) == sorted(CHECKS)


def test_findings_speak_the_words_of_the_field(rng):
    """Words that earlier texts used and readers stumbled over."""
    table = numbers(rng, 120)
    table["twin"], table["when"] = table.c0 * 2, pd.date_range("2024-01-01", periods=120)
    table = pd.concat([table, table.iloc[:30]], ignore_index=True)
    table["id"], table["same"], table["gone"] = np.arange(150), 1, np.nan
    checks = checked(table)
    said = " ".join(f"{f.text} {f.action}" for f in checks.found) + checks.fine
    assert len(checks.found) >= 6
    for word in (
        "left out",
        "flatter",
        "teach",
        "says so",
        "in order",
        "answer away",
        "do without",
    ):
        assert word not in said
