"""Scores of models, bars of levels and histograms against independent computations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier as TheirTree

from pellucid import plot
from pellucid.data.datasets import load
from pellucid.errors import DataError, ParameterError
from pellucid.plot.picture import Area, Bars, Intervals, Segments, Steps

TIPS = load("tips")
DAY = np.array(TIPS.X.column("day").to_pylist())
BILL = TIPS.X.column("total_bill").to_numpy()


def marks(display, kind):
    return [mark for mark in display.picture().panels[0].marks if isinstance(mark, kind)]


def test_scores_are_those_of_every_fold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    models = {"tree": TheirTree(random_state=0), "logistic": TheirLogistic()}
    folds = StratifiedKFold(4)
    display = plot.scores(models, X, y, cv=folds)
    frame = display.frame()
    for i, model in enumerate(models.values()):
        expected = cross_val_score(model, X, y, cv=folds)
        np.testing.assert_allclose([frame[f"fold {f + 1}"][i] for f in range(4)], expected)
        assert frame["mean"][i] == pytest.approx(expected.mean())
        assert (frame["low"][i], frame["high"][i]) == (expected.min(), expected.max())
    (strokes,) = marks(display, Segments)
    np.testing.assert_allclose(
        sorted(strokes.x1), sorted(np.ravel([frame[f"fold {f + 1}"] for f in range(4)]))
    )
    assert list(plot.scores([TheirTree(), TheirTree()], X, y, cv=2).frame()["model"]) == [
        "DecisionTreeClassifier", "DecisionTreeClassifier 2",
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="at least one model"):
        plot.scores([], X, y)


def test_scores_from_stored_numbers():
    nan, inf = float("nan"), float("inf")
    display = plot.ScoresDisplay(
        ["a", "b", "c"], [0.5, nan, 0.7], [0.4, nan, -inf], [0.6, nan, 0.9],
        folds=[[0.4, 0.6], [], [nan]], shaded=(0.5, 0.7),
    )  # fmt: skip
    assert display.frame()["fold 2"][0] == 0.6
    (area,) = marks(display, Area)
    assert (min(area.x), max(area.x)) == (0.5, 0.7)
    assert display.picture().panels[0].right_texts[1] == "n/a"
    (interval,) = marks(display, Intervals)
    assert interval.low[2] == -inf
    assert "M0 60L" in display.svg(), "an interval without end begins at the edge of the plot"
    many = plot.ScoresDisplay(
        [str(i) for i in range(70)], np.arange(70), np.arange(70), np.arange(70)
    )
    assert "first 60 of 70" in many.svg()


def test_bars_are_the_counts_and_means_of_the_levels():
    frame = plot.bars(DAY, TIPS.y).frame("pandas").set_index("level")
    expected = pd.Series(TIPS.y).groupby(DAY).mean()
    np.testing.assert_allclose(frame["mean of y"], expected.loc[frame.index])
    smoker = np.array(TIPS.X.column("smoker").to_pylist())
    display = plot.bars(DAY, smoker)
    cross = pd.crosstab(DAY, smoker)
    found = display.frame("pandas").set_index("level")
    pd.testing.assert_frame_equal(
        found[cross.columns.astype(str)].astype(int), cross, check_names=False
    )
    first, second = marks(display, Bars)
    np.testing.assert_array_equal(first.end, second.start)
    np.testing.assert_array_equal(second.end, cross.sum(axis=1))
    assert plot.bars(DAY).frame()["rows"] == cross.sum(axis=1).tolist()
    side = plot.BarsDisplay(["p", "q"], {"u": [1.0, 2.0], "v": [3.0, -1.0]}, "value")
    a, b = marks(side, Bars)
    assert a.at[0] + a.width / 2 == pytest.approx(b.at[0] - b.width / 2), "side by side"
    with pytest.raises(ParameterError, match="cannot be negative"):
        plot.BarsDisplay(["p"], {"u": [-1.0]}, "value", stacked=True)
    with pytest.raises(DataError, match="no rows"):
        plot.bars([])


def test_histograms_count_the_rows():
    display = plot.histogram(BILL, bins=12, label="bill")
    counts, edges = np.histogram(BILL, 12)
    assert display.frame()["rows"] == counts.tolist()
    (steps,) = marks(display, Steps)
    np.testing.assert_allclose(steps.edges, edges)
    np.testing.assert_array_equal(steps.heights, counts)
    by_day = plot.histogram(BILL, DAY, bins=12).frame("pandas")
    own = by_day[by_day["class"] == "Sun"]
    expected = np.histogram(BILL[DAY == "Sun"], edges)[0]
    np.testing.assert_array_equal(own["rows"], expected)
    np.testing.assert_allclose(own["% of the class"], 100 * expected / expected.sum())


def test_named_points_on_a_logarithmic_axis():
    groups = {"good": ([0.1, 10.0], [1.0, 2.0], ["a", "b"]), "bad": ([1.0], [0.5], ["c"])}
    display = plot.ScatterDisplay.from_points(groups, ("seconds", "score"), log=True)
    assert display.frame() == {
        "name": ["a", "b", "c"], "group": ["good", "good", "bad"], "seconds": [0.1, 10.0, 1.0],
        "score": [1.0, 2.0, 0.5],
    }  # fmt: skip
    assert display.picture().panels[0].x.log and ">a<" in display.svg()
