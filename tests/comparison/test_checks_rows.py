"""What a row is: row IDs are found without taking measurements for them; copies; panels."""

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison.checks.catalogue import run_checks
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.settings import Settings
from tests.oracles import shared


def checked(table, target="y", **settings):
    known = Settings.of({"target": target, **settings})
    dataset = load_dataset(table, known)
    return run_checks(dataset, known, make_plan(dataset, known).train)


def found(table, code, **settings):
    return [f for f in checked(table, **settings).found if f.code == code]


def numbers(rng, n=200, p=3):
    table = pd.DataFrame(rng.normal(size=(n, p)), columns=[f"c{j}" for j in range(p)])
    return table.assign(y=rng.choice(["no", "yes"], n))


# Copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "levels"])
def test_every_row_twice_is_told_for_any_number_of_columns(rng, kind):
    for width in (3 if kind == "numbers" else 12, 70, 200):
        values = rng.normal(size=(150, width)) if kind == "numbers" else rng.integers(
            0, 9, size=(150, width))  # fmt: skip
        table = pd.DataFrame(values, columns=[f"c{j}" for j in range(width)])
        table["y"] = rng.choice(["no", "yes"], 150)
        (said,) = found(pd.concat([table, table], ignore_index=True), "D006")
        assert said.level == "warning" and said.text.startswith("150 of 300 rows repeat")
        assert not found(table, "D006")


def test_copies_of_real_tables_are_counted_as_pandas_counts_them():
    table = shared.frame("isl_caravan.csv.gz")
    (said,) = found(table, "D006", target="Purchase")
    assert said.level == "warning" and table.duplicated().sum() == 602
    assert said.text.startswith("602 of 5822 rows repeat another row: the same row can be in")


def test_copies_agree_with_pandas_where_zeros_are_signed_and_cells_missing(rng):
    from pellucid.comparison.checks.row_checks import repeated_rows

    for _ in range(20):
        table = pd.DataFrame({"a": rng.choice([0.0, -0.0, 1.5, np.nan], 60)})
        table["b"], table["c"] = rng.choice(list("uvw"), 60), rng.choice(["x", None], 60)
        table["y"] = rng.integers(0, 2, 60)
        dataset = load_dataset(table, Settings.of({"target": "y"}))
        assert repeated_rows(dataset.raw(), dataset.y) == table.duplicated().sum()


def test_rows_that_differ_in_the_target_or_in_the_last_column_are_no_copies(rng):
    table = numbers(rng, 100, 80)
    for other in (table.assign(y=np.where(table.y == "no", "yes", "no")),
                  table.assign(c79=table.c79 + 1e-9)):  # fmt: skip
        assert not found(pd.concat([table, other], ignore_index=True), "D006")


def test_a_row_id_does_not_hide_copies(rng):
    table = numbers(rng, 100)
    twice = pd.concat([table, table], ignore_index=True).assign(id=np.arange(200))
    assert found(twice, "D006")[0].text.startswith("100 of 200 rows")


def test_rows_of_few_different_values_repeat_by_chance(rng):
    """Votes: hardly two columns are independent, so rows repeat; their neighbours do too."""
    party = rng.integers(0, 2, 400)
    votes = np.where(rng.random((400, 16)) < 0.93, party[:, None], 1 - party[:, None])
    table = pd.DataFrame(votes, columns=[f"v{j}" for j in range(16)]).assign(y=party)
    (said,) = found(table, "D006", task="classification")
    assert said.level == "note" and "by chance" in said.text


# Row IDs --------------------------------------------------------------------------------------


def gapped(rng, n, share):
    return np.sort(rng.choice(int(n / share), n, replace=False)) + 17


@pytest.mark.parametrize("name", ["Unnamed: 0", "rownames", "seqno", "X1", "nobody_knows"])
def test_numbers_of_rows_with_some_missing_are_row_ids(rng, name):
    table = numbers(rng)
    table.insert(0, name, gapped(rng, 200, 0.4))
    (said,) = found(table, "D005")
    assert said.columns == (name,) and said.exclude
    assert said.text == f"{name!r} looks like a row ID, excluded"
    assert "keep with --ignore D005" in said.action and said.action.startswith("confirm with --id")
    assert name not in checked(table, ignore="D005").excluded


