"""The plain Bayes classifiers, discriminants and posterior against the classes of the library."""

import numpy as np
import pandas as pd
import pytest

from pellucid import discriminant_analysis, dummy, linear_model, naive_bayes, plain
from tests.plain import tables
from tests.plain.test_linear import REGRESSION, close

BINARY = tables.binary_tables()
CLASSES = tables.class_tables()


def same_answers(mine, model, X, tol=1e-9, table=None):
    given = X if table is None else table
    close(mine.predict_proba(X), model.predict_proba(given), tol)
    assert np.array_equal(mine.predict(X), model.predict(given))


@pytest.mark.parametrize("name", CLASSES)
def test_majority_vote(name):
    X, y = CLASSES[name]
    X, y = X[5:], y[5:]  # unequal shares
    model = dummy.DummyClassifier(strategy="prior").fit(X, y)
    same_answers(plain.MajorityVote().fit(X, y), model, X, 1e-14)


@pytest.mark.parametrize("name", REGRESSION)
def test_mean(name):
    X, y = REGRESSION[name]
    close(plain.Mean().fit(X, y).predict(X), dummy.DummyRegressor().fit(X, y).predict(X), 1e-14)


@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize(("sigma2", "tau"), [(1.0, 1.0), (11.8, 10.0), (0.1, 100.0)])
def test_bayesian_regression(name, sigma2, tau):
    X, y = REGRESSION[name]
    mine = plain.BayesianRegression(sigma2, tau).fit(X, y)
    model = linear_model.BayesianRegression(sigma2, tau).fit(X, y)
    close(mine.w, model.coef_, 1e-8)
    close(mine.b, model.intercept_, 1e-8)
    first_last = np.roll(np.arange(len(mine.theta)), 1)  # the library has the intercept last
    close(mine.covariance, model.covariance_[np.ix_(first_last, first_last)], 1e-8)
    mean, deviation = model.predict(X, return_std=True)
    close(mine.predict(X), mean, 1e-8)
    close(mine.predict_std(X), deviation, 1e-9)
    close(mine.w, plain.Ridge(sigma2 / tau).fit(X, y).w, 1e-8)


@pytest.mark.parametrize("name", REGRESSION)
def test_bayesian_ridge(name):
    X, y = REGRESSION[name]
    mine = plain.BayesianRidge().fit(X, y)
    flat = dict.fromkeys(("alpha_1", "alpha_2", "lambda_1", "lambda_2"), 0.0)
    model = linear_model.BayesianRidge(tol=1e-12, max_iter=10_000, **flat).fit(X, y)
    assert mine.sigma2 == pytest.approx(1 / model.alpha_, rel=1e-7)
    assert mine.tau == pytest.approx(1 / model.lambda_, rel=1e-7)
    close(mine.w, model.coef_, 1e-7)
    mean, deviation = model.predict(X, return_std=True)
    close(mine.predict(X), mean, 1e-7)
    close(mine.predict_std(X), deviation, 1e-7)
    close(mine.w, plain.Ridge(mine.sigma2 / mine.tau).fit(X, y).w, 1e-8)


