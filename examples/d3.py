"""D3: a lecture on logistic regression and generative models."""

import numpy as np

from examples.figures import Figure, run
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.linear_model import LogisticRegression

MINUS = [[0, 0], [2, 0], [1, 1], [1, -1]]
PLUS = [[4, 1], [6, 1], [5, 2], [5, 0]]


def lda():
    model = LinearDiscriminantAnalysis(solver="lsqr").fit(
        np.array(MINUS + PLUS, float), [0] * 4 + [1] * 4
    )
    return np.append(model.coef_[0], model.intercept_)


def discriminant():
    """log of the ratio of the two joint densities at (0.5, 2)."""
    x = np.array([0.5, 2.0])
    parts = [
        (np.array([1.0, 1.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), 0.3),
        (np.array([-1.0, -1.0]), np.array([[1.0, 0.0], [0.0, 3.0]]), 0.7),
    ]
    logs = [
        np.log(p) - (np.linalg.slogdet(S)[1] + (x - m) @ np.linalg.solve(S, x - m)) / 2
        for m, S, p in parts
    ]
    return logs[0] - logs[1]


def gradient_at_optimum():
    """Gradient of the text's penalised loss with lambda = .5 at our optimum: C = 1 / (2 lambda)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12).fit(X, y)
    w = model.coef_[0]
    return float(np.abs(-(y / (1 + np.exp(y * (X @ w)))) @ X + 2 * 0.5 * w).max())


FIGURES = [
    Figure("D3", "LDA: w = S^-1 (mu+ - mu-), b", [8, 2, -25], lda, digits=1e-9),
    Figure(
        "D3",
        "Gaussian discriminant f(x) (recomputed)",
        1.2614861042648544,
        discriminant,
        digits=1e-12,
    ),
    Figure(
        "D3", "gradient of the MAP objective at our optimum", 0.0, gradient_at_optimum, digits=1e-8
    ),
]

run(__name__, FIGURES)
