"""Calibration, thresholds and histograms by class, against scikit-learn, statsmodels and counting."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    precision_score,
    recall_score,
)
from sklearn.model_selection import KFold, cross_val_predict
from statsmodels.stats.proportion import proportion_confint

from pellucid import plot
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import LogisticRegression, Perceptron
from pellucid.naive_bayes import GaussianNB
from tests.plot.reading import parsed

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
NAMES = np.array(["ill", "well"])[Y]
MODEL = GaussianNB().fit(X, NAMES)
P = MODEL.predict_proba(X)[:, 1]
FOLDS = KFold(4, shuffle=True, random_state=1)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, 10])
def test_calibration(strategy, n_bins):
    display = plot.calibration(MODEL, X, NAMES, n_bins=n_bins, strategy=strategy)
    observed, mean = calibration_curve(Y, P, n_bins=n_bins, strategy=strategy)
    frame = display.frame()
    np.testing.assert_allclose(frame["observed share"], observed)
    np.testing.assert_allclose(frame["mean probability"], mean)
    assert sum(frame["rows"]) == len(X)
    counts = np.multiply(frame["observed share"], frame["rows"]).round()
    low, high = proportion_confint(counts, np.array(frame["rows"]), method="wilson")
    np.testing.assert_allclose(frame["low"], low, atol=1e-12)
    np.testing.assert_allclose(frame["high"], high, atol=1e-12)
    assert display.bins[0].brier == pytest.approx(brier_score_loss(Y, P))


def test_calibration_in_both_pictures():
    display = plot.calibration(MODEL, X, NAMES, n_bins=5)
    parsed(display)
    curve, counts = display.plot().ax_
    frame = display.frame()
    line = next(
        one for one in curve.get_lines() if len(one.get_xdata()) == 5 and one.get_label()[0] != "_"
    )
    np.testing.assert_allclose(line.get_ydata(), frame["observed share"])
    ends = np.array([segment[:, 1] for segment in curve.collections[0].get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([frame["low"], frame["high"]]))
    np.testing.assert_array_equal(counts.patches[0].get_data().values, display.bins[0].counts)


def test_calibration_over_folds_and_for_three_classes():
    display = plot.calibration(GaussianNB(), X, NAMES, cv=FOLDS)
    p = cross_val_predict(GaussianNB(), X, NAMES, cv=FOLDS, method="predict_proba")[:, 1]
    observed, mean = calibration_curve(Y, p, n_bins=10)
    np.testing.assert_allclose(display.frame()["observed share"], observed)
    np.testing.assert_allclose(display.frame()["mean probability"], mean)
    iris, species = load_iris(return_X_y=True)
    several = plot.calibration(GaussianNB().fit(iris, species), iris, species)
    assert [part.name for part in several.bins] == ["0", "1", "2"]
    parsed(several)
    given = plot.CalibrationDisplay.from_predictions(Y, P, n_bins=4).frame()
    np.testing.assert_allclose(given["observed share"], calibration_curve(Y, P, n_bins=4)[0])


def test_thresholds():
    display = plot.threshold_curve(MODEL, X, NAMES, cost_fp=1, cost_fn=5)
    frame = display.frame()
    assert len(frame["threshold"]) == len(np.unique(P)) + 1
    for i in range(1, len(frame["threshold"]), 37):
        called = frame["threshold"][i] <= P
        assert frame["precision"][i] == pytest.approx(precision_score(Y, called))
        assert frame["recall"][i] == pytest.approx(recall_score(Y, called))
        assert frame["F1"][i] == pytest.approx(f1_score(Y, called))
        assert frame["accuracy"][i] == pytest.approx(accuracy_score(Y, called))
        cost = (called & (Y == 0)).sum() + 5 * (~called & (Y == 1)).sum()
        assert frame["cost"][i] == pytest.approx(cost / len(Y))
    costs = [((t <= P) & (Y == 0)).sum() + 5 * ((t > P) & (Y == 1)).sum() for t in np.unique(P)]
    assert min(frame["cost"]) == pytest.approx(min(min(costs), 5 * Y.sum()) / len(Y))
    assert display.best == frame["threshold"][int(np.argmin(frame["cost"]))]
    parsed(display)
    rates, cost = display.plot().ax_
    np.testing.assert_array_equal(cost.get_lines()[0].get_ydata(), frame["cost"][1:])
    np.testing.assert_array_equal(rates.get_lines()[1].get_ydata(), frame["recall"][1:])


def test_thresholds_over_folds_and_extreme_costs():
    display = plot.threshold_curve(GaussianNB(), X, NAMES, cv=FOLDS, pos_label="ill")
    p = cross_val_predict(GaussianNB(), X, NAMES, cv=FOLDS, method="predict_proba")[:, 0]
    np.testing.assert_allclose(display.frame()["threshold"][1:], np.unique(p)[::-1])
    never = plot.threshold_curve(MODEL, X, NAMES, cost_fp=1, cost_fn=0)
    assert never.best == np.inf
    assert "no row called positive" in never.svg()
    with pytest.raises(ParameterError, match="cost_fp and cost_fn"):
        plot.threshold_curve(MODEL, X, NAMES, cost_fp=-1)
    with pytest.raises(DataError, match="only one class"):
        plot.ThresholdDisplay.from_predictions([1, 1], [0.2, 0.3])


def test_probability_histogram():
    display = plot.probability_histogram(MODEL, X, NAMES, n_bins=8)
    frame = display.frame()
    for k, name in enumerate(["ill", "well"]):
        own = np.array(frame["class"]) == name
        counts, edges = np.histogram(P[k == Y], 8, (0, 1))
        np.testing.assert_array_equal(np.array(frame["rows"])[own], counts)
        np.testing.assert_allclose(np.array(frame["from"])[own], edges[:-1])
        np.testing.assert_allclose(
            np.array(frame["% of the class"])[own], 100 * counts / counts.sum()
        )
    parsed(display)
    patches = display.plot().ax_.patches
    np.testing.assert_allclose(
        np.concatenate([p.get_data().values for p in patches]), frame["% of the class"]
    )
    over = plot.probability_histogram(GaussianNB(), X, NAMES, cv=FOLDS, pos_label="ill")
    assert sum(over.frame()["rows"]) == len(X)
    assert "probability of ill" in over.svg()


def test_projection_histogram():
    lda = LinearDiscriminantAnalysis().fit(X, NAMES)
    frame = plot.projection_histogram(lda, X, NAMES, n_bins=12).frame()
    z = lda.transform(X)[:, 0]
    np.testing.assert_array_equal(
        frame["rows"][:12], np.histogram(z[Y == 0], 12, (z.min(), z.max()))[0]
    )
    model = Perceptron().fit(X, NAMES)
    display = plot.projection_histogram(model, X, NAMES)
    assert display.threshold == 0.0
    assert sum(display.frame()["rows"]) == len(X)
    naive = plot.projection_histogram(MODEL, X, NAMES)
    assert naive.label == "log-odds of well"
    iris, species = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="3 decision functions"):
        plot.projection_histogram(LogisticRegression().fit(iris, species), iris, species)


def test_unclear_input():
    with pytest.raises(DataError, match="between 0 and 1"):
        plot.CalibrationDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(DataError, match="only one class"):
        plot.CalibrationDisplay.from_predictions([1, 1], [0.5, 0.5])
    with pytest.raises(ParameterError, match="strategy must be"):
        plot.calibration(MODEL, X, NAMES, strategy="even")
    with pytest.raises(ParameterError, match="n_bins must be"):
        plot.calibration(MODEL, X, NAMES, n_bins=0)
    with pytest.raises(ParameterError, match="has no predict_proba"):
        plot.calibration(Perceptron().fit(X, NAMES), X, NAMES)
    with pytest.raises(DataError, match="3 classes need one column"):
        plot.ProbabilityHistogramDisplay.from_predictions([0, 1, 2], [0.1, 0.2, 0.3])
