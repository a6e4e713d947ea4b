"""The layers of a network while it is trained, against plain NumPy."""

import numpy as np
import pytest

import pellucid
from pellucid.neural_network import Dense, MLPClassifier, MLPRegressor, Network

RNG = np.random.default_rng(1)
X = RNG.normal(size=(50, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


def plain_steps(coefs, intercepts, rate, epochs):
    """Gradient descent on half the mean squared error of one tanh layer, by the chain rule."""
    (A, B), (a, b) = [W.copy() for W in coefs], [v.copy() for v in intercepts]
    yield A, B, a, b
    for _ in range(epochs):
        hidden = np.tanh(X @ A + a)
        error = (hidden @ B + b - Y[:, None]) / len(X)
        back = error @ B.T * (1 - hidden**2)
        A, a = A - rate * X.T @ back, a - rate * back.sum(axis=0)
        B, b = B - rate * hidden.T @ error, b - rate * error.sum(axis=0)
        yield A, B, a, b


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
def test_gradient_descent_by_layer():
    model = MLPRegressor(
        hidden_layer_sizes=(4,), activation="tanh", solver="gd", learning_rate_init=0.1, alpha=0.0,
        max_iter=20, tol=0.0, n_iter_no_change=1000, random_state=0, momentum=0.0,
    )  # fmt: skip
    with pellucid.watching() as watch:
        model.fit(X, Y)
    start = watch.steps[0].state
    expected = list(plain_steps(start["coefs_"], start["intercepts_"], 0.1, 20))
    assert [step.iteration for step in watch.steps] == list(range(21))
    for i, (step, (A, B, a, b)) in enumerate(zip(watch.steps, expected, strict=True)):
        found = [*step.state["coefs_"], *step.state["intercepts_"]]
        for mine, theirs in zip(found, (A, B, a, b), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
        answer = np.tanh(X @ A + a) @ B + b
        np.testing.assert_allclose(watch.model(i).predict(X), answer.ravel(), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
def test_early_stopping_ends_with_the_best_epoch():
    model = MLPClassifier((6,), early_stopping=True, max_iter=60, random_state=0)
    with pellucid.watching() as watch:
        model.fit(X, Y > 0)
    *_, last = watch.steps
    best = int(np.argmax(model.validation_scores_))
    for mine, theirs in zip(last.state["coefs_"], watch.steps[best + 1].state["coefs_"]):
        np.testing.assert_array_equal(mine, theirs)


def test_a_network_without_an_estimator_is_watched_too():
    network = Network(3, [Dense(4, "sigmoid"), Dense(1, "linear")])
    with pellucid.watching() as watch:
        network.train(X, Y, epochs=5, random_state=0)
    assert [fit.source for fit in watch.fits] == ["Network"]
    assert len(watch.steps) == 6
    np.testing.assert_array_equal(watch.steps[-1].state["coefs_"][0], network.coefs[0])


def test_sigmoid_is_another_name_of_logistic():
    assert Dense(2, "sigmoid") == Dense(2, "logistic")
    one, other = (
        MLPClassifier((5,), name, solver="lbfgs", random_state=0).fit(X, Y > 0)
        for name in ("sigmoid", "logistic")
    )
    for a, b in zip(one.coefs_, other.coefs_):
        np.testing.assert_array_equal(a, b)
    assert one.get_params()["activation"] == "sigmoid"
