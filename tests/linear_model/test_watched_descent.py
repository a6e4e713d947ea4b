"""Every state that is watched equals the plain algorithm, step by step."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import ElasticNet as TheirNet
from sklearn.linear_model import Lasso as TheirLasso

import pellucid
from pellucid.errors import PellucidWarning
from pellucid.linear_model import (
    BayesianRegression,
    BayesianRidge,
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    lasso_path,
)
from pellucid.svm import LinearSVC

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3)) * [1.0, 3.0, 0.2] + [0.0, 2.0, 1.0]
Z = X @ [1.0, -0.5, 2.0]
BINARY = np.where(Z + RNG.logistic(size=80) > Z.mean(), "yes", "no")
THREE = np.array(["a", "b", "c"])[np.searchsorted([-1.0, 1.0], Z - Z.mean() + RNG.normal(size=80))]
TARGET = Z + 3 + RNG.normal(size=80)
COUNTS = RNG.poisson(np.exp(0.3 * X[:, 0] + 0.5))
W = RNG.uniform(0.5, 2.0, 80)


def watched(model, *data, max_states=500, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PellucidWarning)
        with pellucid.watching(max_states=max_states) as watch:
            model.fit(*data, **more)
    return watch


def softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gradient_steps(gradient, x, step, n):
    """x and its n successors by gradient descent."""
    points = [x]
    for _ in range(n):
        points.append(points[-1] - step * gradient(points[-1]))
    return points


def assert_steps(watch, expected, rtol=1e-10):
    """The states are the points (coefficients, intercept last), one per iteration."""
    assert len(watch.steps) == len(expected)
    for i, (step, point) in enumerate(zip(watch.steps, expected)):
        assert step.iteration == i
        found = np.append(step.state["coef_"].ravel(), step.state["intercept_"])
        want = np.append(point[..., :-1].ravel(), point[..., -1])
        np.testing.assert_allclose(found, want, rtol=rtol, atol=1e-13)
        model = watch.model(i)
        np.testing.assert_array_equal(np.ravel(model.coef_), found[: model.coef_.size])


@pytest.mark.parametrize("standardize", [False, True])
def test_logistic_descent_of_two_classes(standardize):
    mean, sd = np.average(X, axis=0, weights=W), 1.0
    if standardize:
        sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=W))
    A = np.column_stack([(X - mean) / sd if standardize else X, np.ones(80)])
    y, C, total = BINARY == "yes", 0.7, W.sum()

    def gradient(b):
        p = 1 / (1 + np.exp(-A @ b))
        return (A.T @ (W * (p - y)) + np.append(b[:-1], 0) / C) / total

    model = LogisticRegression(
        C=C, solver="gd", step=0.1, tol=0, max_iter=40, standardize=standardize
    )
    points = gradient_steps(gradient, np.zeros(4), 0.1, 40)
    if standardize:
        points = [np.append(b[:-1] / sd, b[-1] - mean @ (b[:-1] / sd)) for b in points]
    assert_steps(watched(model, X, BINARY, sample_weight=W), points)


def test_logistic_descent_of_three_classes():
    A, Y = np.column_stack([X, np.ones(80)]), THREE[:, None] == np.unique(THREE)

    def gradient(B):
        pull = np.column_stack([B[:, :-1], np.zeros(3)])
        return (softmax(A @ B.T) - Y).T @ A / 80 + pull / 80

    model = LogisticRegression(solver="gd", step=0.05, tol=0, max_iter=30)
    watch = watched(model, X, THREE)
    assert_steps(watch, gradient_steps(gradient, np.zeros((3, 4)), 0.05, 30))
    middle = watch.model(7)
    B = np.column_stack([middle.coef_, middle.intercept_])
    np.testing.assert_allclose(middle.predict_proba(X), softmax(A @ B.T), rtol=1e-12)


def test_a_large_table_descends_like_a_small_one():
    """More cells than one compiled loop takes."""
    big, y = np.tile(X, (600, 1)), np.tile(BINARY, 600)
    options = {"C": np.inf, "solver": "gd", "step": 0.1, "tol": 0, "max_iter": 5}
    large, small = (watched(LogisticRegression(**options), *d) for d in ((big, y), (X, BINARY)))
    for a, b in zip(large.steps, small.steps, strict=True):
        np.testing.assert_allclose(a.state["coef_"], b.state["coef_"], rtol=1e-11, atol=1e-15)
        assert a.numbers["objective"] == pytest.approx(600 * b.numbers["objective"])


@pytest.mark.slow
def test_the_documented_trace_from_the_states():
    """Iris, setosa against the others, two columns, step 0.1, from 0, to six decimals."""
    iris = load_iris()
    X, y = iris.data[:, :2], iris.target == 0
    A = np.column_stack([X, np.ones(150)])
    model = LogisticRegression(
        C=np.inf, solver="gd", step=0.1, tol=0, max_iter=50_000, warm_start=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PellucidWarning)
        with pellucid.watching() as watch:
            for _ in range(4):
                model.fit(X, y)
    ends = [watch.fits[0].steps[0], *(fit.steps[-1] for fit in watch.fits)]
    found = []
    for step in ends:
        p = 1 / (1 + np.exp(-A @ np.append(step.state["coef_"], step.state["intercept_"])))
        found.append(np.mean(y * np.log(p + 1e-6) + (1 - y) * np.log(1 - p + 1e-6)))
    documented = [-0.693145, -0.021506, -0.015329, -0.012062, -0.010076]
    np.testing.assert_allclose(found, documented, atol=5e-7)
    # Inside a fit, too: each state goes on to the next one by the plain recursion.
    first, second = watch.fits[0].steps[1:3]
    b = np.append(first.state["coef_"], first.state["intercept_"])
    for _ in range(second.iteration - first.iteration):
        b = b - 0.1 * A.T @ (1 / (1 + np.exp(-A @ b)) - y) / 150
    want = np.append(second.state["coef_"], second.state["intercept_"])
    np.testing.assert_allclose(b, want, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_ridge_and_least_squares_descent(alpha):
    A = np.column_stack([X, np.ones(80)])

    def gradient(b):
        return (A.T @ (W * (A @ b - TARGET)) + alpha * np.append(b[:-1], 0)) / W.sum()

    points = gradient_steps(gradient, np.zeros(4), 0.02, 50)
    options = {"solver": "gd", "step": 0.02, "tol": 0, "max_iter": 50}
    models = [Ridge(alpha, **options), *([LinearRegression(**options)] if alpha == 0 else [])]
    for model in models:
        watch = watched(model, X, TARGET, sample_weight=W)
        assert_steps(watch, points)
        objective = np.sum(W * (A @ points[9] - TARGET) ** 2) + alpha * np.sum(points[9][:-1] ** 2)
        assert watch.steps[9].numbers["objective"] == pytest.approx(objective / 2)


def test_least_squares_descent_ends_at_the_direct_solution():
    slow = LinearRegression(solver="gd", tol=1e-13, max_iter=100_000).fit(X, TARGET)
    direct = LinearRegression().fit(X, TARGET)
    np.testing.assert_allclose(slow.coef_, direct.coef_, rtol=1e-8)
    assert slow.status_.code == "converged" and slow.n_iter_ == slow.history_["iteration"][-1]
    assert slow.history_["objective"][-1] == pytest.approx(direct.history_["objective"][0])
    assert direct.n_iter_ == 1


@pytest.mark.parametrize("options", [{}, {"positive": True}, {"fit_intercept": False}])
def test_the_history_of_a_direct_solution_is_its_objective(options):
    Y = np.column_stack([TARGET, 1e3 * COUNTS])
    model = LinearRegression(**options).fit(X, Y, W)
    half = 0.5 * np.sum(W[:, None] * (Y - model.predict(X)) ** 2)
    assert model.history_["objective"] == pytest.approx([half])
    assert model.history_["iteration"].tolist() == [1.0] == [model.n_iter_]


def test_proximal_descent_of_the_lasso():
    A, step, alpha = np.column_stack([X, np.ones(80)]), 0.05, 0.3

    def following(b):
        new = b - step * A.T @ (A @ b - TARGET) / 80
        new[:-1] = np.sign(new[:-1]) * np.maximum(np.abs(new[:-1]) - step * alpha, 0)
        return new

    points = [np.zeros(4)]
    for _ in range(30):
        points.append(following(points[-1]))
    model = Lasso(alpha, solver="gd", step=step, tol=0, max_iter=30)
    assert_steps(watched(model, X, TARGET), points)


def test_poisson_descent():
    A = np.column_stack([X, np.ones(80)])

    def gradient(b):
        return (A.T @ (np.exp(A @ b) - COUNTS)) / 80 + 0.1 * np.append(b[:-1], 0)

    model = PoissonRegressor(alpha=0.1, solver="gd", step=0.01, tol=0, max_iter=20)
    assert_steps(watched(model, X, COUNTS), gradient_steps(gradient, np.zeros(4), 0.01, 20))


def test_newton_states_have_the_recorded_objective():
    for solver in ("newton", "lbfgs"):
        watch = watched(LogisticRegression(solver=solver), X, BINARY)
        assert len(watch.steps) > 4
        for step in watch.steps:
            z = X @ step.state["coef_"][0] + step.state["intercept_"]
            signs = np.where(BINARY == "yes", 1, -1)
            objective = np.logaddexp(0, -signs * z).sum() + 0.5 * (step.state["coef_"] ** 2).sum()
            assert step.numbers["objective"] == pytest.approx(objective, rel=1e-12)


def test_one_vs_rest_fits_one_class_after_the_other():
    watch = watched(LogisticRegression(multiclass="one_vs_rest"), X, THREE)
    used = [np.count_nonzero(np.abs(s.state["coef_"]).sum(axis=1)) for s in watch.steps]
    assert used == sorted(used) and used[0] == 0 and used[-1] == 3
    starts = [i for i, step in enumerate(watch.steps) if step.iteration == 0]
    assert len(starts) == 3


def test_coordinate_descent_epoch_by_epoch():
    Xc, y, alpha, ratio = X - X.mean(axis=0), TARGET - TARGET.mean(), 0.2, 0.5
    l1, l2 = alpha * ratio, alpha * (1 - ratio)
    model = ElasticNet(2 * alpha, l1_ratio=ratio, warm_start=True).fit(X, TARGET)
    b = model.coef_.copy()  # from 0 there would be larger penalties on the way instead
    watch = watched(model.set_params(alpha=alpha), X, TARGET)
    epochs = [step for step in watch.steps if "epoch" in step.event]
    assert len(epochs) >= 3
    for step in epochs[:3]:
        for j in range(3):
            rest = Xc[:, j] @ (y - Xc @ b + Xc[:, j] * b[j]) / 80
            b[j] = np.sign(rest) * max(abs(rest) - l1, 0) / (Xc[:, j] @ Xc[:, j] / 80 + l2)
        np.testing.assert_allclose(step.state["coef_"], b, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_fits_from_0_go_along_larger_penalties(ratio):
    watch = watched(ElasticNet(0.05 / ratio, l1_ratio=ratio), X, TARGET)
    on_the_way = [step for step in watch.steps if "penalty_factor" in step.event]
    assert len(on_the_way) > 3
    for step in on_the_way:
        l1, l2 = 0.05 * step.event["penalty_factor"], 0.05 / ratio - 0.05
        theirs = TheirNet(l1 + l2, l1_ratio=l1 / (l1 + l2), tol=1e-12).fit(X, TARGET)
        np.testing.assert_allclose(step.state["coef_"], theirs.coef_, atol=1e-2)
        assert step.state["intercept_"] == pytest.approx(
            TARGET.mean() - X.mean(0) @ step.state["coef_"]
        )


@pytest.mark.parametrize("standardize", [False, True])
def test_penalties_of_a_search_are_steps(standardize):
    sd = X.std(axis=0) if standardize else np.ones(3)
    watch = watched(LassoCV(alphas=12, cv=4, standardize=standardize), X, TARGET)
    model = watch.fits[0].estimator
    assert len(watch.steps) == 13
    for step, alpha in zip(watch.steps, model.alphas_):
        theirs = TheirLasso(alpha, tol=1e-12, max_iter=100_000).fit(X / sd, TARGET)
        np.testing.assert_allclose(step.state["coef_"], theirs.coef_ / sd, atol=1e-6)
        assert step.event == {"alpha": pytest.approx(alpha)}
    assert watch.steps[-1].event["finished"] and model.alpha_ in model.alphas_
    watch = watched(RidgeCV(alphas=[0.1, 1.0, 10.0], standardize=standardize), X, TARGET)
    for step, alpha in zip(watch.steps, (0.1, 1.0, 10.0)):
        same = Ridge(alpha, standardize=standardize).fit(X, TARGET)
        np.testing.assert_allclose(step.state["coef_"], same.coef_, rtol=1e-10)


def test_a_path_is_recorded_by_penalty():
    with pellucid.watching() as watch:
        alphas, coefs, _ = lasso_path(X, TARGET, alphas=6)
    assert [fit.source for fit in watch.fits] == ["lasso_path"]
    np.testing.assert_array_equal(np.array([s.state["coef"] for s in watch.steps]).T, coefs)
    np.testing.assert_array_equal([s.numbers["alpha"] for s in watch.steps], alphas)


def test_a_search_for_logistic_regression_records_its_last_fit():
    watch = watched(LogisticRegressionCV(Cs=3, cv=3, scoring="neg_log_loss"), X, BINARY)
    model = watch.fits[0].estimator
    plain = watched(LogisticRegression(C=model.C_), X, BINARY)
    assert [s.iteration for s in watch.steps] == [s.iteration for s in plain.steps]
    np.testing.assert_array_equal(watch.steps[2].state["coef_"], plain.steps[2].state["coef_"])


def test_evidence_iterations_of_bayesian_ridge():
    watch = watched(BayesianRidge(), X, TARGET)
    Xc, y = X - X.mean(axis=0), TARGET - TARGET.mean()
    for step in watch.steps:
        alpha, lamb = step.state["alpha_"], step.state["lambda_"]
        H = alpha * Xc.T @ Xc + lamb * np.eye(3)
        np.testing.assert_allclose(step.state["coef_"], alpha * np.linalg.solve(H, Xc.T @ y))
        np.testing.assert_allclose(step.state["sigma_"], np.linalg.inv(H), rtol=1e-8)
    mean, sd = watch.model(0).predict(X, return_std=True)
    assert mean.shape == sd.shape == (80,) and (sd > 0).all()


def test_the_posterior_as_rows_arrive():
    noise, prior, free = 2.0, 5.0, 50.0
    watch = watched(BayesianRegression(noise, prior, intercept_variance=free), X, TARGET)
    A, P = np.column_stack([X, np.ones(80)]), np.diag([1 / prior] * 3 + [1 / free])
    assert [step.event["row"] for step in watch.steps] == list(range(80))
    for k, step in enumerate(watch.steps, 1):
        H = A[:k].T @ A[:k] / noise + P
        x = np.linalg.solve(H, A[:k].T @ TARGET[:k] / noise)
        np.testing.assert_allclose(np.append(step.state["coef_"], step.state["intercept_"]), x)
        np.testing.assert_allclose(step.state["covariance_"], np.linalg.inv(H), rtol=1e-7)
    interval = watch.model(3).predict_interval(X[:2])
    assert (np.diff(interval) > np.diff(watch.model(-1).predict_interval(X[:2]))).all()


def perceptron_states(X, y, epochs, order):
    """Rosenblatt's rule, row by row: coefficients after each mistake, and the row."""
    b, states = np.zeros(X.shape[1] + 1), [(np.zeros(X.shape[1] + 1), None)]
    for _ in range(epochs):
        for i in order:
            x = np.append(X[i], 1.0)
            if y[i] * (x @ b) <= 0:
                b = b + y[i] * x
                states.append((b, i))
    return states


