"""Wrong parameters: one text, at fit and not before, and nothing is stored.

The text is `The 'alpha' parameter of Ridge must be ... Got ... instead.` Whatever scikit-learn's
class of the same name refuses, ours refuses too.
"""

import re

import numpy as np
import pytest

import pellucid
from pellucid.errors import ParameterError, PellucidError
from pellucid.parameters import parameters_of
from tests.contract.classes import (
    applies_to,
    counterpart,
    documented,
    known_to_scikit_learn,
    make,
    parameters,
    takes,
)
from tests.contract.compare import is_learned
from tests.contract.data import numbers

# One of each kind that a careless call passes; none can be a legal value of every parameter.
WRONG = {
    "word": "no such value",
    "nan": float("nan"),
    "minus": -1,
    "minus half": -0.5,
    "minus inf": -np.inf,
    "huge minus": -(10**12),
    "list": [[]],
    "bytes": b"1",
    "array": np.array([[1.0, 2.0]]),
    "complex": 1j,
    "set": {1},
}


class Wrong:
    """A type that no parameter can accept."""

    def __repr__(self):
        return "Wrong()"


def refuses(Model, name: str, value, method: str = "fit") -> bool:
    """Whether fit raises ParameterError; its text and the unfitted state are asserted here."""
    sample = numbers(Model, n=20)
    model = make(Model).set_params(**{name: value})
    try:
        getattr(model, method)(sample.X, sample.y)
    except ParameterError as error:
        pattern = rf"The '{name}' parameter of {Model.__name__} must be .* Got .* instead\."
        assert re.search(pattern, str(error), re.DOTALL), str(error)
        assert not [n for n in vars(model) if is_learned(n)]
        return True
    return False


def test_every_parameter_is_checked(Model):
    """The constraints cover exactly the parameters of the signature."""
    checked = parameters_of(Model)
    assert set(checked) | {"table"} == set(parameters(Model)) | {"table"}


def test_wrong_type_is_refused(Model):
    accepted = [name for name in parameters(Model) if not refuses(Model, name, Wrong())]
    assert not accepted


def other_ways_to_fit(Model) -> list[str]:
    ways = ("fit_transform", "fit_predict", "partial_fit")
    return [way for way in ways if hasattr(make(Model), way)]


@applies_to(other_ways_to_fit)
def test_wrong_type_is_refused_by_every_way_of_fitting(Model):
    for way in other_ways_to_fit(Model):
        accepted = [n for n in parameters(Model) if not refuses(Model, n, Wrong(), way)]
        assert not accepted, way


@applies_to(known_to_scikit_learn)
def test_what_scikit_learn_refuses_is_refused(Model):
    """Every parameter x every wrong value that scikit-learn's table of constraints excludes."""
    from sklearn.utils._param_validation import InvalidParameterError

    accepted = []
    there = parameters(counterpart(Model))
    shared = [n for n in parameters(Model) if n in there and not documented(Model, n)]
    needed = {n: v for n, v in Model._check_params.items() if n in shared}
    for name in shared:
        for label, value in WRONG.items():
            reference = counterpart(Model)(**needed | {name: value})
            try:
                reference._validate_params()
            except InvalidParameterError:
                if not refuses(Model, name, value):
                    accepted.append((name, label))
    assert not accepted


def test_wrong_values_never_escape_as_other_errors(Model):
    """A value of the right type may be right or wrong, but only our own error may come of it."""
    sample = numbers(Model, n=20)
    for name in parameters(Model):
        for value in WRONG.values():
            model = make(Model).set_params(**{name: value})
            try:
                model.fit(sample.X, sample.y)
            except PellucidError:
                assert not [n for n in vars(model) if is_learned(n)]


def test_own_numbers_exclude_nan(Model):
    """Parameters scikit-learn does not have are checked too."""
    known = parameters(counterpart(Model)) if counterpart(Model) else {}
    accepted = [n for n in parameters(Model) if n not in known and not refuses(Model, n, np.nan)]
    assert not accepted


def test_parameters_are_not_checked_before_fit(Model):
    for name in parameters(Model):
        value = Wrong()
        model = make(Model, **{name: value})
        assert getattr(model, name) is value
        assert model.get_params(deep=False)[name] is value


def test_unknown_parameter_is_named(Model):
    with pytest.raises(ValueError, match=r"Invalid parameter 'alhpa' for estimator .*Valid param"):
        make(Model).set_params(alhpa=1)


@applies_to(takes("table"))
def test_table_can_be_searched_by_nested_names(Model):
    model = make(Model, table=pellucid.Table())
    model.set_params(table__missing="error")
    assert model.get_params()["table__missing"] == "error"
    assert model.table.missing == "error"
    assert refuses(Model, "table", "indicator")
