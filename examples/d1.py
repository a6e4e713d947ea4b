"""D1: a lecture on classification."""

import warnings
from functools import cache

import numpy as np

from examples.d0 import iris
from examples.figures import Figure, run
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.neighbors import KNeighborsClassifier
from pellucid.plain import LogisticDescent

PRINTED = {
    0: -0.693145,
    50_000: -0.021506,
    100_000: -0.015329,
    150_000: -0.012062,
    200_000: -0.010076,
}


def sepals():
    """Length and width of the sepals, and whether a flower is no setosa."""
    X, y = iris()
    return X[:, :2], (y > 0).astype(int)


def quiet(model, X, y):
    """Fit without the warning that a given number of steps is not convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@cache
def descent(steps: int):
    """The model after some steps of 0.1 times the mean gradient, from 0."""
    X, y = sepals()
    if steps == 0:
        return np.zeros(3)
    model = LogisticRegression(solver="gd", C=np.inf, step=0.1, max_iter=steps, tol=0)
    quiet(model, X, y)
    return np.append(model.coef_[0], model.intercept_)


def log_likelihood(steps: int):
    X, y = sepals()
    theta = descent(steps)
    p = 1 / (1 + np.exp(-(X @ theta[:2] + theta[2])))
    return np.mean(y * np.log(p + 1e-6) + (1 - y) * np.log(1 - p + 1e-6))


def updates_until_small():
    """Updates until theta changes by at most 5e-5."""
    model = LogisticRegression(C=np.inf, solver="gd", step=0.1, tol=5e-5, max_iter=10**6)
    return int(model.fit(*sepals()).n_iter_[0])


def least_squares():
    X, y = sepals()
    return LinearRegression().fit(X, y).predict(X)


def logistic_errors():
    X, y = sepals()
    return int((LogisticRegression(C=1e6).fit(X, y).predict(X) != y).sum())


def query(k: int):
    X, y = iris()
    return np.array(["setosa", "versicolor", "virginica"])[
        KNeighborsClassifier(k).fit(X[:, :2], y).predict([[7.5, 4.0]])[0]
    ]


def plain_theta():
    X, y = sepals()
    made = LogisticDescent(step=0.1, n_steps=1000).fit(X, y)
    ours = LogisticRegression(solver="gd", C=np.inf, step=0.1, max_iter=1000, tol=0)
    quiet(ours, X, y)
    return float(
        np.abs(np.append(made.w, made.b) - np.append(ours.coef_[0], ours.intercept_)).max()
    )


FIGURES = [
    *(Figure("D1", f"mean log-likelihood, iteration {k}", value, lambda k=k: log_likelihood(k),
             digits=6e-7) for k, value in PRINTED.items()),
    Figure("D1", "theta at 200000 (recomputed)", [11.14193308, -12.48802556, -21.3829143],
           lambda: descent(200_000)),
    Figure("D1", "updates until the change is 5e-5 (recomputed)", 234669, updates_until_small),
    Figure("D1", "plain construction - class, 1000 steps", 0.0, plain_theta, digits=1e-9),
    Figure("D1", "least squares, wrong rows", 1,
           lambda: int(((least_squares() > 0.5) != sepals()[1]).sum())),
    Figure("D1", "least squares, fits outside [0, 1] (recomputed)", 39,
           lambda: int(((least_squares() < 0) | (least_squares() > 1)).sum())),
    Figure("D1", "logistic regression, wrong rows", 0, logistic_errors),
    *(Figure("D1", f"flower (7.5, 4.0), {k} neighbours", "virginica", lambda k=k: query(k))
      for k in (1, 5, 30)),
]  # fmt: skip

run(__name__, FIGURES)