def test_a_shuffled_file_keeps_its_row_ids(rng):
    table = numbers(rng)
    table.insert(0, "first", rng.permutation(gapped(rng, 200, 0.7)))
    table["rank"] = rng.permutation(200) + 1
    assert [f.columns for f in found(table, "D005")] == [("first",)]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("income", lambda rng: rng.choice(90_000, 200, replace=False)),
        ("income", lambda rng: np.sort(rng.choice(90_000, 200, replace=False))),
        ("zip", lambda rng: np.arange(10_001, 10_201)),
        ("year", lambda rng: np.arange(1800, 2000)),
        ("day", lambda rng: gapped(rng, 200, 0.4)),
        ("score", lambda rng: rng.choice(500, 200, replace=False)),
        ("length", lambda rng: np.sort(rng.choice(5000, 200, replace=False))),
        ("share", lambda rng: np.arange(200) / 7),
        ("lipid", lambda rng: rng.choice(2000, 200, replace=False)),
    ],
)
def test_measurements_that_are_unique_numbers_are_no_row_ids(rng, name, make):
    assert not found(numbers(rng).assign(**{name: make(rng)}), "D005")


def test_the_only_column_is_never_a_row_id_for_its_numbers(rng):
    table = pd.DataFrame({"dose": np.arange(40), "y": rng.normal(size=40)})
    assert not found(table, "D005")
    assert found(table.assign(x=rng.normal(size=40)), "D005")


# Several rows of one unit -----------------------------------------------------------------------


def panel(rng, units=40, times=6):
    table = pd.DataFrame({"country": np.repeat([f"k{i}" for i in range(units)], times)})
    table["year"] = np.tile(2000 + np.arange(times), units)
    level = np.repeat(rng.normal(size=units), times)
    table["gdp"] = level + 0.2 * rng.normal(size=len(table))
    table["y"] = 3 * level + rng.normal(size=len(table))
    return table


def test_a_panel_gets_the_advice_to_keep_units_together(rng):
    (said,) = found(panel(rng), "D018")
    assert said.columns == ("country",) and said.action == "consider --group country"
    assert "(40 values, about 4.8 rows each)" in said.text  # of the training rows
    assert not said.exclude and not said.leak
    assert not found(panel(rng), "D018", group="country")
    assert not found(panel(rng), "D018", time="year", cv=3)
    assert not found(panel(rng), "D018", ignore="D018")


def test_units_of_any_numbering_are_found(rng):
    table = panel(rng)
    table["country"] = np.repeat(rng.permutation(40) * 3 + 5, 6)
    assert [f.columns for f in found(table, "D018")] == [("country",)]


def test_a_repeated_id_is_told_and_excluded(rng):
    """Two rows per patient, whose other columns are the same in both."""
    people = numbers(rng, 100).assign(id=rng.permutation(100))
    table = pd.concat([people, people.assign(y=rng.choice(["no", "yes"], 100))], ignore_index=True)
    (said,) = found(table, "D018")
    assert said.columns == ("id",) and said.exclude and "excluded as a feature" in said.text
    assert said.action == "consider --group id, or keep it as a feature with --ignore D018"


def test_families_whose_columns_are_alike_are_units_without_a_telling_name(rng):
    family = np.repeat(np.arange(60), 4)
    table = pd.DataFrame(rng.normal(size=(60, 4))[family], columns=list("abcd"))
    table["household"] = [f"h{k}" for k in family]
    table["y"] = rng.normal(size=240)
    assert [f.columns for f in found(table, "D018")] == [("household",)]


def test_ordinary_categories_and_numbers_are_no_units(rng):
    n = 600
    table = pd.DataFrame({"brand": rng.choice([f"b{i}" for i in range(30)], n)})
    table["age"], table["number"] = rng.integers(18, 80, n), rng.integers(0, 60, n)
    table["year"] = rng.integers(2000, 2020, n)
    effect = dict(zip(table.brand.unique(), rng.normal(size=30)))
    table["size"] = table.brand.map(effect) + rng.normal(size=n)
    table["y"] = table["size"] + table.age / 20 + rng.normal(size=n)
    assert not found(table, "D018")
    sorted_by_age = table.sort_values("age", ignore_index=True)
    assert not found(sorted_by_age.assign(decade=sorted_by_age.age // 10), "D018")
