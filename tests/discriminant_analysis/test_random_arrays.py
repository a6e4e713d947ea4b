"""Random finite tables, subnormal and extreme numbers among them, through four classifiers.

Nothing may come out that is not finite, and no error that is not ours. `python -m
tests.discriminant_analysis.test_random_arrays 25000` runs 25,000 for each, as was done once:
GaussianNB, QDA and LogisticRegression answered all of theirs, LDA refused 329 whose coefficients
are beyond the largest float, and nothing else came out.
"""

import contextlib
import sys
import warnings
from functools import partial

import numpy as np
import pytest

from pellucid.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.errors import DataError, PellucidError, PellucidWarning
from pellucid.linear_model import LogisticRegression, RidgeClassifier
from pellucid.naive_bayes import GaussianNB

MODELS = (
    GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, LogisticRegression,
)  # fmt: skip
SPECIAL = np.array([
    0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1e-300, -1e-160, 1e-20, 1e20, -1e155, 1e300,
    1.7e308, -1.7976931348623157e308, 2.0**53, 1 + 2.0**-52, 255.0,
])  # fmt: skip


def table(seed):
    """A small table of ordinary, scaled and special numbers; rows and columns may repeat."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 24)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, p))
    kind = int(rng.integers(0, 6))
    if kind == 1:
        X = rng.choice(SPECIAL, size=(n, p))
    elif kind == 2:
        X = np.ldexp(X, rng.integers(-1074, 1020, size=p))
    elif kind == 3:
        X = np.where(rng.uniform(size=(n, p)) < 0.2, rng.choice(SPECIAL, size=(n, p)), X)
    elif kind == 4:
        X = np.ldexp(X, rng.integers(-1074, 1020, size=(n, p)))
    elif kind == 5:
        X = rng.integers(-2, 3, size=(n, p)).astype(float) + rng.choice([0.0, 1e8, 1e15])
    if rng.uniform() < 0.2:
        X[:, -1] = X[:, 0]
    if rng.uniform() < 0.2:
        X[: n // 2] = X[0]
    y = rng.integers(0, int(rng.integers(2, 5)), size=n)
    y[:4] = [0, 0, 1, 1]
    return X, y


def trial(Model, seed):
    """'ok', the name of one of our errors, or what is wrong."""
    X, y = table(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy's words are for us, not for users
            warnings.simplefilter("ignore", PellucidWarning)
            model = Model().fit(X, y)
            P, labels = model.predict_proba(X), model.predict(X)
            explained = finite_explanation(model, X)
    except PellucidError as error:
        return type(error).__name__
    except Exception as error:
        return f"wrong: {type(error).__name__}: {error}"
    if not np.isfinite(P).all() or np.abs(P.sum(axis=1) - 1).max() > 1e-9:
        return "wrong: not probabilities"
    if not all(np.isfinite(value).all() for value in learned(model)):
        return "wrong: an attribute that is not finite"
    if not np.array_equal(model.classes_[P.argmax(axis=1)], labels):
        return "wrong: a label that is not the most probable"
    return "ok" if explained else "wrong: an explanation that is not finite"


def learned(model):
    """Attributes that are one array of numbers, but for those that may have nothing to tell."""
    named = (
        "coef_",
        "intercept_",
        "means_",
        "priors_",
        "explained_variance_ratio_",
        "theta_",
        "var_",
    )
    return [vars(model)[name] for name in named if name in vars(model)]


def finite_explanation(model, X):
    """Contributions may be too large for a float where probabilities are not: that is an error."""
    try:
        return np.isfinite(model.explain(X).contributions).all()
    except PellucidError:
        return True


@pytest.mark.parametrize(
    "Model", [*MODELS, partial(LinearDiscriminantAnalysis, solver="eigen")], ids=str
)
def test_probabilities_are_finite_and_errors_ours(Model):
    outcomes = [trial(Model, seed) for seed in range(250)]
    assert [f"seed {k}: {o}" for k, o in enumerate(outcomes) if o.startswith("wrong")] == []
    assert outcomes.count("ok") >= 200  # refusals are rare


WILD = {  # columns beside which others are nothing: found one by one, before warnings were errors
    23: [LogisticRegression(C=np.inf), LogisticRegression(C=np.inf, firth=True)],
    101: [LinearDiscriminantAnalysis(solver=name) for name in ("svd", "lsqr", "eigen")],
    271: [LogisticRegression(C=np.inf), RidgeClassifier()],
}


@pytest.mark.parametrize(("seed", "model"), [(k, m) for k, each in WILD.items() for m in each])
def test_no_warning_of_numpy_leaves_a_fit(seed, model):
    X, y = table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PellucidWarning)
        with contextlib.suppress(PellucidError):
            assert np.isfinite(model.fit(X, y).decision_function(X)).all()


def test_shares_of_directions_are_shares_however_far_the_classes_are():
    X = [[1e-308], [-5e-324], [-1.0], [0.0], [1e-308], [1.79e308], [-1.79e308], [1e-308]]
    model = LinearDiscriminantAnalysis().fit(X, [0, 1, 1, 0, 0, 0, 0, 0])
    assert model.explained_variance_ratio_.tolist() == [1.0]


@pytest.mark.parametrize("model", [LogisticRegression(C=np.inf), RidgeClassifier()])
def test_coefficients_beyond_the_largest_float_are_refused_in_words(model):
    X = [[1e-308, -5e-324, -1, -5e-324], [1.79e308, 0, -5e-324, 5e-324]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PellucidWarning)
        with contextlib.suppress(DataError):
            assert np.isfinite(model.fit(X, [0, 1]).decision_function(X)).all()


def test_covariances_near_the_largest_float_have_axes():
    assert trial(QuadraticDiscriminantAnalysis, 613) == "ok"
    X, y = table(613)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert all(np.isfinite(values).all() for values in model.scalings_)


if __name__ == "__main__":
    first = 250
    for Model in MODELS:
        counts: dict[str, int] = {}
        for seed in range(first, first + int(sys.argv[1])):
            outcome = trial(Model, seed)
            counts[outcome] = counts.get(outcome, 0) + 1
            if outcome.startswith("wrong"):
                print(Model.__name__, seed, outcome, flush=True)
        print(Model.__name__, counts, flush=True)
