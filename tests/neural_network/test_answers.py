"""Answers of networks: labels beside probabilities, cells that are not finite, tables not copied."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse

from pellucid.errors import DataError
from pellucid.neural_network import Dense, MLPClassifier, MLPRegressor, Network


def quiet(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [1e-17, 1e-15, 1e-12, 1e-10, 1.0])
def test_labels_are_the_largest_probabilities_at_near_ties_too(rng, classes, size):
    X = rng.normal(size=(400, 2))
    model = quiet(MLPClassifier((), max_iter=1, random_state=0), X, np.arange(400) % classes)
    model.coefs_[0] *= size
    model.intercepts_[0][:] = 0.0 if classes == 2 else 5.0
    assert (model.predict(X) == model.predict_proba(X).argmax(axis=1)).all()
    tied = model.predict_proba(X[:, :] * 0.0)
    assert (tied == tied[:, :1]).all() and not model.predict(X * 0.0).any()


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_activation_hides_a_cell_that_is_not_finite(rng, activation, value):
    network = Network(3, [Dense(4, activation), Dense(2, "identity")]).draw(rng)
    network.coefs[0][...] = -np.abs(network.coefs[0])
    X = rng.normal(size=(6, 3))
    X[4, 1] = value
    found = network.scores(X)
    assert np.isnan(found[4]).all() and np.isfinite(np.delete(found, 4, axis=0)).all()
    model = quiet(MLPRegressor(hidden_layer_sizes=3, activation=activation), X[:4], X[:4, 0])
    if np.isinf(value):
        with pytest.raises(DataError, match="infinity: row 4, column 'x1'"):
            model.predict(X)
    else:
        filled = np.where(np.isnan(X), model.schema_.mean, X)
        assert (model.predict(X) == model.predict(filled)).all()


def test_cells_whose_sum_overflows_are_finite(rng):
    network = Network(2, [Dense(3, "tanh"), Dense(1, "identity")]).draw(rng)
    assert np.isfinite(network.scores(np.full((5, 2), 1e308))).all()


@pytest.mark.parametrize("solver", ["adam", "gd", "lbfgs"])
def test_the_table_is_not_copied(rng, solver):
    X = rng.normal(size=(6000, 300))
    y = (X[:, 0] > 0).astype(int)
    options = {"hidden_layer_sizes": 2, "max_iter": 2, "solver": solver, "random_state": 0}
    quiet(MLPClassifier(**options), X[:50], y[:50])
    tracemalloc.start()
    try:
        quiet(MLPClassifier(**options), X, y)
        assert tracemalloc.get_traced_memory()[1] < 0.7 * X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("stop", [False, True])
def test_places_of_rows_follow_the_rows(rng, stop):
    """Rows in another order, weights for copies, dense or sparse: one model."""
    X = np.round(rng.normal(size=(300, 3)), 1)
    y, w = (X[:, 0] + X[:, 1] > 0).astype(int), rng.integers(1, 4, 300)
    options = {"hidden_layer_sizes": 4, "max_iter": 5, "early_stopping": stop, "random_state": 0}
    order = rng.permutation(int(w.sum()))
    copies = np.repeat(np.arange(300), w)[order]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = MLPClassifier(**options).fit(X, y, sample_weight=w)
        other = MLPClassifier(**options).fit(X[copies], y[copies])
        third = MLPClassifier(**options).fit(sparse.csr_array(X), y, sample_weight=w)
    assert all((a == b).all() for a, b in zip(one.coefs_, other.coefs_))
    assert (one.means_ == other.means_).all()
    np.testing.assert_allclose(one.coefs_[0], third.coefs_[0], rtol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_logarithms_of_probabilities_that_no_float_holds(rng, classes):
    X = rng.normal(size=(60, 2))
    model = quiet(MLPClassifier((), max_iter=3, random_state=0), X, np.arange(60) % classes)
    np.testing.assert_allclose(
        model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-12
    )
    sure = model.predict_log_proba(1e5 * X)
    assert np.isfinite(sure).all() and sure.min() < -1000
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(np.exp(sure), model.predict_proba(1e5 * X), atol=1e-12)
