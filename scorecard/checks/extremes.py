"""Rows 8 to 10: offsets and scales, a grid of extreme tables, random finite arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from scorecard.runner import Case, counted
from tests.contract import test_extremes
from tests.contract.classes import invariant, public_classes, regressor, tags, weighted
from tests.contract.compare import answers, assert_close, fitted
from tests.contract.data import numbers

POWERS = (-900, -600, -300, -100, -50, -20, -7, -1, 0, 1, 7, 20, 50, 100, 300, 600, 900)
OFFSETS = (0.0, 1e2, 1e4, 1e6, 1e8, 1e10)
# Models whose answers do not change if a column is moved, in exact arithmetic, and that draw nothing:
# rows are drawn by their content.
SHIFTABLE = (
    "LinearRegression", "LogisticRegression", "GeneralizedLinearModel", "PoissonRegressor",
    "GammaRegressor", "Ridge", "Lasso", "ElasticNet", "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis", "GaussianNB", "PCA", "GaussianMixture",
    "DecisionTreeClassifier", "DecisionTreeRegressor",
    "HistGradientBoostingClassifier", "HistGradientBoostingRegressor",
    "GradientBoostingRegressor", "KNeighborsClassifier", "KNeighborsRegressor", "BayesianRidge",
)  # fmt: skip


def scales(share: float) -> Iterator[Case]:
    """Columns in other units and far from zero: at most one digit is lost."""
    for name, Model in public_classes().items():
        if share < 1 and name not in ("LinearRegression", "DecisionTreeClassifier"):
            continue
        if invariant("column scale")(Model):
            for power in POWERS:
                yield Case(f"{name} scale 2**{power}", partial(_scaled, Model, power, False))
                yield Case(f"{name} columns 2**{power}", partial(_scaled, Model, power, True))
        if name in SHIFTABLE:
            for offset in OFFSETS:
                yield Case(f"{name} offset {offset:g}", partial(_moved, Model, offset))


def _scaled(Model: type, power: int, each: bool) -> None:
    sample = numbers(Model)
    factor = 2.0 ** np.array([power, 0, -power // 2, 3]) if each else 2.0**power
    one, other = fitted(Model, sample), fitted(Model, sample.with_X(sample.X * factor))
    assert_close(answers(one, sample.X), answers(other, sample.X * factor), one)


def _moved(Model: type, offset: float) -> None:
    """The cells are multiples of 1/64: moved by the offset, they are exact still. Coefficients of
    linear models lose nothing; answers from class means have the digits of a mean so far away."""
    sample = numbers(Model)
    one, other = fitted(Model, sample), fitted(Model, sample.with_X(sample.X + offset))
    kept = [answers(one, sample.X), answers(other, sample.X + offset)]
    tolerance = max(1e-11, 10 * float(np.spacing(offset)))
    if hasattr(one, "coef_"):  # x . coef_ + intercept_ cancels, coefficients do not
        kept = [{"coef_": np.asarray(model.coef_)} for model in (one, other)]
        tolerance = tolerance if hasattr(one, "xbar_") else 1e-11
    elif "transform" in kept[0]:  # axes may be mirrored
        kept = [{"transform": np.abs(said["transform"])} for said in kept]
    assert_close(*kept, one, tolerance=tolerance)


def grid(share: float) -> Iterator[Case]:
    """More than 100 extreme tables, targets and weights of each class, 4 seconds each."""
    shapes = ((30, 4, 0), (12, 1, 1), (20, 6, 2), (60, 3, 3)) if share == 1 else ((12, 3, 0),)
    for name, Model in public_classes().items():
        for n, p, seed in shapes:
            for table in test_extremes.TABLES:
                check = partial(_extreme_table, Model, table, n, p, seed)
                yield Case(f"{name} {table} {n}x{p}", check)
        if share < 1:
            continue
        for target in test_extremes.TARGETS if regressor(Model) else ():
            check = partial(test_extremes.test_extreme_targets, Model, target)
            yield Case(f"{name} target {target}", check)
        for size in ("tiny", "huge", "spread") if weighted(Model) else ():
            yield Case(
                f"{name} weights {size}", partial(test_extremes.test_extreme_weights, Model, size)
            )


def _extreme_table(Model: type, table: str, n: int, p: int, seed: int) -> None:
    sample = numbers(Model, n=n, p=max(p, 3 if "sum" in table else 2), seed=seed)
    X = test_extremes.TABLES[table](sample.X[:, : max(p, 2)] if "sum" not in table else sample.X)
    with test_extremes.finite_or_refused():
        test_extremes.assert_finite(fitted(Model, sample.with_X(X)), X)


def random_arrays(share: float) -> Iterator[Case]:
    """Any bits that are a finite number, 100,000 tables over all classes."""
    classes = public_classes()
    each = -(-100_000 // len(classes))
    for number in counted(each, share):
        for name, Model in classes.items():
            yield Case(f"{name} {number}", partial(_random_array, Model, number))


def _random_array(Model: type, seed: int) -> None:
    rng = np.random.default_rng([seed, 17])
    sample = numbers(Model, n=int(rng.integers(9, 18)), p=int(rng.integers(1, 6)))
    bits = rng.integers(0, 2**64, sample.X.shape, dtype=np.uint64).view(np.float64)
    largest = np.finfo(float).max
    wild = np.where(np.isfinite(bits), bits, rng.choice([0.0, -0.0, 5e-324, largest, -largest]))
    X = np.where(rng.random(sample.X.shape) < rng.random(), wild, sample.X)
    if tags(Model).input_tags.positive_only:
        X = np.abs(X)
    with test_extremes.finite_or_refused():
        test_extremes.assert_finite(fitted(Model, sample.with_X(X)), X)
