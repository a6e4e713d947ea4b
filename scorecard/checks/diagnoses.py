"""Rows 11 and 12: bad problems are named; categories have their documented outcome."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from pellucid.errors import PellucidError
from pellucid.linear_model import (
    GammaRegressor,
    GeneralizedLinearModel,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
)
from scorecard.runner import Case
from tests.contract import test_bad_data, test_one_rule
from tests.contract.classes import classifier, exemptions, public_classes
from tests.linear_model import test_separation


def problems(share: float) -> Iterator[Case]:
    """Separation, collinearity, constant columns, one class, one row, more columns than rows."""
    for case in test_separation.CASES:
        for units in (1.0, 2.0**-60):
            check = partial(
                test_separation.test_separation_is_found_and_its_columns_named, case, units
            )
            yield Case(f"separation {case.__name__} {units:g}", check)
    if share < 1:
        return
    for Model in (LinearRegression, GeneralizedLinearModel, PoissonRegressor, GammaRegressor):
        for fault in ("repeated", "sum", "constant"):
            yield Case(f"{Model.__name__} {fault}", partial(_aliased, Model, fault))
    for fault in ("repeated", "sum"):
        yield Case(f"logistic {fault}", partial(_aliased, LogisticRegression, fault))
    for Model in (LinearRegression, GeneralizedLinearModel, PoissonRegressor):
        yield Case(f"{Model.__name__} p > n", partial(_wide, Model))
    for name, Model in public_classes().items():
        one_row = test_bad_data.test_one_row_is_for_baselines_and_the_index_alone
        yield Case(f"{name} one row", partial(one_row, Model))
        if classifier(Model):
            one_class = test_bad_data.test_one_class_is_for_the_baseline_alone
            yield Case(f"{name} one class", partial(one_class, Model))


def _made(Model: Any) -> Any:
    if Model is LogisticRegression:
        return Model(C=np.inf)
    return Model() if Model in (LinearRegression, GeneralizedLinearModel) else Model(alpha=0)


def _aliased(Model: Any, fault: str) -> None:
    """The summary names the column that depends on others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.exp(0.3 * X[:, 0] + 0.2 * rng.normal(size=60))
    y = (y > 1).astype(int) if Model is LogisticRegression else y
    more = {"repeated": X[:, 0], "sum": X[:, 0] + X[:, 1], "constant": np.full(60, 2.5)}[fault]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = str(_made(Model).fit(np.column_stack([X, more]), y).summary())
    assert "ombination" in text and ("x3" in text or "x0" in text), text[-500:]


def _wide(Model: Any) -> None:
    """More columns than rows: no standard errors are shown, and a note says why."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(8, 20)), rng.gamma(2.0, 1.0, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = str(_made(Model).fit(X, y).summary())
        except PellucidError as error:
            text = str(error)
    words = ("ombination", "degrees of freedom", "perfect", "without limit", "exactly")
    assert any(word in text for word in words), text[-500:]


def categories(share: float) -> Iterator[Case]:
    """Unseen, empty, missing, reordered, mixed types, many levels: every rule, every class."""
    for number, case in enumerate(_categories()):
        if number % round(1 / share) == 0:
            yield case


def _categories() -> Iterator[Case]:
    tests = [f for name, f in vars(test_one_rule).items() if name.startswith("test_")]
    for test in tests:
        for name, Model in public_classes().items():
            applies = all(predicate(Model) for predicate in getattr(test, "applies_to", ()))
            if applies and test.__name__.removeprefix("test_") not in exemptions(Model):
                for values in _arguments(test):
                    yield Case(
                        f"{name} {test.__name__} {values}", partial(_run, test, Model, values)
                    )
    for name, Model in public_classes().items():
        if Model._layout == "codes":
            yield Case(f"{name} 100,000 levels", partial(_many_levels, Model))


def _arguments(test: Callable) -> list[tuple]:
    """The values of the other argument of a test, if it has one."""
    if len(inspect.signature(test).parameters) == 1:
        return [()]
    marks = [mark for mark in getattr(test, "pytestmark", []) if mark.name == "parametrize"]
    return [(value,) for value in marks[0].args[1]]


def _run(test: Callable, Model: type, values: tuple) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test(Model, *values)


def _many_levels(Model: type) -> None:
    """A column of 100,000 levels is fitted and answered, or refused in our words."""
    import pandas as pd

    from tests.contract.compare import fitted
    from tests.contract.data import numbers

    sample = numbers(Model, n=100_000, p=1)
    table = pd.DataFrame({"a": sample.X[:, 0], "b": [f"level {i}" for i in range(100_000)]})
    try:
        model = fitted(Model, sample.with_X(table))
        model.predict(table[:10])
    except PellucidError as error:
        assert str(error)
