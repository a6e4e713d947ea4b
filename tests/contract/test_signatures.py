"""Same names: parameters, methods and learned attributes are those of scikit-learn's class.

A difference is allowed only where an entry of `docs/differences.md` names the class and the parameter,
method or attribute. Our own parameters are keyword-only and come last.
"""

import inspect
import math
import re

import numpy as np

from tests.contract.classes import (
    applies_to,
    counterpart,
    documented,
    known_to_scikit_learn,
    parameters,
)
from tests.contract.compare import fitted, quietly
from tests.contract.data import numbers

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def theirs(Model: type) -> dict[str, inspect.Parameter]:
    return {
        name: parameter
        for name, parameter in inspect.signature(counterpart(Model)).parameters.items()
        if not is_word(parameter.default, "deprecated") or name in parameters(Model)
    }


def is_word(default, word: str) -> bool:
    return isinstance(default, str) and default == word


def same_default(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if hasattr(a, "get_params") and hasattr(b, "get_params"):
        return type(a).__name__ == type(b).__name__
    return type(a) is type(b) and np.array_equal(a, b)


@applies_to(known_to_scikit_learn)
def test_parameters_have_scikit_learns_names_and_order(Model):
    expected = [name for name in theirs(Model) if not documented(Model, name)]
    found = [name for name in parameters(Model) if name in expected]
    assert found == expected


@applies_to(known_to_scikit_learn)
def test_parameters_have_scikit_learns_defaults(Model):
    ours = parameters(Model)
    for name, parameter in theirs(Model).items():
        if name not in ours or documented(Model, name):
            continue
        if is_word(parameter.default, "warn"):
            assert not is_word(ours[name].default, "warn"), f"{name}: take the announced default"
            continue
        assert same_default(ours[name].default, parameter.default), (
            f"{name}={ours[name].default!r}, scikit-learn has {parameter.default!r}"
        )


@applies_to(known_to_scikit_learn)
def test_positional_parameters_stay_positional(Model):
    ours = parameters(Model)
    for name, parameter in theirs(Model).items():
        if name in ours and parameter.kind is not KEYWORD_ONLY:
            assert ours[name].kind is not KEYWORD_ONLY, f"{name} can be given by position there"


def test_own_parameters_are_keyword_only_and_last(Model):
    ours = list(parameters(Model).values())
    known = set(theirs(Model)) if counterpart(Model) else set()
    own = [parameter for parameter in ours if parameter.name not in known]
    assert all(parameter.kind is KEYWORD_ONLY for parameter in own if known)
    if known:
        assert ours[len(ours) - len(own) :] == own
    assert parameters(Model)["table"].kind is KEYWORD_ONLY
    assert parameters(Model)["table"].default is None


def test_every_parameter_has_a_default_and_no_star(Model):
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in parameters(Model).values():
        assert parameter.kind not in stars
        assert parameter.default is not inspect.Parameter.empty or Model._check_params


@applies_to(known_to_scikit_learn)
def test_methods_are_those_of_scikit_learn(Model):
    public = [n for n in dir(counterpart(Model)) if not n.startswith("_")]
    methods = [n for n in public if callable(getattr(counterpart(Model), n, None))]
    missing = [n for n in methods if not hasattr(Model, n) and not documented(Model, n)]
    assert not missing


@applies_to(known_to_scikit_learn)
def test_methods_take_scikit_learns_arguments(Model):
    """Names and order of arguments; scikit-learn's `**params` are for metadata routing alone."""
    for method in ("fit", "predict", "transform", "score", "partial_fit", "inverse_transform"):
        if not hasattr(counterpart(Model), method) or not hasattr(Model, method):
            continue
        there = inspect.signature(getattr(counterpart(Model), method)).parameters
        stars = [n for n, p in there.items() if p.kind is inspect.Parameter.VAR_KEYWORD]
        expected = [n for n in there if n not in stars and not documented(Model, n)]
        found = list(inspect.signature(getattr(Model, method)).parameters)
        assert [name for name in found if name in expected] == expected, method


@applies_to(known_to_scikit_learn)
def test_learned_attributes_are_those_of_scikit_learn(Model):
    """Names, and shapes where they are arrays of numbers."""
    sample = numbers(Model)
    ours = fitted(Model, sample)
    chosen = {n: v for n, v in Model._check_params.items() if n in theirs(Model)}
    reference = quietly(counterpart(Model)(**chosen).fit, sample.X, sample.y)
    for name in dir(reference):
        if name.startswith("_") or not name.endswith("_") or documented(Model, name):
            continue
        value = quietly(getattr, reference, name, None)
        assert value is None or hasattr(ours, name), name
        if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            assert np.shape(getattr(ours, name)) == value.shape, name


def test_docstring_names_every_parameter_and_runs_an_example(Model):
    text = inspect.getdoc(Model) or ""
    missing = [name for name in parameters(Model) if not re.search(rf"\b{name}\b", text)]
    assert not missing
    assert ">>>" in text
