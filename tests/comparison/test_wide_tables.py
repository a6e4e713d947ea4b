"""Scores of many columns at once have the bits of the scores of single columns."""

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison.checks import univariate, wide_tables
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.settings import Settings


def columns(rng, n):
    """Distinct numbers, ties, few levels, missing cells, constants, row numbers, extremes."""
    rows = np.arange(n)
    table = {f"normal{j}": rng.normal(size=n) for j in range(6)}
    table |= {f"whole{j}": rng.integers(0, j + 2, n) for j in range(8)}
    table |= {
        f"gaps{j}": np.where(rng.random(n) < 0.1 * j, np.nan, table["normal0"]) for j in range(9)
    }
    table |= {f"tied{j}": np.round(rng.normal(size=n), 1) * 10.0**j for j in range(-3, 4)}
    table |= {"constant": np.ones(n), "row": rows, "back": -rows, "empty": np.full(n, np.nan)}
    table |= {"zeros": np.where(rows % 2, 0.0, -0.0), "one": np.where(rows == 1, 1.0, np.nan)}
    table |= {"huge": table["normal1"] * 1e307, "tiny": table["normal2"] * 1e-320}
    table |= {"date": np.datetime64("2024-01-01") + rows, "flag": rng.random(n) < 0.5}
    return table | {"label": rng.choice(["u", "v"], n)}


@pytest.mark.parametrize("n", [6, 7, 12, 13, 31, 60, 130, 400])
@pytest.mark.parametrize("target", ["two", "three", "eleven", "number", "huge"])
def test_many_columns_at_once_have_the_scores_of_single_ones(n, target, rng, monkeypatch):
    number = rng.normal(size=n)
    y = {
        "two": rng.choice(["a", "b"], n), "three": rng.choice(["a", "b", "c"], n),
        "eleven": rng.choice(list("abcdefghijk"), n), "number": number, "huge": number * 1e100,
    }[target]  # fmt: skip
    table = pd.DataFrame({**columns(rng, n), "y": y, "w": rng.integers(0, 3, n)})
    table["copy"] = number + 1e-3 * rng.normal(size=n)
    for weights in (None, "w"):
        given = {"task": "regression" if target in ("number", "huge") else "classification"}
        settings = Settings.of({"target": "y", "weights": weights, **given})
        dataset = load_dataset(table, settings)
        rows = np.sort(rng.permutation(n)[: max(5, n - n // 4)])
        with np.errstate(all="ignore"):
            together = univariate.univariate_scores(dataset, dataset.raw(), rows, 0)
            with monkeypatch.context() as patch:
                patch.setattr(wide_tables, "MAX_ROWS", 0)
                alone = univariate.univariate_scores(dataset, dataset.raw(), rows, 0)
        for name in alone:
            np.testing.assert_equal(together[name], alone[name], err_msg=name)
        assert {*alone} == {*together}


def test_columns_of_few_rows_are_scored_together(rng, monkeypatch):
    """So a table of 100,000 columns takes seconds."""
    table = pd.DataFrame({**columns(rng, 12), "y": ["a", "b"] * 6})
    dataset = load_dataset(table, Settings.of({"target": "y"}))
    single, codes_of = [], univariate.codes_of
    monkeypatch.setattr(
        univariate, "codes_of", lambda c, *a: single.append(c.name) or codes_of(c, *a)
    )
    found = univariate.univariate_scores(dataset, dataset.raw(), np.arange(12), 0)
    assert {*found} == {*table} - {"y"}
    assert {*single} == {"huge", "label"}
