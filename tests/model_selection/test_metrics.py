"""Every metric against scikit-learn's, with weights, ties, several classes."""

import numpy as np
import pytest
from sklearn import metrics as sk

from pellucid.errors import ParameterError
from pellucid.model_selection import METRICS, metric
from pellucid.model_selection.metrics import (
    ALIASES,
    imbalanced,
    poisson_deviances,
    recall_by_class,
)

OURS = {
    "accuracy": sk.accuracy_score, "balanced_accuracy": sk.balanced_accuracy_score,
    "r2": sk.r2_score, "rmse": sk.root_mean_squared_error, "mae": sk.mean_absolute_error,
}  # fmt: skip


def data(seed, n_classes):
    rng = np.random.default_rng(seed)
    n = 60
    y = rng.permutation(np.arange(n) % n_classes)
    proba = rng.dirichlet(np.ones(n_classes), n).round(2)
    proba /= proba.sum(axis=1, keepdims=True)
    return y, proba, proba.argmax(axis=1), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_classification_metrics(seed, n_classes):
    y, proba, labels, w = data(seed, n_classes)
    classes = np.arange(n_classes)
    several = n_classes > 2
    binary = proba if several else proba[:, 1]
    expected = {
        "accuracy": sk.accuracy_score(y, labels, sample_weight=w),
        "balanced_accuracy": sk.balanced_accuracy_score(y, labels, sample_weight=w),
        "f1": sk.f1_score(y, labels, sample_weight=w, average="macro" if several else "binary"),
        "log_loss": sk.log_loss(y, proba, sample_weight=w),
        "roc_auc": sk.roc_auc_score(
            y, binary, sample_weight=w, multi_class="ovr" if several else "raise"),
        "average_precision": sk.average_precision_score(y, binary, sample_weight=w),
    }  # fmt: skip
    for name, value in expected.items():
        said = labels if METRICS[name].needs == "labels" else proba
        assert METRICS[name].compute(y, said, w, classes) == pytest.approx(value, rel=1e-12), name


@pytest.mark.parametrize("name", ["r2", "rmse", "mae"])
def test_regression_metrics(name):
    rng = np.random.default_rng(0)
    y, predicted, w = rng.normal(size=30), rng.normal(size=30), rng.random(30)
    expected = OURS[name](y, predicted, sample_weight=w)
    assert METRICS[name].compute(y, predicted, w) == pytest.approx(expected, rel=1e-12)


def test_scores_of_two_classes_may_be_one_column():
    y, proba, _, w = data(0, 2)
    for name in ("roc_auc", "average_precision"):
        compute = METRICS[name].compute
        classes = np.array([0, 1])
        assert compute(y, proba[:, 1] * 7 - 3, w, classes) == pytest.approx(
            compute(y, proba, w, classes), rel=1e-12
        )


def test_scores_of_minus_infinity_are_equal():
    y, w = np.array([1, 0, 1, 0, 0]), np.ones(5)
    score = np.array([0.3, -np.inf, -np.inf, -np.inf, 0.1])
    for order in (slice(None), slice(None, None, -1)):
        found = METRICS["average_precision"].compute(y[order], score[order], w, np.arange(2))
        assert found == pytest.approx(0.5 * 1 + 0.5 * 2 / 5)


def test_impossible_is_nan():
    one = np.zeros(3, dtype=int)
    scores, w, classes = np.array([0.1, 0.2, 0.3]), np.ones(3), np.array([0, 1])
    assert np.isnan(METRICS["roc_auc"].compute(one, scores, w, classes))
    assert np.isnan(METRICS["r2"].compute(np.ones(1), np.ones(1), np.ones(1)))


def test_confusion_example():
    """Six right cats of eight, three right others of four: F1 0.8, accuracy 0.75."""
    y = np.array([1] * 8 + [0] * 4)
    labels = np.array([1] * 6 + [0] * 2 + [1] + [0] * 3)
    w, classes = np.ones(12), np.array([0, 1])
    assert METRICS["f1"].compute(y, labels, w, classes) == pytest.approx(0.8, rel=1e-15)
    assert METRICS["accuracy"].compute(y, labels, w, classes) == 0.75