@pytest.mark.parametrize("name", BINARY)
def test_fisher(name):
    X, y = BINARY[name]
    mine, model = (
        plain.FisherDiscriminant().fit(X, y),
        discriminant_analysis.FisherDiscriminant().fit(X, y),
    )
    close(mine.w, model.coef_[0], 1e-9)
    close(mine.cutoff, model.cutoff_, 1e-9)
    close(mine.transform(X), model.transform(X)[:, 0], 1e-9)
    assert np.array_equal(mine.predict(X), model.predict(X))
    equal = plain.LinearDiscriminantAnalysis().fit(X, y)
    direction = np.linalg.solve(equal.Sigma[0], equal.mu[1] - equal.mu[0])
    close(mine.w / np.linalg.norm(mine.w), direction / np.linalg.norm(direction), 1e-9)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("method", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_discriminant_analysis(name, method):
    X, y = CLASSES[name]
    mine = getattr(plain, method)().fit(X, y)
    model = getattr(discriminant_analysis, method)(store_covariance=True).fit(X, y)
    same_answers(mine, model, X)
    close(mine.mu, model.means_, 1e-10)
    close(mine.pi, model.priors_, 1e-12)
    expected = [model.covariance_] * len(mine.pi) if "Lin" in method else model.covariance_
    close(np.array(mine.Sigma), np.array(expected), 1e-9)


@pytest.mark.parametrize(("method", "right"), [("Linear", 178), ("Quadratic", 177)])
def test_wine_in_sample(method, right):
    X, y = CLASSES["wine"]
    mine = getattr(plain, f"{method}DiscriminantAnalysis")().fit(X, y)
    assert (mine.predict(X) == y).sum() == right


@pytest.mark.parametrize("name", CLASSES)
def test_gaussian_naive_bayes(name):
    X, y = CLASSES[name]
    mine, model = plain.GaussianNB().fit(X, y), naive_bayes.GaussianNB().fit(X, y)
    same_answers(mine, model, X)
    close(mine.mean, model.theta_, 1e-10)
    close(mine.var, model.var_, 1e-10)
    if name == "wine":
        assert plain.accuracy(y, mine.predict(X)) == pytest.approx(0.988764, abs=1e-6)


def counts(name):
    """Counts from 0 to 3: each column cut at three of its quantiles."""
    X, y = CLASSES[name]
    return np.stack([np.searchsorted(np.quantile(x, (0.3, 0.6, 0.8)), x) for x in X.T], axis=1), y


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("kind", ["BernoulliNB", "MultinomialNB", "CategoricalNB"])
def test_naive_bayes_of_counts(name, alpha, kind):
    X, y = counts(name)
    X = (X > 1).astype(int) if kind == "BernoulliNB" else X
    mine, model = getattr(plain, kind)(alpha).fit(X, y), getattr(naive_bayes, kind)(alpha=alpha)
    model.fit(X, y)
    same_answers(mine, model, X)
    tables = mine.q if kind == "CategoricalNB" else [mine.q]
    logs = model.feature_log_prob_ if kind == "CategoricalNB" else [model.feature_log_prob_]
    for q, log_q in zip(tables, logs, strict=True):
        close(q, np.exp(log_q), 1e-12)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_naive_bayes_of_mixed_columns(name, alpha):
    (numbers, y), (levels, _) = CLASSES[name], counts(name)
    kinds = ["normal", "poisson", "bernoulli", "categorical"]
    X = np.column_stack([numbers[:, 0], levels[:, 1], levels[:, 0] > 1, levels[:, 1]]).astype(float)
    mine = plain.MixedNB(kinds, alpha).fit(X, y)
    parts = [f"level {int(v)}" for v in X[:, 3]]
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "d": parts})
    model = naive_bayes.MixedNB(distributions={"b": "poisson"}, alpha=alpha).fit(table, y)
    assert list(model.distributions_) == kinds
    same_answers(mine, model, X, 1e-9, table)


@pytest.mark.parametrize("name", CLASSES)
def test_poisson_naive_bayes(name):
    X, y = counts(name)
    mine = plain.MixedNB(["poisson"] * X.shape[1], 0.7).fit(X, y)
    same_answers(mine, naive_bayes.PoissonNB(alpha=0.7).fit(X, y), X)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_binomial_naive_bayes(name, alpha):
    X, y = counts(name)
    X[:, 0] *= 2  # columns with different numbers of trials
    X[:, 1] = np.minimum(X[:, 1], 2)
    mine = plain.MixedNB(["binomial"] * X.shape[1], alpha).fit(X, y)
    kinds = dict.fromkeys(range(X.shape[1]), "binomial")
    model = naive_bayes.MixedNB(distributions=kinds, alpha=alpha).fit(X, y)
    assert model.trials_.tolist() == X.max(axis=0).tolist()
    same_answers(mine, model, X)
