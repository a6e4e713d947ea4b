"""The plain metrics, folds and bootstrap against the library and scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as peer
from sklearn.model_selection import GridSearchCV

from pellucid import inspection, linear_model, metrics, parallel, plain
from pellucid.model_selection import METRICS, search
from pellucid.model_selection.folds import PlainFolds
from tests.plain import tables
from tests.plain.test_linear import BINARY, REGRESSION, close

CLASSES = tables.class_tables()


@pytest.mark.parametrize("name", BINARY)
def test_metrics_of_two_classes(name):
    X, y = BINARY[name]
    model = plain.LogisticNewton(1.0).fit(X[::2], y[::2])
    proba, labels = model.predict_proba(X), model.predict(X)
    score = proba[:, 1].round(1)  # with equal scores
    scores, classes = np.column_stack([1 - score, score]), np.array([0, 1])
    for mine, own, given, theirs in (
        (plain.accuracy(y, labels), "accuracy", labels, peer.accuracy_score(y, labels)),
        (plain.log_loss(y, proba, classes), "log_loss", proba, peer.log_loss(y, proba)),
        (plain.auc(y, score), "roc_auc", scores, peer.roc_auc_score(y, score)),
    ):
        value = METRICS[own].compute(y, given, np.ones(len(y)), classes)
        assert mine == pytest.approx(value, rel=1e-12) and mine == pytest.approx(theirs, rel=1e-12)
    for ours, function in (
        (plain.precision, peer.precision_score),
        (plain.recall, peer.recall_score),
        (plain.f1, peer.f1_score),
    ):
        for positive in (0, 1):
            expected = function(y, labels, pos_label=positive)
            assert ours(y, labels, positive) == pytest.approx(expected, rel=1e-12)
    for ours, name in (
        (plain.brier, "brier_score_loss"),
        (plain.average_precision, "average_precision_score"),
    ):
        for library in (metrics, peer):
            assert ours(y, score) == pytest.approx(getattr(library, name)(y, score), rel=1e-12)
    precisions, recalls, _ = peer.precision_recall_curve(y, score)
    close(plain.precision_recall_curve(y, score), (precisions[-2::-1], recalls[-2::-1]), 1e-12)
    fpr, tpr, _ = peer.roc_curve(y, score, drop_intermediate=False)
    close(plain.roc_curve(y, score), (fpr, tpr), 1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_metrics_of_several_classes(name):
    X, y = CLASSES[name]
    model = plain.GaussianNB().fit(X[::2], y[::2])
    labels, classes = model.predict(X), np.unique(y)
    found = plain.confusion_matrix(y, labels, classes)
    assert np.array_equal(found, peer.confusion_matrix(y, labels))
    assert plain.accuracy(y, labels) == pytest.approx(np.trace(found) / len(y), rel=1e-12)
    proba = model.predict_proba(X)
    expected = peer.log_loss(y, proba)
    assert plain.log_loss(y, proba, classes) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", REGRESSION)
def test_metrics_of_numbers(name):
    X, y = REGRESSION[name]
    predicted, ones = plain.LeastSquares().fit(X[::2], y[::2]).predict(X), np.ones(len(y))
    for mine, own, theirs in (
        (plain.rmse, "rmse", peer.root_mean_squared_error),
        (plain.mae, "mae", peer.mean_absolute_error),
        (plain.r2, "r2", peer.r2_score),
    ):
        value = mine(y, predicted)
        assert value == pytest.approx(METRICS[own].compute(y, predicted, ones), rel=1e-12)
        assert value == pytest.approx(theirs(y, predicted), rel=1e-12)


def folds_of_the_library(n, K):
    """The library's folds, and the generator that it draws them with."""
    rng = parallel.stream(parallel.seed_sequence(7), "folds", 0)
    return list(PlainFolds(K, 7).split(np.zeros(n))), rng


@pytest.mark.parametrize("name", REGRESSION)
def test_folds_and_the_choice_of_a_setting(name):
    X, y = REGRESSION[name]
    expected, rng = folds_of_the_library(len(y), 5)
    folds = plain.k_folds(len(y), 5, rng)
    for mine, theirs in zip(folds, expected, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs))
    alphas = [0.01, 1.0, 30.0, 1000.0]
    chosen, means = plain.choose(plain.Ridge, alphas, X, y, folds, plain.rmse)
    found = search(linear_model.Ridge(), X, y, {"alpha": alphas}, cv=folds, scoring="rmse")
    assert found.params == {"alpha": chosen}
    close(means, found.scores.mean(axis=1), 1e-9)
    losses = plain.cross_validate(plain.Ridge, chosen, X, y, folds, plain.rmse)
    close(losses, found.scores[found.best], 1e-9)


class Recorded:
    """A generator that keeps the permutations it drew."""

    def __init__(self):
        self.rng, self.drawn = np.random.default_rng(3), []

    def permutation(self, n):
        self.drawn.append(self.rng.permutation(n))
        return self.drawn[-1]


def splits(order, K):
    """Folds from a permutation: every K-th of its rows is in one fold."""
    return [(np.setdiff1d(order, order[k::K]), np.sort(order[k::K])) for k in range(K)]


@pytest.mark.parametrize("name", REGRESSION)
def test_nested_cross_validation(name):
    X, y = REGRESSION[name]
    alphas, rng = [0.01, 1.0, 30.0, 1000.0], Recorded()
    losses, chosen = plain.nested_cross_validate(plain.Ridge, alphas, X, y, 4, 3, plain.rmse, rng)
    outer, *inner = rng.drawn
    for k, (train, test) in enumerate(splits(outer, 4)):
        grid = GridSearchCV(
            linear_model.Ridge(), {"alpha": alphas}, cv=splits(inner[k], 3),
            scoring="neg_root_mean_squared_error",
        ).fit(X[train], y[train])  # fmt: skip
        assert grid.best_params_["alpha"] == chosen[k]
        assert losses[k] == pytest.approx(-grid.score(X[test], y[test]), rel=1e-9)


class ResamplesOfTheLibrary:
    """The rows that the library draws with this seed, one resample after the other."""

    def __init__(self, seed):
        self.seed, self.number = parallel.seed_sequence(seed), -1

    def integers(self, *arguments):
        self.number += 1
        return parallel.stream(self.seed, "bootstrap", self.number).integers(*arguments)


@pytest.mark.parametrize("name", REGRESSION)
def test_bootstrap(name):
    X, y = REGRESSION[name]
    rows = np.column_stack([X[:, :2], y])
    for statistic in (lambda r: r.mean(axis=0), lambda r: np.corrcoef(r.T)[0, 2]):
        mine = plain.Bootstrap(statistic, 200, 0.9, ResamplesOfTheLibrary(4)).fit(rows)
        found = inspection.bootstrap(
            None, rows, statistic=statistic, n_resamples=200, level=0.9, random_state=4
        )
        for own, theirs in (
            (mine.values, found.replicates),
            (mine.estimate, found.estimate),
            (mine.standard_error, found.std_error),
            (mine.low, found.low),
            (mine.high, found.high),
        ):
            close(own, theirs, 1e-12)


def test_the_bootstrap_knows_the_variance_of_a_mean():
    x = np.random.default_rng(0).exponential(size=400)
    found = plain.Bootstrap(np.mean, 4000).fit(x)
    assert found.standard_error == pytest.approx(x.std() / 20, rel=0.05)
    assert found.low < x.mean() < found.high
