"""Networks: worked gradients, finite differences, the loops."""

import numpy as np
import pytest

from pellucid import parallel
from pellucid.errors import ConvergenceWarning, DataError, NotFittedError, ParameterError
from pellucid.neural_network import Dense, MLPRegressor, Network, _loops
from pellucid.neural_network.layers import ACTIVATIONS, LOSSES
from pellucid.neural_network.network import Workspace
from pellucid.plain import FeedForward
from tests.neural_network import plain

X = np.array([[1.0, 2.0], [-1.0, 0.5]])
W1 = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.5]])
C1 = np.array([0.1, -0.2, 0.3])
W2 = np.array([[1.0, -1.0, 0.5], [0.25, 0.5, -0.75]])
C2 = np.array([0.05, -0.1])
# Summed loss, targets, loss, and its gradient in W1, c1, W2, c2.
WORKED = {
    "squared": (
        [[1, 0], [0, 2]], 16.45640625,
        [[-5.2625, -10.525], [5.975, 11.95], [-8.36875, -4.471875]], [-5.2625, 5.975, 1.44375],
        [[-0.55, -12.65, -3.1925], [0.095, 2.185, -5.30375]], [-4.35, -4.825],
    ),
    "log": (
        [[1, 0], [0, 1]], 5.12251453721336,
        [[-0.6978111758, -1.3956223517], [1.1602360542, 2.3204721085],
         [-1.7396398210, -1.3511832879]], [-0.6978111758, 1.1602360542, -0.0371627377],
        [[-0.0851952802, -1.9594914445, -0.0096503400],
         [0.0616566505, 1.4181029604, -0.2505394870]], [-0.2120367052, -0.0918074865],
    ),
}  # fmt: skip


def by_hand(W1, c1, W2, c2, loss):
    network = Network(W1.shape[1], loss=loss).add(Dense(len(W1), "relu"))
    network.add(Dense(len(W2), LOSSES[loss].output))
    for part, given in zip([*network.coefs, *network.intercepts], [W1.T, W2.T, c1, c2]):
        part[...] = given
    return network


@pytest.mark.parametrize("loss", WORKED)
def test_worked_gradients(loss):
    Y, value, *expected = WORKED[loss]
    Y = np.array(Y, dtype=float)
    network = by_hand(W1, C1, W2, C2, loss)
    np.testing.assert_allclose(network.scores(X), [[-1.75, 0.475], [0.575, -0.8875]], atol=1e-12)
    scale = len(X) * (2 if loss == "squared" else 1)  # from halved means to sums
    found, gradient = network.gradient(X, Y)
    assert found * scale == pytest.approx(value, abs=1e-9)
    made = FeedForward((2, 3, 2), "relu", loss)
    made.W, made.b = [W1.T, W2.T], [C1, C2]
    assert made.loss(Y, network.scores(X)).sum() * scale / len(X) == pytest.approx(value, abs=1e-9)
    forms = made.gradient_by_loops(X, Y), made.gradient_by_matrices(X, Y), network.views(gradient)
    for (dW1, dW2), (dc1, dc2) in forms:
        for ours, wanted in zip((dW1.T, dc1, dW2.T, dc2), expected):
            np.testing.assert_allclose(ours * scale, wanted, atol=1e-9)


def differences(value, x, step=1e-5):
    """Central differences of fourth order."""
    out = np.empty_like(x)
    for i in range(len(x)):
        at = [value(x + k * step * (np.arange(len(x)) == i)) for k in (-2, -1, 1, 2)]
        out[i] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)
    return out


