"""The whole comparison: every model listed, honest order, equal results however it is run."""

import pytest

import pellucid
from pellucid.compare.registry import entries


@pytest.fixture(scope="module")
def penguins():
    """One small comparison for all tests of this module."""
    return pellucid.compare("penguins", models="tree", effort="quick", cv=3)


def test_every_model_that_was_asked_for_is_listed(penguins):
    assert {row["model"] for row in penguins.rows} == {"majority", "tree"}
    assert all(row["status"] == "ok" for row in penguins.rows)
    assert penguins.complete


def test_the_better_model_is_recommended_and_kept(penguins):
    assert penguins.recommended == "tree"
    assert penguins.best_.predict(penguins_table())[0] in ("Adelie", "Chinstrap", "Gentoo")


def test_the_test_part_is_scored_for_the_recommended_model_only(penguins):
    test = penguins.data["test"]
    assert test["model"] == "tree" and test["rows"] == 69
    low, high = test["intervals"]["accuracy"]
    assert low < test["metrics"]["accuracy"] <= high
    assert penguins.timings["openings"] == 1


def penguins_table():
    from pellucid.data.datasets import load

    return load("penguins").X


def test_the_registry_lists_only_what_exists():
    assert {"majority", "tree"} <= {entry.id for entry in entries("classification")}
    assert {"mean", "ols"} <= {entry.id for entry in entries("regression")}
    for task in ("classification", "regression"):
        assert all(entry.make() is not None for entry in entries(task))