def test_each_perceptron_update_and_its_row():
    y = np.where(BINARY == "yes", 1, -1)
    model = Perceptron(shuffle=False, max_iter=5, tol=None)
    watch = watched(model, X, BINARY, max_states=10_000)
    expected = perceptron_states(X, y, 5, range(80))
    for step, (b, row) in zip(watch.steps, expected, strict=False):
        np.testing.assert_allclose(
            np.append(step.state["coef_"], step.state["intercept_"]), b, atol=1e-12
        )
        assert step.event.get("row") == row
    assert len(watch.steps) == len(expected) + 1  # and the end of the last epoch
    assert watch.steps[5].sentence == (
        f"Update 5 (epoch 1): row {expected[5][1]} was misclassified."
    )


def test_rows_of_a_shuffled_perceptron_are_the_users():
    watch = watched(Perceptron(max_iter=3, tol=None), X, BINARY, max_states=10_000)
    for before, after in zip(watch.steps, watch.steps[1:-1]):
        i = after.event["row"]
        y = 1 if BINARY[i] == "yes" else -1
        assert y == after.event["target"]
        moved = after.state["coef_"][0] - before.state["coef_"][0]
        np.testing.assert_allclose(moved, y * X[i], atol=1e-11)
        assert y * (X[i] @ before.state["coef_"][0] + before.state["intercept_"][0]) <= 1e-11


