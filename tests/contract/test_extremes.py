"""Extreme tables: finite answers or an error of ours, never nonsense, a crash or a hang."""

import warnings

import numpy as np
import pytest
from tests.contract.classes import applies_to, invariant, make, regressor, tags
from tests.contract.compare import answers, assert_close, fitted, learned
from tests.contract.data import Sample, numbers
from tests.contract.test_containers import asks

from pellucid.errors import NotFittedError, PellucidError

RNG = np.random.default_rng(11)
MAX = np.finfo(float).max


def scaled(k):
    return lambda X: X * 2.0**k


def each_column(X):
    return X * 2.0 ** np.array([-900, 300, 0, 900])[: X.shape[1]]


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
}


def assert_finite_or_refused(Model, sample: Sample):
    """Warnings are the model's business, except NumPy's: an overflow gone unnoticed."""
    model = make(Model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(sample.X, sample.y)
            for ask in asks(model):
                found = np.asarray(ask(sample.X))
                if found.dtype.kind == "f":
                    assert np.all(np.isfinite(found)), f"{ask.__name__}: not finite"
        except PellucidError as error:
            assert str(error)
            if not isinstance(error, NotFittedError):
                assert not learned(model) or asks(model)
    leaks = [
        w for w in caught if issubclass(w.category, RuntimeWarning) and "pellucid" in w.filename
    ]
    assert not leaks, [f"{w.filename}:{w.lineno}: {w.message}" for w in leaks]


@pytest.mark.parametrize("table", TABLES)
def test_extreme_tables(Model, table):
    sample = numbers(Model, n=30)
    assert_finite_or_refused(Model, sample.with_X(TABLES[table](sample.X)))


def positive_targets(Model) -> bool:
    return tags(Model).target_tags.positive_only


@applies_to(regressor, lambda Model: not positive_targets(Model))
@pytest.mark.parametrize("target", TARGETS)
def test_extreme_targets(Model, target):
    sample = numbers(Model, n=30)
    assert_finite_or_refused(Model, sample.with_y(TARGETS[target](sample.y)))


def test_extreme_weights(Model):
    sample = numbers(Model, n=30)
    for weights in (2.0**-900, 2.0**900, 10.0 ** np.linspace(-12, 12, 30)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = fitted(Model, sample, np.broadcast_to(weights, 30).copy())
                for ask in asks(model):
                    found = np.asarray(ask(sample.X))
                    assert found.dtype.kind != "f" or np.all(np.isfinite(found))
            except PellucidError as error:
                assert str(error)


@pytest.mark.parametrize("table", ["scaled by 2**300", "subnormal", "largest floats"])
def test_ordinary_model_meets_extreme_rows(Model, table):
    """Trained on ordinary numbers: an answer, or an error that leaves the model as it was."""
    sample = numbers(Model, n=30)
    model = fitted(Model, sample)
    extreme = TABLES[table](sample.X)
    for ask in asks(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                found = np.asarray(ask(extreme))
                assert found.dtype.kind != "f" or not np.any(np.isnan(found)), ask.__name__
            except PellucidError as error:
                assert str(error)


@applies_to(invariant("column scale"))
@pytest.mark.parametrize("k", [-900, -40, 40, 900])
def test_units_of_columns_do_not_matter(Model, k):
    sample = numbers(Model)
    factor = 2.0 ** np.array([k, 0, -k // 2, 3])
    one, other = fitted(Model, sample), fitted(Model, sample.with_X(sample.X * factor))
    assert_close(answers(one, sample.X), answers(other, sample.X * factor), one)
