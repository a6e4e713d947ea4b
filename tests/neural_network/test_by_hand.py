"""What a network built by hand is given: weights of 0, targets its loss cannot have, empty tables."""

import numpy as np
import pytest
from scipy import sparse

from pellucid.errors import DataError, ParameterError
from pellucid.neural_network import Dense, Network
from pellucid.neural_network.layers import LOSSES


@pytest.mark.parametrize("solver", ["gd", "sgd", "adam", "lbfgs"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_without_weight_are_absent(rng, solver, form):
    """The first batches would hold nothing but such rows."""
    X, w = rng.normal(size=(100, 6)), np.r_[np.zeros(32), np.ones(68)]
    found = []
    for rows, weights in ((slice(None), w), (slice(32, None), None)):
        network = Network(6, [Dense(4, "tanh"), Dense(1, "identity")]).draw(
            np.random.default_rng(1)
        )
        options = {"batch": 10, "epochs": 3, "shuffle": False, "solver": solver}
        network.train(form(X[rows]), X[rows, 0] ** 2, weights, **options)
        found.append(network.parameters)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.zeros(4), "must be positive, but all are 0"),
        ([1.0, 1.0, -0.5, 1.0], "must not be negative, but row 2 has -0.5"),
        (["a"] * 4, "needs numeric data"),
        (np.ones((4, 1)), r"\(4, 1\)"),
    ],
)
def test_weights_that_no_mean_has_are_named(rng, weights, words):
    network, X = Network(2, [Dense(1, "identity")]).draw(rng), rng.normal(size=(4, 2))
    with pytest.raises(DataError, match=words):
        network.train(X, X[:, 0], weights)
    if "0" in words and np.ndim(weights) == 1:
        with pytest.raises(DataError, match=words):
            network.gradient(X, X[:, :1], weights)


@pytest.mark.parametrize(
    ("loss", "Y", "words"),
    [
        ("log", [[0], [-1.0]], "between 0 and 1, but row 1 has -1"),
        ("log", [[2.0], [1]], "row 0 has 2"),
        ("cross_entropy", [[1, 0], [1, 1]], "sum to 1, but row 1 has 1, 1"),
        ("cross_entropy", [[5.0], [1]], "row 0 has 5"),
        ("cross_entropy", [[1, 0], [2, -1]], "row 1 has 2, -1"),
        ("poisson", [[3], [-1.0]], "non-negative, but row 1 has -1"),
    ],
)
def test_targets_that_a_loss_cannot_have_are_named(rng, loss, Y, words):
    Y = np.array(Y, dtype=float)
    network = Network(2, [Dense(Y.shape[1], LOSSES[loss].output)], loss).draw(rng)
    before = network.parameters.copy()
    with pytest.raises(DataError, match=f"Targets of loss '{loss}' must be .*{words}"):
        network.train(rng.normal(size=(2, 2)), Y)
    assert (network.parameters == before).all()
    wrong = int(words.split("row ")[1][0])
    assert network.train(rng.normal(size=(2, 2)), Y, 1.0 - np.eye(2)[wrong], epochs=1).n_iter == 1


def test_the_last_layer_leaves_nothing_out(rng):
    network = Network(2, [Dense(3), Dense(1, "identity", dropout=0.9)]).draw(rng)
    X = rng.normal(size=(5, 2))
    for use in (lambda: network.train(X, X[:, 0]), lambda: network.predict(X)):
        with pytest.raises(ParameterError, match=r"'dropout' .* last layer must be 0.* Got 0.9"):
            use()


@pytest.mark.parametrize("dtype", [int, "float16", complex, "abc", None, object(), "S3"])
def test_other_precisions_are_named(dtype):
    if dtype is None:  # NumPy's own default
        assert Network(3, dtype=dtype).dtype == np.float64
        return
    with pytest.raises(
        ParameterError, match=r"'dtype' parameter of Network .*\['float64', 'float3"
    ):
        Network(3, dtype=dtype)


def test_no_rows_and_cells_that_are_no_numbers_are_named(rng):
    network, X = Network(2, [Dense(1, "identity")]).draw(rng), rng.normal(size=(3, 2))
    with pytest.raises(DataError, match="have no rows"):
        network.train(X[:0], X[:0, 0])
    assert network.predict(X[:0]).shape == (0, 1)
    for wrong in (np.nan, np.inf):
        X[1, 0] = wrong
        for form in (np.asarray, sparse.csr_array):
            with pytest.raises(DataError, match="X contains NaN or infinity"):
                network.predict(form(X))