@pytest.mark.parametrize("average", [False, True])
def test_stochastic_steps_row_by_row(average):
    model = SGDRegressor(
        penalty=None, shuffle=False, max_iter=3, tol=None, eta0=0.01, average=average
    )
    watch = watched(model, X, TARGET, max_states=1000)
    b, mean, t = np.zeros(4), np.zeros(4), 0
    for step in watch.steps[1:-1]:
        x, t = np.append(X[t % 80], 1.0), t + 1
        b = b - 0.01 / t**0.25 * (x @ b - TARGET[(t - 1) % 80]) * x
        mean = mean + (b - mean) / t
        found = np.append(step.state["coef_"], step.state["intercept_"])
        np.testing.assert_allclose(found, mean if average else b, rtol=1e-9, atol=1e-13)
        assert step.iteration == t and step.event["row"] == (t - 1) % 80
    assert t == 240


def test_classes_of_stochastic_descent_follow_each_other():
    model = SGDClassifier(max_iter=2, tol=None, random_state=0, standardize=True)
    watch = watched(model, X, THREE, max_states=1000)
    starts = [i for i, step in enumerate(watch.steps) if step.iteration == 0]
    assert len(starts) == 3 and len(watch.steps) == 3 * (2 + 160)
    assert not watch.steps[0].state["coef_"].any()
    np.testing.assert_array_equal(
        watch.steps[starts[2]].state["coef_"][:2], watch.steps[-1].state["coef_"][:2]
    )


