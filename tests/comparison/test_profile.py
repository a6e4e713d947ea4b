"""The target by column: where a number is counted can be told, and doubts about the task are noted."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison.checks import profile
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings


def by_number(values, y, classes=None):
    values = np.asarray(values, dtype=float)
    dataset = SimpleNamespace(y=np.asarray(y), classes=classes)
    return profile._by_number(dataset, dataset.y, values, profile.number)


def test_few_whole_numbers_have_a_bar_each():
    found = by_number([2, 1, 1, 0, 5, 5], [10.0, 4, 6, 1, 2, 4])
    assert found == {"kind": "means", "labels": ["0", "1", "2", "5"], "means": [1, 5, 10, 3],
                     "rows": [1, 2, 1, 2]}  # fmt: skip
    found = by_number([2007, 2009, 2007], [0, 0, 1], classes=("a", "b"))
    assert found == {"kind": "levels", "labels": ["2007", "2009"],
                     "counts": {"a": [1, 1], "b": [1, 0]}}  # fmt: skip


def test_bins_of_numbers_do_not_touch(rng):
    """Each bin is named by the smallest and the largest number in it."""
    values = rng.integers(0, 100, 400).astype(float)
    found = by_number(values, values)
    ends = [[float(end) for end in label.split(" - ")] for label in found["labels"]]
    assert len(ends) == 10 and sum(found["rows"]) == 400
    for (low, high), mean, count in zip(ends, found["means"], found["rows"], strict=True):
        own = values[(values >= low) & (values <= high)]
        assert len(own) == count and own.mean() == pytest.approx(mean)
    assert by_number(np.linspace(0, 1, 50) * 30000, np.zeros(50))["labels"][-1] == "27551 - 30000"


@pytest.mark.parametrize(("values", "task", "noted"), [
    ([1.5, 2.5], "auto", True), ([1.5, 2.5], "regression", False), (None, "auto", False),
    ([0, 1], "auto", False),
])  # fmt: skip
def test_a_few_numbers_may_be_classes(rng, values, task, noted):
    y = rng.normal(size=80) if values is None else np.resize(values, 80)
    frame = pd.DataFrame({"x": rng.normal(size=80), "y": y})
    plan, _ = prepare(frame, Settings.of({"target": "y", "task": task}))
    assert any("--task classification" in note for note in plan.dataset.notes) == noted


def test_bins_of_dates_are_told_as_dates():
    days = 15340.0 + np.arange(300)
    dataset = SimpleNamespace(y=np.zeros(300), classes=None)
    found = profile._by_number(dataset, dataset.y, days, profile.date)
    assert found["labels"][0] == "2012-01-01 to 2012-01-30"
    few = profile._by_number(dataset, dataset.y, np.repeat(days[:3], 100), profile.date)
    assert few["labels"] == ["2012-01-01", "2012-01-02", "2012-01-03"]


def test_a_long_tail_is_cut_off_and_counted(rng):
    values = np.concatenate([rng.uniform(0, 10, 995), [1e4] * 5])
    found = by_number(values, np.resize([0, 1], 1000), classes=("a", "b"))
    assert found["edges"][-1] < 11 and found["beyond"] > 0
    assert sum(map(sum, found["counts"].values())) + found["beyond"] == 1000
    whole = by_number(rng.uniform(0, 10, 1000), np.resize([0, 1], 1000), classes=("a", "b"))
    assert whole["beyond"] == 0


def test_a_numeric_target_has_a_histogram(rng):
    y = rng.lognormal(size=500)
    found = profile.target(SimpleNamespace(y=y, classes=None), np.arange(400))
    assert found["counts"].sum() + found["beyond"] == 400 and found["beyond"] == 4
    assert profile.target(SimpleNamespace(y=y, classes=("a",)), np.arange(400)) is None