def problem(rng, loss, activation, depth=2):
    K = 3
    hidden = [Dense(4, activation)] * depth
    network = Network(3, [*hidden, Dense(K, LOSSES[loss].output)], loss).draw(rng)
    Y = np.eye(K)[rng.integers(0, K, 8)] * (2.5 if loss in ("squared", "poisson") else 1)
    return network, rng.normal(size=(8, 3)), Y, rng.random(8) + 0.1


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_derivatives(rng, loss, activation):
    network, X, Y, w = problem(rng, loss, activation)
    gradient = network.gradient(X, Y, w)[1].copy()

    def value(x):
        network.parameters[...] = x
        return network.gradient(X, Y, w)[0]

    found = differences(value, network.parameters.copy())
    assert np.abs(found - gradient).max() < 1e-7 * max(1, np.abs(gradient).max())


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_with_dropout_are_derivatives(rng, activation):
    network, X, Y, w = problem(rng, "squared", activation)
    masks = [(rng.random((8, 4)) < 0.5) * 2.0 for _ in range(2)]
    space, share = Workspace(network, 8), w / w.sum()
    network.backward(X, Y, share, space, masks)
    gradient = space.gradient.copy()

    def value(x):
        network.parameters[...] = x
        return network.backward(X, Y, share, space, masks)

    found = differences(value, network.parameters.copy())
    assert np.abs(found - gradient).max() < 1e-7 * max(1, np.abs(gradient).max())


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_stay_finite_at_sure_answers(loss):
    Z, Y = np.array([[800.0, -800.0], [-700.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    if loss == "poisson":
        Z = Z / 10
    value = LOSSES[loss].evaluate(Z, Y, np.array([0.5, 0.5]))
    assert np.isfinite(value) and np.isfinite(Z).all()


def test_absolute_value_by_two_units():
    one = np.array([[1.0], [-1.0]])
    network = by_hand(one, np.zeros(2), one.T * [[1, -1]], np.zeros(1), "squared")
    assert network.predict(np.array([[-3.0], [0.0], [2.5]])).ravel().tolist() == [3.0, 0.0, 2.5]


def test_rectifier_has_slope_zero_at_zero():
    D = np.ones((1, 3))
    ACTIVATIONS["relu"].times_derivative(np.array([[0.0, -1.0, 2.0]]), D)
    assert D.tolist() == [[0.0, 0.0, 1.0]]


def test_summary_counts_parameters():
    network = Network(13).add(Dense(8, "relu")).add(Dense(1, "identity"))
    table = network.summary().frame()
    assert table["parameters"] == [112, 9] and network.n_parameters == 121
    assert table["weights"] == ["13 x 8", "8 x 1"]


def test_adding_a_layer_keeps_the_parameters(rng):
    network = Network(3).add(Dense(4)).draw(rng)
    before = network.coefs[0].copy()
    network.add(Dense(2, "identity"))
    assert (network.coefs[0] == before).all() and not network.coefs[1].any()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Network(2, loss="hinge"), "'loss' parameter of Network"),
        (lambda: Network(0), r"'inputs' parameter of Network must be an int in the range \[1"),
        (lambda: Network(2).add("relu"), r"Dense\(8, 'relu'\). Got 'relu' instead"),
        (lambda: Network(2, [8]), "Got 8 instead"),
        (lambda: Dense(0), "'units' parameter of Dense"),
        (lambda: Dense(3, "step"), "'activation' parameter of Dense"),
        (lambda: Dense(3, dropout=1.0), "'dropout' parameter of Dense"),
        (lambda: Network(2, [Dense(1, "relu")]).check(), "must have activation 'identity'"),
        (lambda: Network(2).check(), "no layer"),
        (
            lambda: Network(2, [Dense(3, "softmax"), Dense(1, "identity")]).check(),
            "only the last layer",
        ),
    ],
)
def test_wrong_networks_are_named(build, words):
    with pytest.raises(ParameterError, match=words):
        build()


def test_networks_without_parameters_say_so(rng):
    """All 0 is no answer; hidden layers of zeros are drawn before they are trained."""
    network = Network(2, [Dense(6, "tanh"), Dense(1, "linear")])
    assert network.layers[1].activation == "identity"  # "linear" is another name of it
    rows = rng.normal(size=(40, 2))
    with pytest.raises(NotFittedError, match="no parameters yet"):
        network.predict(rows)
    network.train(rows, rows[:, 0] ** 2, random_state=0, solver="lbfgs")
    assert ((network.predict(rows.tolist())[:, 0] - rows[:, 0] ** 2) ** 2).mean() < 0.05
    assert (
        Network(2, [Dense(1, "linear")]).train(rows, rows[:, 0], solver="gd", epochs=1).n_iter == 1
    )
    for wrong in (rows[:, :1], rows[0]):
        with pytest.raises(DataError, match="expects 2 columns, but X has shape"):
            network.predict(wrong)
    with pytest.raises(DataError, match="needs numeric data"):
        network.predict([["a", "b"]])


