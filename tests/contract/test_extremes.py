"""Extreme tables: finite answers or an error of ours, never nonsense, a crash or a hang."""

import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from pellucid.errors import PellucidError
from tests.contract.classes import applies_to, invariant, regressor, tags, weighted
from tests.contract.compare import answers, asks, assert_close, assert_same_bits, fitted
from tests.contract.data import numbers
from tests.sizes import cases

RNG = np.random.default_rng(11)
MAX = np.finfo(float).max


def scaled(k):
    return lambda X: X * 2.0**k


def each_column(X):
    return X * 2.0 ** np.resize([-900, 300, 0, 900], X.shape[1])


def changed(X, column, values):
    X = X.copy()
    X[:, column] = values
    return X


TABLES = {
    **{f"scaled by 2**{k}": scaled(k) for k in (-900, -300, -40, 40, 300, 900)},
    "columns of many scales": each_column,
    "offset 1e8": lambda X: X + 1e8,
    "offset 1e12": lambda X: X + 1e12,
    "offset 1e16": lambda X: X + 1e16,
    "subnormal": lambda X: np.round(np.abs(X) * 8) * 5e-324,
    "largest floats": lambda X: np.where(X > 0, MAX, 0.0 if X.min() >= 0 else -MAX),
    "one huge cell": lambda X: changed(X, 0, np.where(np.arange(len(X)) == 3, 1e300, X[:, 0])),
    "constant column": lambda X: changed(X, 1, 2.5),
    "nearly constant column": lambda X: changed(X, 1, 1 + np.spacing(1.0) * (X[:, 1] > 0)),
    "all columns constant": lambda X: np.full_like(X, 0.1),
    "all zero": np.zeros_like,
    "missing column": lambda X: changed(X, 1, np.nan),
    "all missing": lambda X: np.full_like(X, np.nan),
    "one cell present": lambda X: changed(
        np.full_like(X, np.nan), 0, [1.0] + [np.nan] * (len(X) - 1)
    ),
    "repeated column": lambda X: changed(X, 1, X[:, 0]),
    "sum of columns": lambda X: changed(X, 2, X[:, 0] + X[:, 1]),
    "more columns than rows": lambda X: np.abs(RNG.normal(size=(len(X), 2 * len(X)))),
    "one column": lambda X: X[:, :1],
    "identical rows": lambda X: np.repeat(X[:1], len(X), axis=0),
    "two different rows": lambda X: X[np.arange(len(X)) % 2],
    "integers above 2**53": lambda X: np.abs(np.round(X * 64)) + 2.0**53,
}
TARGETS = {
    "constant": lambda y: np.full_like(y, 3.0),
    "zero": np.zeros_like,
    "huge": lambda y: y * 2.0**900,
    "tiny": lambda y: y * 2.0**-900,
    "subnormal": lambda y: np.abs(np.round(y)) * 5e-324,
    "offset": lambda y: y + 1e12,
    "one outlier": lambda y: np.where(np.arange(len(y)) == 3, 1e300, y),
    "largest floats": lambda y: np.copysign(MAX, y),
    "near the largest float": lambda y: 1e307 * (1 + np.abs(y)),
    "constant, the largest float": lambda y: np.full_like(y, MAX),
}


@contextmanager
def finite_or_refused():
    """An error of ours may come; NumPy's warnings may not: an overflow would have gone unnoticed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except PellucidError as error:
            assert str(error)
    leaks = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    assert not leaks, [f"{w.filename}:{w.lineno}: {w.message}" for w in leaks]


def assert_finite(model, X):
    """Predictions are finite; summaries and explanations end in words or in an error of ours."""
    for ask in asks(model):
        assert_finite_answer(ask, X)
    for describe, arguments in (("summary", ()), ("explain", (X[:5],))):
        if hasattr(model, describe):
            with suppress(PellucidError):
                str(getattr(model, describe)(*arguments))


def assert_finite_answer(ask, X):
    found = np.asarray(ask(X))
    assert found.dtype.kind != "f" or np.all(np.isfinite(found)), f"{ask.__name__}: not finite"


@pytest.mark.parametrize("table", TABLES)
def test_extreme_tables(Model, table):
    sample = numbers(Model, n=30)
    X = TABLES[table](sample.X)
    with finite_or_refused():
        assert_finite(fitted(Model, sample.with_X(X)), X)


def positive_targets(Model) -> bool:
    return tags(Model).target_tags.positive_only


@applies_to(regressor)
@pytest.mark.parametrize("target", TARGETS)
def test_extreme_targets(Model, target):
    sample = numbers(Model, n=30)
    y = TARGETS[target](sample.y)
    with finite_or_refused():
        fit = fitted(Model, sample.with_y(np.abs(y) if positive_targets(Model) else y))
        assert_finite(fit, sample.X)


@applies_to(weighted)
@pytest.mark.parametrize("size", ["tiny", "huge", "spread"])
def test_extreme_weights(Model, size):
    sample = numbers(Model, n=30)
    spread = 10.0 ** np.linspace(-12, 12, 30)
    weights = {"tiny": np.full(30, 2.0**-900), "huge": np.full(30, 2.0**900), "spread": spread}
    with finite_or_refused():
        assert_finite(fitted(Model, sample, weights[size]), sample.X)


@pytest.mark.parametrize("table", ["scaled by 2**300", "subnormal", "largest floats"])
def test_ordinary_model_meets_extreme_rows(Model, table):
    """Trained on ordinary numbers: an answer, or an error that leaves the model as it was."""
    sample = numbers(Model, n=30)
    model = fitted(Model, sample)
    before = answers(model, sample.X)
    X = TABLES[table](sample.X)
    for ask in asks(model):  # one by one: a refusal by the first must not hide the others
        with finite_or_refused():
            assert_finite_answer(ask, X)
    if hasattr(model, "explain"):
        with finite_or_refused():
            parts = model.explain(X)
            assert not hasattr(parts, "prediction") or np.all(np.isfinite(parts.prediction))
    assert_same_bits(before, answers(model, sample.X))


@applies_to(invariant("column scale"))
@pytest.mark.parametrize("k", [-900, -40, 40, 900])
def test_units_of_columns_do_not_matter(Model, k):
    sample = numbers(Model)
    factor = 2.0 ** np.array([k, 0, -k // 2, 3])
    one, other = fitted(Model, sample), fitted(Model, sample.with_X(sample.X * factor))
    assert_close(answers(one, sample.X), answers(other, sample.X * factor), one)


@pytest.mark.slow
def test_random_finite_arrays(Model):
    """Any bits that are a finite number: subnormal, signed zeros, the largest, all at once."""
    for seed in cases(60, 2500):  # 100,000 over all classes
        rng = np.random.default_rng([seed, 17])
        sample = numbers(Model, n=int(rng.integers(9, 18)), p=int(rng.integers(1, 6)))
        bits = rng.integers(0, 2**64, sample.X.shape, dtype=np.uint64).view(np.float64)
        wild = np.where(np.isfinite(bits), bits, rng.choice([0.0, -0.0, 5e-324, MAX, -MAX]))
        X = np.where(rng.random(sample.X.shape) < rng.random(), wild, sample.X)
        if tags(Model).input_tags.positive_only:
            X = np.abs(X)
        with finite_or_refused():
            assert_finite(fitted(Model, sample.with_X(X)), X)
