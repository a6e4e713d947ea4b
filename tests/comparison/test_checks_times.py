"""Points in time get the advice --time; durations that end with the outcome are possible leaks."""

import numpy as np
import pandas as pd
import pytest

from tests.comparison.test_checks_rows import checked, found, numbers

MONTHS = ("Jan", "Feb", "March", "Apr", "May", "June", "July", "Aug")


def survival(rng, n=200):
    table = numbers(rng, n).drop(columns="y")
    table["time"] = rng.exponential(900, n).round() + 1
    table["status"] = rng.choice(["alive", "dead"], n)
    return table


def test_follow_up_time_is_a_possible_leak_and_no_point_in_time(rng):
    for name in ("time", "futime", "days", "duration", "stop", "Survival_Time"):
        table = survival(rng).rename(columns={"time": name})
        (said,) = found(table, "D019", target="status")
        assert said.columns == (name,) and said.leak and said.level == "warning"
        assert "known only after the outcome" in said.text and said.action == f"--drop {name}"
        assert not found(table, "D009", target="status")
    assert "target leakage" not in checked(table, target="status").fine


def test_a_telling_duration_is_questioned_once(rng):
    table = survival(rng, 300)
    table["time"] = np.where(table.status == "dead", 100, 200) + rng.normal(0, 35, 300).round()
    codes = [f.code for f in checked(table, target="status").found if "time" in f.columns]
    assert codes == ["D019"]
    assert "D015" in [f.code for f in checked(table, target="status", ignore="D019").found]


def test_the_outcome_leaks_the_duration(rng):
    (said,) = found(survival(rng), "D019", target="time")
    assert said.columns == ("status",) and said.leak


def test_another_target_of_a_survival_table_gets_a_note(rng):
    table = survival(rng).assign(stage=rng.choice(["i", "ii", "iii"], 200))
    (said,) = found(table, "D019", target="stage")
    assert said.columns == ("time", "status") and said.level == "note" and not said.leak


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("diag.time", lambda rng: rng.exponential(10, 200).round()),
        ("time", lambda rng: rng.integers(0, 2, 200)),
        ("week", lambda rng: rng.integers(0, 9, 200)),
        ("duration", lambda rng: rng.integers(1, 90, 200)),  # of a credit, beside checking_status
    ],
)
def test_times_that_are_known_before_the_outcome_are_no_leak(rng, name, values):
    table = survival(rng).drop(columns="time").assign(**{name: values(rng)})
    target = "checking_status" if name == "duration" else "status"
    assert not found(table.rename(columns={"status": target}), "D019", target=target)


def test_a_duration_without_an_outcome_column_is_neither(rng):
    table = numbers(rng).assign(time=rng.exponential(900, 200).round())
    assert not found(table, "D019") and not found(table, "D009")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("year", lambda rng: rng.integers(1990, 2020, 200)),
        ("time", lambda rng: 1949 + np.arange(200) / 12),
        ("time", lambda rng: np.arange(200) * 5),
        ("date", lambda rng: 20_190_101 + rng.integers(0, 28, 200)),
        ("timestamp", lambda rng: 1.6e9 + rng.integers(0, 10**7, 200)),
        ("when", lambda rng: pd.date_range("2024-01-01", periods=200)),
        ("sold", lambda rng: rng.choice([f"{m} 2018" for m in MONTHS], 200)),
        (
            "sold",
            lambda rng: rng.choice([f"201{k}Q{q}" for k in (8, 9) for q in (1, 2, 3, 4)], 200),
        ),
    ],
)
def test_points_in_time_are_told_with_what_shuffling_means(rng, name, values):
    (said,) = found(numbers(rng).assign(**{name: values(rng)}), "D009")
    assert said.columns == (name,) and said.action == f"--time {name}"
    assert said.text.startswith(
        f"{name!r} contains times: shuffled folds train on the future to predict"
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Year.Built", lambda rng: rng.integers(1900, 2010, 200)),
        ("birth_year", lambda rng: rng.integers(1900, 2010, 200)),
        ("years", lambda rng: rng.integers(0, 40, 200)),
        ("time", lambda rng: rng.gamma(2, 30, 200).round(2)),
        ("width", lambda rng: rng.integers(1900, 2010, 200)),
        ("grade", lambda rng: rng.choice(["1a", "2b", "3c", "4d"], 200)),
        ("code", lambda rng: rng.choice(["10-12", "11-13", "12-14", "13-15"], 200)),
    ],
)
def test_durations_ages_and_codes_get_no_such_advice(rng, name, values):
    assert not found(numbers(rng).assign(**{name: values(rng)}), "D009")


def test_the_advice_can_be_followed_where_times_are_few(rng):
    for n_years, more in ((4, " --cv 2"), (6, " --cv 4"), (7, "")):
        table = numbers(rng, 210).assign(year=2000 + np.arange(210) % n_years)
        (said,) = found(table, "D009")
        assert said.action == f"--time year{more}"
        advice = {"time": "year", **({"cv": int(more[-1])} if more else {})}
        assert not found(table, "D009", **advice)


def test_unique_dates_as_text_are_times_and_no_row_ids(rng):
    days = pd.date_range("2018-01-01", periods=200).strftime("%d/%m/%Y")
    table = numbers(rng).assign(day=days)
    (said,) = found(table, "D009")
    assert said.exclude and "Excluded as a feature" in said.text and not found(table, "D005")
