"""Rows 1 and 2: scikit-learn's checks of every class, and those that it runs only on its own."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from unittest import mock

from sklearn.utils import estimator_checks

from scorecard.runner import Case
from tests.contract import test_parameters, test_scikit_learn
from tests.contract.classes import make, public_classes
from tests.contract.test_scikit_learn import CLUSTERING, TRANSFORMING, title


def common(share: float) -> Iterator[Case]:
    """Every check of `check_estimator`, none expected to fail."""
    for number, case in enumerate(_common()):
        if number % round(1 / share) == 0:
            yield case


def _common() -> Iterator[Case]:
    for name, Model in public_classes().items():
        estimator = Model(**getattr(Model, "_check_params", {}))
        with mock.patch("warnings.warn"):
            found = list(estimator_checks.estimator_checks_generator(estimator))
        for instance, check in found:
            if "array_api" not in title(check):  # needs an interpreter started for it
                yield Case(f"{name} {title(check)}", functools.partial(check, instance))


def own(share: float) -> Iterator[Case]:
    """Checks that scikit-learn runs on its own classes: names of columns, outputs, parameters."""
    for number, case in enumerate(_own()):
        if number % round(1 / share) == 0:
            yield case


def _own() -> Iterator[Case]:
    shared = (
        estimator_checks.check_n_features_in_after_fitting,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_fit_check_is_fitted,
    )
    for name, Model in public_classes().items():
        checks = shared
        if hasattr(make(Model), "transform"):
            checks += TRANSFORMING
        if test_scikit_learn.clusterer(Model):
            checks += CLUSTERING
        for check in checks:
            run = functools.partial(check, name, make(Model))
            yield Case(f"{name} {title(check)}", run)
        yield Case(f"{name} columns by name", functools.partial(_by_name, Model))
        for parameter in test_parameters.parameters(Model):
            yield Case(f"{name} refuses {parameter}", functools.partial(_refuses, Model, parameter))


def _by_name(Model: type) -> None:
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        test_scikit_learn.test_columns_are_matched_by_name(Model, patch)


def _refuses(Model: type, parameter: str) -> None:
    """A parameter of an impossible type: an error of ours that names it, in fit."""
    from pellucid.errors import PellucidError
    from tests.contract.data import numbers

    class Unknown:
        pass

    sample = numbers(Model)
    model = make(Model).set_params(**{parameter: Unknown()})
    try:
        model.fit(sample.X, sample.y)
    except PellucidError as error:
        assert parameter in str(error), str(error)
    else:
        raise AssertionError(f"{parameter} was accepted")
