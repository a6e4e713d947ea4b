"""The plain linear models against the classes of the library, on three tables each."""

import warnings

import numpy as np
import pytest

from pellucid import decomposition, linear_model, parallel, plain
from pellucid.data import datasets
from pellucid.errors import PellucidWarning
from pellucid.linear_model._logistic import descent
from tests.plain import tables

REGRESSION = tables.regression_tables()
BINARY = tables.binary_tables()
CLASSES = tables.class_tables()


SEPARABLE = ("iris",)


def close(found, expected, tol):
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


def same_line(mine, model, tol):
    close(mine.w, np.ravel(model.coef_), tol)
    close(mine.b, np.ravel(model.intercept_)[0], tol)


@pytest.fixture(params=REGRESSION)
def regression(request):
    return REGRESSION[request.param]


@pytest.fixture(params=BINARY)
def binary(request):
    return BINARY[request.param]


@pytest.fixture(params=CLASSES)
def several(request):
    return CLASSES[request.param]


def test_least_squares(regression):
    X, y = regression
    mine, model = plain.LeastSquares().fit(X, y), linear_model.LinearRegression().fit(X, y)
    same_line(mine, model, 1e-8)
    close(mine.predict(X), model.predict(X), 1e-9)


def test_least_squares_by_descent(regression):
    X, y = regression
    X, n_steps = tables.standardised(X), 30
    step = 0.1 / X.shape[1]
    with warnings.catch_warnings():  # a few steps do not converge
        warnings.simplefilter("ignore", PellucidWarning)
        model = linear_model.LinearRegression(solver="gd", step=2 * step, tol=0, max_iter=n_steps)
        model.fit(X, y)
    mine = plain.LeastSquaresDescent(step, n_steps).fit(X, y)
    same_line(mine, model, 1e-9)
    losses = [row["loss"] for row in mine.trace]
    assert losses[0] == pytest.approx(np.mean(y**2)) and np.all(np.diff(losses) < 0)


def test_descent_reaches_the_normal_equations():
    X, y = REGRESSION["small"]
    X = tables.standardised(X)
    walked, solved = plain.LeastSquaresDescent(0.3, 5000).fit(X, y), plain.LeastSquares().fit(X, y)
    close(walked.w, solved.w, 1e-8)
    close(walked.predict(X), solved.predict(X), 1e-8)


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_ridge(regression, alpha):
    X, y = regression
    mine, model = plain.Ridge(alpha).fit(X, y), linear_model.Ridge(alpha).fit(X, y)
    same_line(mine, model, 1e-8)
    close(mine.predict(X), model.predict(X), 1e-9)


@pytest.mark.parametrize("made", [plain.Lasso, plain.LassoProximal])
@pytest.mark.parametrize("share", [0.02, 0.3, 1.001])
def test_lasso(regression, made, share):
    X, y = regression
    alpha = share * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    mine = made(alpha, max_epochs=200_000).fit(X, y)
    model = linear_model.Lasso(alpha, tol=1e-13, max_iter=100_000).fit(X, y)
    same_line(mine, model, 1e-6)
    assert np.array_equal(mine.w == 0, model.coef_ == 0)
    assert (share > 1) == (not mine.w.any())
    objective = [row["objective"] for row in mine.trace]
    assert np.all(np.diff(objective) <= 1e-12 * objective[0])


@pytest.mark.parametrize("rho", [0.2, 0.9])
def test_elastic_net(regression, rho):
    X, y = regression
    alpha = 0.1 * np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    mine = plain.ElasticNet(alpha, rho, max_epochs=200_000).fit(X, y)
    model = linear_model.ElasticNet(alpha, l1_ratio=rho, tol=1e-13, max_iter=100_000).fit(X, y)
    same_line(mine, model, 1e-6)
    close(mine.predict(X), model.predict(X), 1e-6)
    assert np.array_equal(mine.w == 0, model.coef_ == 0)
    lasso, ridge = plain.Lasso(alpha).fit(X, y), plain.Ridge(len(y) * alpha).fit(X, y)
    close(plain.ElasticNet(alpha, 1.0).fit(X, y).w, lasso.w, 1e-9)
    close(plain.ElasticNet(alpha, 0.0, max_epochs=200_000).fit(X, y).w, ridge.w, 1e-8)


@pytest.mark.parametrize("family", ["normal", "poisson", "binomial"])
@pytest.mark.parametrize("name", REGRESSION)
def test_generalised_linear_model(name, family):
    X, y = REGRESSION[name]
    X, rng = tables.standardised(X)[:, :6], np.random.default_rng(0)
    if family == "poisson" and name != "diabetes":
        y = rng.poisson(np.exp(1 + 0.3 * X[:, 0]))
    elif family == "binomial":
        y = (y > np.quantile(y, rng.uniform(0.2, 0.8, len(y)))).astype(float)
    mine = plain.GeneralizedLinearModel(family).fit(X, y)
    model = linear_model.GeneralizedLinearModel(family=family, tol=1e-12).fit(X, y)
    same_line(mine, model, 1e-8)
    close(mine.predict(X), model.predict(X), 1e-8)
    assert mine.deviance == pytest.approx(model.inference_["deviance"], rel=1e-10)
    assert mine.trace[-1]["deviance"] == pytest.approx(mine.deviance, rel=1e-10)
    assert (len(mine.trace) <= 2) == (family == "normal")