def test_mini_batches_step_by_step():
    """The stochastic objective of the documents: that of each batch before its step."""
    model = LogisticRegression(
        solver="sgd", eta0=1.0, tau0=10, batch_size=30, max_iter=4, tol=0, random_state=0
    )
    watch = watched(model, X, BINARY)
    assert [step.iteration for step in watch.steps] == list(range(13))  # 3 batches in an epoch
    rates = [step.numbers["learning_rate"] for step in watch.steps[1:]]
    np.testing.assert_allclose(rates, 1 / (10 + np.arange(12)))
    ends = watch.steps[3::3]
    objectives = [step.numbers["objective"] for step in ends]
    np.testing.assert_array_equal(objectives, model.history_["objective"][1:])
    assert all("batch_objective" in step.numbers for step in watch.steps[1:])
    first = watch.steps[1].numbers["batch_objective"]
    assert first == pytest.approx(80 * np.log(2))  # every batch costs the same at 0


def test_linear_support_vectors_have_the_recorded_objective():
    watch = watched(LinearSVC(), X, BINARY)
    signs = np.where(BINARY == "yes", 1, -1)
    for step in watch.steps:
        z = X @ step.state["coef_"][0] + step.state["intercept_"]
        half = 0.5 * (np.sum(step.state["coef_"] ** 2) + step.state["intercept_"][0] ** 2)
        objective = half + np.sum(np.maximum(1 - signs * z, 0) ** 2)
        assert step.numbers["objective"] == pytest.approx(objective, rel=1e-10)


def test_partial_fits_are_fits():
    model = SGDClassifier(random_state=0)
    with pellucid.watching() as watch:
        for part in np.array_split(np.arange(80), 4):
            model.partial_fit(X[part], BINARY[part], classes=["no", "yes"])
    assert len(watch.fits) == 4
    assert [fit.steps[-1].iteration for fit in watch.fits] == [20, 40, 60, 80]


def test_progress_of_epochs_is_reported_while_they_run():
    rows = []
    with pellucid.watching(state=False, progress=rows.append):
        model = Perceptron(max_iter=5, tol=None).fit(X, BINARY)
    assert [(row["source"], row["iteration"], row["total"]) for row in rows] == [
        ("Perceptron", epoch, 5) for epoch in range(1, model.n_iter_ + 1)
    ]
    np.testing.assert_array_equal([row["objective"] for row in rows], model.history_["objective"])
