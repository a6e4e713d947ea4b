"""Rows 3 to 6: digits against exact and 40-digit references, and the duality gap of kernel machines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import mpmath
import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.metrics.pairwise import pairwise_kernels

from pellucid.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from pellucid.naive_bayes import GaussianNB
from pellucid.svm import SVC
from scorecard.runner import Case
from tests.decomposition import test_digits as of_pca
from tests.linear_model import test_glm, test_logistic, test_references
from tests.mixture import test_digits as of_mixtures
from tests.numerics import test_least_squares
from tests.oracles import shared

DIGITS = 12


def least_squares(share: float) -> Iterator[Case]:
    """NIST StRD: coefficients and standard errors."""
    names = shared.NIST_NAMES if share == 1 else shared.NIST_NAMES[:3]
    for name in names:
        check = partial(test_least_squares.test_nist_digits_are_those_of_the_data, name)
        yield Case(name, check)


def likelihoods(share: float) -> Iterator[Case]:
    """GLMs, logistic and softmax regression."""
    for K in (2, 3):
        for C in (1.0, np.inf):
            for intercept in (True, False):
                for units in (None, [1e-6, 1.0, 1e5]):
                    check = partial(
                        test_logistic.test_twelve_digits_against_forty, K, C, intercept, units
                    )
                    yield Case(f"logistic {K} classes C={C} {intercept} {units}", check)
                    if share < 1:
                        return
    for family in ("poisson", "gamma"):
        for unit in (1.0, 1e-6, 1e8):
            check = partial(test_glm.test_twelve_digits_in_any_units, family, unit)
            yield Case(f"{family} unit {unit:g}", check)
    for number, pair in enumerate(test_references.ALL_PAIRS):
        check = partial(test_references.test_twelve_digits_of_every_family_and_link, number, *pair)
        yield Case(f"glm {' '.join(pair)}", check)


def moments(share: float) -> Iterator[Case]:
    """Discriminants, Gaussian naive Bayes, PCA, a step of a mixture."""
    for name in of_pca.sets() if share == 1 else ["iris"]:
        yield Case(f"PCA {name}", partial(of_pca.test_twelve_digits, name, "auto"))
    for kind in of_mixtures.TYPES if share == 1 else ["diag"]:
        for place in of_mixtures.PLACES if share == 1 else ["plain"]:
            yield Case(
                f"mixture {kind} {place}", partial(of_mixtures.test_twelve_digits, kind, place)
            )
    for Model in (GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        for offset in (0.0, 1e6) if share == 1 else (0.0,):
            yield Case(f"{Model.__name__} offset {offset:g}", partial(_log_odds, Model, offset))


def _log_odds(Model: type, offset: float) -> None:
    """Log-odds of three classes of iris, from means and covariances in 40 digits."""
    X, y = load_iris().data[::3] + offset, load_iris().target[::3]
    options = {"var_smoothing": 0.0} if Model is GaussianNB else {}
    ours = Model(**options).fit(X, y).predict_log_proba(X)
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
        scores = _gaussian_scores(Model, rows, y)
    theirs = np.array([[float(v - s[0]) for v in s] for s in scores])
    found = ours - ours[:, :1]
    worst = np.max(np.abs(found - theirs)) / np.max(np.abs(theirs))
    # Cells near 1e6 have 6 digits fewer after the decimal point.
    assert worst <= 10.0**-DIGITS * max(1.0, offset), f"{-np.log10(worst):.1f} digits"


def _gaussian_scores(Model: type, rows: list, y: np.ndarray) -> list:
    """log prior + log density of every row and class, up to what is the same for all classes."""
    p, n, K = len(rows[0]), len(rows), 3
    own = [[x for x, k in zip(rows, y) if k == c] for c in range(K)]
    means = [[mpmath.fsum(x[j] for x in part) / len(part) for j in range(p)] for part in own]
    spread = []
    for part, mean in zip(own, means):
        S = mpmath.matrix(p, p)
        for x in part:
            d = [a - b for a, b in zip(x, mean)]
            for i in range(p):
                for j in range(p):
                    if i == j or Model is not GaussianNB:
                        S[i, j] += d[i] * d[j]
        spread.append(S)
    if Model is LinearDiscriminantAnalysis:
        spread = [(spread[0] + spread[1] + spread[2]) / n] * K
    else:
        spread = [S / len(part) for S, part in zip(spread, own)]
    inverse, logs = [S**-1 for S in spread], [mpmath.log(mpmath.det(S)) for S in spread]
    out = []
    for x in rows:
        d = [mpmath.matrix([a - b for a, b in zip(x, mean)]) for mean in means]
        out.append([
            mpmath.log(mpmath.mpf(len(own[k])) / n) - (logs[k] + (d[k].T * inverse[k] * d[k])[0]) / 2
            for k in range(K)
        ])  # fmt: skip
    return out


def kernel_machines(share: float) -> Iterator[Case]:
    """The relative gap between the primal and the dual objective of SVC, computed here."""
    sets = {
        "iris": (load_iris().data[:100], load_iris().target[:100]),
        "iris, near classes": (load_iris().data[50:], load_iris().target[50:]),
        "wine": (load_wine().data[:130], load_wine().target[:130]),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "moons": make_moons(200, noise=0.3, random_state=0),
        "noise": make_classification(150, 10, flip_y=0.4, random_state=0),
    }
    for name, (X, y) in list(sets.items())[: None if share == 1 else 1]:
        for kernel in ("linear", "rbf"):
            yield Case(f"{name} {kernel}", partial(_gap, X, y, kernel))


def _gap(X: np.ndarray, y: np.ndarray, kernel: str) -> None:
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    gamma, C = 1.0 / X.shape[1], 1.0
    model = SVC(kernel=kernel, gamma=gamma, C=C, tol=1e-10).fit(X, y)
    a = np.zeros(len(X))
    a[model.support_] = model.dual_coef_[0]
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    assert (a * sign >= 0).all() and (np.abs(a) <= C).all() and abs(a.sum()) <= 1e-9
    K = pairwise_kernels(X, metric=kernel, **({"gamma": gamma} if kernel == "rbf" else {}))
    square = a @ K @ a
    hinge = np.maximum(0.0, 1.0 - sign * (K @ a + model.intercept_[0])).sum()
    primal, dual = 0.5 * square + C * hinge, np.abs(a).sum() - 0.5 * square
    assert primal - dual <= 1e-8 * max(abs(primal), 1.0), (primal - dual) / abs(primal)