def test_names():
    assert metric("neg_mean_squared_log_error").needs == "model"
    with pytest.raises(ParameterError, match=r"Unknown metric 'AUC'\. Did you mean 'roc_auc'\?"):
        metric("AUC")
    with pytest.raises(ParameterError, match="Unknown metric 'nope'"):
        metric("nope")


@pytest.mark.parametrize("seed", range(3))
def test_poisson_deviance_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    mu, w = rng.gamma(2.0, 1.0, 50), rng.integers(1, 4, 50).astype(float)
    y = rng.poisson(mu).astype(float)
    expected = sk.mean_poisson_deviance(y, mu, sample_weight=w)
    assert METRICS["poisson_deviance"].compute(y, mu, w) == pytest.approx(expected, rel=1e-12)
    rows = poisson_deviances(y, mu, w)
    assert np.average(rows, weights=w) == pytest.approx(expected, rel=1e-12)
    assert rows[0] == pytest.approx(sk.mean_poisson_deviance(y[:1], mu[:1]), rel=1e-12)


def test_poisson_deviance_of_impossible_means():
    """0 or less counts as a thousandth of the mean count: bad where something happened, not endless."""
    y, w = np.array([0.0, 0.0, 3.0, 5.0]), np.ones(4)
    said = np.array([-7.0, 0.0, -1.0, 4.0])
    rows = poisson_deviances(y, said)
    assert np.isfinite(rows).all()
    assert rows[0] == rows[1] == pytest.approx(2 * 0.002)
    assert rows[2] == pytest.approx(2 * (3 * np.log(3 / 0.002) - 3 + 0.002))
    assert METRICS["poisson_deviance"].compute(y, said, w) == pytest.approx(rows.mean())
    none = poisson_deviances(np.zeros(2), np.array([-1.0, 0.5]))
    assert none.tolist() == [0.0, 1.0]
    assert np.isnan(poisson_deviances(np.array([-1.0, 2.0]), np.ones(2))).tolist() == [True, False]


def test_poisson_deviance_of_huge_predictions_is_infinite_not_nan():
    found = poisson_deviances(np.array([0.0, 2.0]), np.array([np.inf, 1e308]))
    assert not np.isnan(found).any()


@pytest.mark.parametrize("seed", range(3))
def test_recall_by_class_is_scikit_learns(seed):
    y, _, labels, w = data(seed, 4)
    expected = sk.recall_score(y, labels, sample_weight=w, average=None)
    assert recall_by_class(y, labels, w, 4) == pytest.approx(expected, rel=1e-12)
    assert np.isnan(recall_by_class(y, labels, w, 5)[4])


def test_imbalance_is_that_of_the_rarest_class_that_occurs():
    y, w = np.repeat([0, 2], [90, 10]), np.ones(100)
    assert imbalanced(y, w, 3)
    assert not imbalanced(y, np.where(y == 2, 4.0, 1.0), 3)  # weights count
    assert not imbalanced(np.zeros(5, dtype=int), np.zeros(5), 2)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("auc", "roc_auc"), ("AUC", "roc_auc"), ("logloss", "log_loss"), ("mse", "rmse"),
        ("neg_mse", "rmse"), ("f1-score", "f1"), ("rocauc", "roc_auc"), ("MCC", "matthews_corrcoef"),
        ("poisson", "poisson_deviance"), ("acuracy", "accuracy"), ("R-squared", "r2"),
    ],
)  # fmt: skip
def test_names_of_other_libraries_are_understood_in_the_error(said, meant):
    with pytest.raises(ParameterError, match=f"Did you mean '{meant}'"):
        metric(said)


def test_every_alias_leads_to_a_metric():
    for name in set(ALIASES.values()):
        assert metric(name).name == name