def test_poisson_is_that_regressor():
    X, y = tables.standardised(REGRESSION["diabetes"][0]), REGRESSION["diabetes"][1]
    model = linear_model.PoissonRegressor(alpha=0, tol=1e-12).fit(X, y)
    same_line(plain.GeneralizedLinearModel("poisson").fit(X, y), model, 1e-8)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_logistic_by_newton(binary, C):
    X, y = binary
    mine = plain.LogisticNewton(C).fit(X, y)
    model = linear_model.LogisticRegression(C=C, tol=1e-10).fit(X, y)
    same_line(mine, model, 1e-6)
    close(mine.predict_proba(X), model.predict_proba(X), 1e-7)
    assert np.array_equal(mine.predict(X), model.predict(X))
    assert len(mine.trace) <= 12  # correct digits double; steps of half the length would take 30


def test_logistic_by_descent(binary):
    X, y = binary
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PellucidWarning)
        model = linear_model.LogisticRegression(
            C=2.0, solver="gd", step=0.1, tol=0, max_iter=300
        ).fit(X, y)
    mine = plain.LogisticDescent(2.0, 0.1, 300).fit(X, y)
    same_line(mine, model, 1e-9)
    close(mine.predict_proba(X), model.predict_proba(X), 1e-9)


@pytest.mark.parametrize("last", [50_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_the_documented_trace_of_descent(last):
    """Iris, sepal length and width: the mean log-likelihood at five steps, to six decimals."""
    data = datasets.load("iris")
    X = np.column_stack([data.table.column(name).to_numpy() for name in data.features[:2]])
    y = (data.y != "setosa").astype(float)
    mine = plain.LogisticDescent(step=0.1, n_steps=last + 1).fit(X, y)
    found = [mine.trace[k]["log_likelihood"] for k in range(0, last + 1, 50_000)]
    documented = [-0.693145, -0.021506, -0.015329, -0.012062, -0.010076]
    np.testing.assert_allclose(found, documented[: len(found)], atol=5e-7)


class PassesOfTheLibrary:
    """The order of the rows in each epoch of the library's fit with this seed."""

    def __init__(self, seed):
        self.seed, self.epoch = parallel.seed_sequence(seed), 0

    def permutation(self, n):
        self.epoch += 1
        return parallel.stream(self.seed, "pass", self.epoch).permutation(n)


@pytest.mark.parametrize("kappa", [0.6, 1.0])
def test_logistic_by_mini_batches(binary, kappa, monkeypatch):
    X, y = binary
    seen, whole = [], descent._mini_batches
    monkeypatch.setattr(descent, "_mini_batches", lambda *a: seen.append(a[:2]) or whole(*a))
    options = {"C": 3.0, "tau0": 10.0, "kappa": kappa, "batch_size": 16}
    model = linear_model.LogisticRegression(
        solver="sgd", eta0=1.0, tol=0, max_iter=20, random_state=5, **options
    ).fit(X, y)
    ((X, y),) = seen  # the same rows, in the order in which the library numbers them
    mine = plain.LogisticSGD(**options, n_epochs=20, rng=PassesOfTheLibrary(5)).fit(X, y)
    same_line(mine, model, 1e-9)
    close(mine.predict_proba(X), model.predict_proba(X), 1e-9)
    assert np.array_equal(mine.predict(X), model.predict(X))


def test_softmax(several):
    X, y = several
    mine = plain.SoftmaxRegression(C=1.0, step=0.3, n_steps=20_000).fit(X, y)
    model = linear_model.LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    close(mine.W.T, model.coef_, 1e-6)
    close(mine.predict_proba(X), model.predict_proba(X), 1e-6)
    assert np.array_equal(mine.predict(X), model.predict(X))
    assert np.all(np.diff([row["log_loss"] for row in mine.trace[:100]]) < 0)


@pytest.mark.parametrize("name", ["small", "wider", "breast_cancer", "iris"])
def test_perceptron(name):
    X, y = BINARY.get(name) or tables.numbers("iris")
    y, epochs = np.where(y == ("setosa" if name == "iris" else 1), 1, -1), 40
    mine = plain.Perceptron(epochs).fit(X, y)
    with warnings.catch_warnings():  # overlapping classes do not converge
        warnings.simplefilter("ignore", PellucidWarning)
        model = linear_model.Perceptron(shuffle=False, tol=None, max_iter=epochs).fit(X, y)
    same_line(mine, model, 1e-9)
    assert np.array_equal(mine.predict(X), model.predict(X))
    assert mine.converged == model.converged_ == (name in SEPARABLE)
    assert [row["mistakes"] for row in mine.trace] == model.n_mistakes_.tolist()


def test_principal_components(regression):
    X, _ = regression
    mine, model = plain.PCA(3).fit(X), decomposition.PCA(3).fit(X)
    close(mine.V.T, model.components_, 1e-8)
    close(mine.variances, model.explained_variance_, 1e-9)
    close(mine.shares, model.explained_variance_ratio_, 1e-9)
    close(mine.transform(X), model.transform(X), 1e-8)
    whole = plain.PCA(X.shape[1]).fit(X)
    close(whole.inverse_transform(whole.transform(X)), X, 1e-8)
    close(
        mine.inverse_transform(mine.transform(X)), model.inverse_transform(model.transform(X)), 1e-8
    )


def test_least_squares_of_labels_leave_the_unit_interval():
    """Iris, setosa or not: one error, and 39 of 150 fitted values outside [0, 1]."""
    X, y = tables.numbers("iris")
    fitted = plain.LeastSquares().fit(X[:, :2], y == "setosa").predict(X[:, :2])
    assert ((fitted > 0.5) != (y == "setosa")).sum() == 1
    assert ((fitted < 0) | (fitted > 1)).sum() == 39
