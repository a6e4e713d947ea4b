"""The estimators under contract, found in `pellucid.names`, and how to build one.

Nothing here lists a class: what it promises is read from the class (bases, signature, tags,
`_check_params`, `_exempt`, `_invariant`), so a family is under contract as soon as it has a name.
"""

import copy
import inspect
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

from pellucid import names
from pellucid.base import Classifier, Clusterer, Regressor
from pellucid.transformer import Transformer


@cache
def public_classes() -> dict[str, type]:
    """Every public estimator, by class name, in the order of `names.ESTIMATORS`."""
    return {
        name: getattr(import_module(module), name)
        for module, members in names.ESTIMATORS.items()
        for name in members
    }


def applies_to(*predicates: Callable[[type], bool]) -> Callable:
    """Give a test only to the classes that fulfil every predicate."""

    def mark(test: Callable) -> Callable:
        test.applies_to = predicates  # type: ignore[attr-defined]
        return test

    return mark


def parameters(Model: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(Model).parameters)


def make(Model: type, **chosen):
    """A new estimator with the arguments its class asks for on tiny data, and a fixed seed."""
    arguments = copy.deepcopy(getattr(Model, "_check_params", {})) | chosen
    if "random_state" in parameters(Model):
        arguments.setdefault("random_state", 0)
    return Model(**arguments)


@cache
def tags(Model: type):
    return make(Model).__sklearn_tags__()


def exemptions(Model: type) -> dict[str, str]:
    return getattr(Model, "_exempt", {})


def classifier(Model: type) -> bool:
    return issubclass(Model, Classifier)


def regressor(Model: type) -> bool:
    return issubclass(Model, Regressor)


def supervised(Model: type) -> bool:
    return classifier(Model) or regressor(Model)


def one_target(Model: type) -> bool:
    return tags(Model).target_tags.single_output


def transformer(Model: type) -> bool:
    return issubclass(Model, Transformer)


def clusterer(Model: type) -> bool:
    return issubclass(Model, Clusterer)


def sparse(Model: type) -> bool:
    return tags(Model).input_tags.sparse


def has(*methods: str) -> Callable[[type], bool]:
    """The estimator, built for the checks, offers these methods (some depend on parameters)."""
    return lambda Model: all(hasattr(make(Model), method) for method in methods)


def takes(*arguments: str) -> Callable[[type], bool]:
    return lambda Model: all(argument in parameters(Model) for argument in arguments)


def weighted(Model: type) -> bool:
    return "sample_weight" in inspect.signature(Model.fit).parameters


def invariant(what: str) -> Callable[[type], bool]:
    """The class promises the invariance in `_invariant`: "weight scale", "column scale"."""
    return lambda Model: what in getattr(Model, "_invariant", ())


@cache
def counterpart(Model: type) -> type | None:
    """Scikit-learn's class of the same module and name, if it has one."""
    home = next(home for home, members in names.ESTIMATORS.items() if Model.__name__ in members)
    try:
        return getattr(import_module(home.replace("pellucid", "sklearn", 1)), Model.__name__, None)
    except ImportError:
        return None


def known_to_scikit_learn(Model: type) -> bool:
    return counterpart(Model) is not None


@cache
def documented_differences() -> tuple[str, ...]:
    path = Path(__file__).parents[2] / "docs" / "differences.md"
    return tuple(re.split(r"^- ", path.read_text(encoding="utf-8"), flags=re.M)[1:])


def documented(Model: type, name: str) -> bool:
    """An entry of differences.md names the class (or every estimator) and the thing, as code."""
    return any(
        f"`{name}" in entry
        and (f"`{Model.__name__}" in entry or entry.startswith("**Every estimator"))
        for entry in documented_differences()
    )