def test_messages_use_the_names_of_whoever_was_asked(rng):
    rows = rng.normal(size=(40, 2))
    network = Network(2, [Dense(4), Dense(1, "linear")]).draw(rng)
    told = network.train(rows, rows[:, 0], epochs=2).status
    assert told.suggestion == "Increase epochs, or rate if the loss falls slowly."
    assert network.train(rows, rows[:, 0], solver="gd", rate=1e9).status.suggestion.startswith(
        "Lower rate,"
    )
    dropped = Network(2, [Dense(4, dropout=0.1), Dense(1, "linear")]).draw(rng)
    with pytest.raises(ParameterError, match="smaller batch"):
        dropped.train(rng.normal(size=(70_000, 2)), np.ones(70_000), batch=70_000)
    model = MLPRegressor(hidden_layer_sizes=4, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter, or learning_rate_init"):
        model.fit(rows, rows[:, 0])


def test_threads_share_no_space(rng):
    """Two threads may ask for the last free arrays at once."""
    network = Network(3, [Dense(5, "tanh"), Dense(2, "linear")]).draw(rng)
    rows = rng.normal(size=(200_000, 3))
    alone = network.scores(rows)
    threads = parallel.get_threads()
    try:
        parallel.set_threads(4)
        for _ in range(5):
            assert np.array_equal(network.scores(rows), alone)
    finally:
        parallel.set_threads(threads)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loops_of_optimisers(rng, dtype):
    x, slopes = rng.normal(size=37).astype(dtype), rng.normal(size=(5, 37)).astype(dtype)
    digits = 1e-13 if dtype is np.float64 else 1e-5
    found, m, v = x.copy(), np.zeros_like(x), np.zeros_like(x)
    for t, g in enumerate(slopes, 1):
        rate = 0.1 * np.sqrt(1 - 0.99**t) / (1 - 0.8**t)
        _loops.adam(found, g, m, v, 0.0, rate, 0.8, 0.99, 0.0)
    np.testing.assert_allclose(
        found, plain.adam(x, slopes, 0.1, 0.8, 0.99, 0.0), rtol=digits, atol=digits
    )
    for nesterov in (False, True):
        found, v = x.copy(), np.zeros_like(x)
        for g in slopes:
            _loops.momentum(found, g, v, 0.0, 0.1, 0.7, nesterov)
        expected = plain.momentum(x, slopes, 0.1, 0.7, nesterov)
        np.testing.assert_allclose(found, expected, rtol=digits, atol=digits)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loops_of_rectifiers(rng, dtype):
    Z, b = rng.normal(size=(7, 5)).astype(dtype), rng.normal(size=5).astype(dtype)
    A = Z.copy()
    _loops.add_and_rectify(A, b)
    assert (np.maximum(Z + b, 0) == A).all()
    D = rng.normal(size=(7, 5)).astype(dtype)
    expected = np.where(A > 0, D, 0)
    _loops.rectified_slope(A, D)
    assert (expected == D).all()
    A[2, 2] = np.nan
    _loops.add_and_rectify(A, b)
    assert np.isnan(A[2, 2])  # divergence must not be hidden


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_loop_of_the_log_loss(rng, dtype):
    Z, Y = (3 * rng.normal(size=(9, 2))).astype(dtype), rng.integers(0, 2, (9, 2)).astype(dtype)
    share = rng.dirichlet(np.ones(9)).astype(dtype)
    p = 1 / (1 + np.exp(-Z.astype(float)))
    losses = -(Y * np.log(p) + (1 - Y) * np.log(1 - p)).sum(axis=1)
    digits = 1e-12 if dtype is np.float64 else 1e-5
    slopes = share[:, None] * (p - Y)
    assert _loops.log_loss(Z, Y, share) == pytest.approx(float(share @ losses), rel=digits)
    np.testing.assert_allclose(Z, slopes, rtol=digits, atol=digits)


@pytest.mark.parametrize("solver", ["gd", "sgd", "adam", "lbfgs"])
def test_a_network_built_by_hand_is_trained_by_every_optimiser(rng, solver):
    """Two outputs, a layer of each kind, dropout in one of them; a weight of 2 is a second copy."""
    X = rng.uniform(-1, 1, size=(160, 2))
    Y = np.column_stack([np.abs(X[:, 0]), X[:, 0] * X[:, 1]])
    layers = [Dense(12, "tanh", dropout=0.1 * (solver == "adam")), Dense(8, "relu")]
    network = Network(2, [*layers, Dense(2, "identity")]).draw(rng)
    before = network.gradient(X, Y)[0]
    rate = 0.01 if solver == "adam" else 0.2
    found = network.train(
        X, Y, random_state=0, solver=solver, rate=rate, epochs=150, batch=40, alpha=1e-6
    )
    assert network.gradient(X, Y)[0] < 0.2 * before
    assert len(found.history["objective"]) and found.n_iter <= 150
    again, twice = (Network(2, [Dense(3), Dense(2, "identity")]) for _ in range(2))
    options = {"solver": "gd", "rate": 0.1, "epochs": 5}
    again.draw(np.random.default_rng(1)).train(X, Y, np.full(160, 2.0), **options)
    twice.draw(np.random.default_rng(1)).train(np.tile(X, (2, 1)), np.tile(Y, (2, 1)), **options)
    np.testing.assert_allclose(again.parameters, twice.parameters, rtol=1e-12, atol=1e-14)


def test_divergence_of_a_network_built_by_hand_is_named(rng):
    X = rng.normal(size=(50, 3))
    network = Network(3, [Dense(4), Dense(1, "identity")]).draw(rng)
    found = network.train(X, X[:, 0], solver="gd", rate=1e9)
    assert found.status.code == "diverged" and "layer" in found.status.message
    assert np.isfinite(network.predict(X)).all()


@pytest.mark.parametrize(
    ("X", "Y", "options", "words"),
    [
        (np.ones((4, 3)), np.ones((4, 1)), {}, r"\(n, 2\), Y of shape \(n, 1\).*\(4, 3\)"),
        (np.ones((4, 2)), np.ones((5, 1)), {}, r"Got shapes \(4, 2\), \(5, 1\), \(5,\)"),
        (np.ones((4, 2)), np.full(4, np.nan), {}, "finite values"),
        (np.ones((4, 2)), np.ones(4), {"speed": 1}, "no option 'speed'.*'solver'"),
        (
            np.ones((4, 2)),
            np.ones(4),
            {"solver": "newton"},
            "'solver' option of Network.train must",
        ),
        (np.ones((4, 2)), np.ones(4), {"rate": 0}, "'rate' option"),
    ],
)
def test_what_a_network_cannot_learn_from_is_named(X, Y, options, words):
    network = Network(2, [Dense(1, "identity")])
    with pytest.raises(ValueError, match=words):
        network.train(X, Y, **options)


def test_messages_show_numbers_as_they_are_written():
    for build in (
        lambda: Dense(np.int64(0)),
        lambda: Network(np.float64(2.0)),
        lambda: Network(2, [np.int64(3)]),
    ):
        with pytest.raises(ParameterError) as told:
            build()
        assert "np." not in str(told.value)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0, 1, 2, 9])
def test_adam_moves_parameters_of_any_number(kind, size):
    rng = np.random.default_rng(size)
    x, g, m = (rng.normal(size=size).astype(kind) for _ in range(3))
    v = rng.random(size).astype(kind)
    mean, square = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    expected = x - 0.05 * mean / (np.sqrt(square) + 1e-3)
    _loops.adam(x, g, m, v, 0.0, 0.05, 0.9, 0.99, 1e-3)
    np.testing.assert_allclose(x, expected, rtol=1e-5)
    np.testing.assert_allclose(m, mean, rtol=1e-5)


def test_bounds_of_random_parameters_follow_the_hidden_layers():
    """Glorot's factor is 2 for a hidden logistic layer, 6 otherwise, also for an output alone."""
    network = Network(40, [Dense(60, "logistic")]).draw(np.random.default_rng(0))
    bound = np.sqrt(6.0 / 100)
    assert 0.98 * bound < np.abs(network.coefs[0]).max() <= bound
    network = Network(40, [Dense(60, "logistic"), Dense(1)]).draw(np.random.default_rng(0))
    bound = np.sqrt(2.0 / 100)
    assert 0.98 * bound < np.abs(network.coefs[0]).max() <= bound
