"""Fits one class with one setting on one table and takes the digests of all it computes."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import pellucid
from pellucid.errors import PellucidError
from pellucid.names import ESTIMATORS
from scorecard.same_bits.digests import digests, learned
from scorecard.same_bits.settings import LONG, SETTINGS, TARGET, Made, Setting, label
from scorecard.same_bits.tables import Sample, long_sample, samples

ON_NEW_ROWS = (
    "predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "linear_predictor",
    "decision_function", "transform", "score_samples", "apply", "decision_path", "explain",
    "explain_words", "predict_interval", "kneighbors", "kneighbors_graph", "radius_neighbors",
    "radius_neighbors_graph", "staged_predict", "staged_decision_function", "staged_predict_proba",
    "aic", "bic",
)  # fmt: skip
ON_NOTHING = ("summary", "get_covariance", "get_precision", "sample", "get_depth", "get_n_leaves",
              "pruning_table")  # fmt: skip
ERRORS = ("HC0", "HC1", "HC2", "HC3", "clustered")
# The second is scikit-learn's error for a method that one solver does not have (LDA with 'lsqr').
REFUSALS = (PellucidError, NotImplementedError)
Found = Iterator[tuple[str, str]]


@cache
def public_classes() -> dict[str, Any]:
    """Every public estimator by name."""
    return {
        name: getattr(importlib.import_module(module), name)
        for module, names in ESTIMATORS.items()
        for name in names
    }


def record(name: str) -> Found:
    """(key, SHA-256) of everything that one class computes, over its settings and tables."""
    cls = public_classes()[name]
    for setting in _distinct(SETTINGS[name]):
        tags = _build(cls, setting).__sklearn_tags__()
        for table, sample in _tables(tags.input_tags.positive_only).items():
            if table != "sparse" or tags.input_tags.sparse:
                yield from _one(table, cls, setting, sample)
    for setting in LONG.get(name, []):
        yield from _one("long", cls, setting, _long())


def _distinct(settings: list[Setting]) -> list[Setting]:
    return list({label(setting): setting for setting in settings}.values())


@cache
def _tables(counts: bool) -> dict[str, Sample]:
    return samples(counts)


@cache
def _long() -> Sample:
    return long_sample()


def _target(model: Any, setting: Setting, table: str) -> str:
    """The name of the target that a class learns; none has the name ''."""
    if TARGET in setting:
        return str(setting[TARGET])
    tags = model.__sklearn_tags__()
    if tags.estimator_type == "classifier":
        return "classes"
    if tags.estimator_type != "regressor":
        return ""
    if tags.target_tags.positive_only:
        return "positive"
    if table == "wide" and tags.target_tags.multi_output:
        return "several"
    return "numbers"


def _build(cls: Any, setting: Setting) -> Any:
    """The estimator, with a fixed seed."""
    values = {name: _value(value) for name, value in setting.items() if name != TARGET}
    if "random_state" in inspect.signature(cls).parameters:
        values.setdefault("random_state", 0)
    return cls(**values)


def _value(value: Any) -> Any:
    if not isinstance(value, Made):
        return value
    arguments = {name: _value(part) for name, part in value.arguments}
    own = getattr(pellucid, value.name, None) or public_classes()[value.name]
    return own(**arguments)


def _one(table: str, cls: Any, setting: Setting, sample: Sample) -> Found:
    key = f"{cls.__name__}/{label(setting)}/{table}"
    y = sample.targets.get(_target(_build(cls, setting), setting, table))
    weights = sample.weights if "sample_weight" in inspect.signature(cls.fit).parameters else None
    given = [sample.X] if y is None else [sample.X, y]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = _build(cls, setting)
        more = {} if weights is None else {"sample_weight": weights}
        failure = _failure(model.fit, *given, **more)
        if failure:
            yield f"{key}/fit", failure
            return
        yield from _used(key, model, sample, given, more)
        if setting.get("warm_start"):
            model.fit(*given, **more)
            yield from _learned(f"{key}/second fit", model)
        if hasattr(cls, "partial_fit") and len(setting) < 2:
            yield from _in_batches(f"{key}/partial_fit", _build(cls, setting), given)


def _failure(method: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    """The kind of error that a call raises, or ''."""
    try:
        method(*arguments, **more)
    except REFUSALS as error:
        return f"raises {type(error).__name__}"
    return ""


def _used(key: str, model: Any, sample: Sample, given: list[Any], more: dict[str, Any]) -> Found:
    """What a fitted model has learned and computes."""
    yield from _learned(key, model)
    for method in ON_NEW_ROWS:
        yield from _called(f"{key}/{method}", model, method, sample.new)
    for method in ON_NOTHING:
        yield from _called(f"{key}/{method}", model, method)
    yield from _called(f"{key}/score", model, "score", *given)
    if "return_std" in inspect.signature(getattr(model, "predict", len)).parameters:
        yield from _called(f"{key}/std", model, "predict", sample.new, return_std=True)
    if "errors" in inspect.signature(getattr(model, "summary", len)).parameters:
        rows = {"X": given[0], "y": given[1], **more}
        groups = np.arange(len(given[1])) // 5
        for errors in ERRORS:
            extra = {"groups": groups} if errors == "clustered" else {}
            yield from _called(f"{key}/{errors}", model, "summary", errors=errors, **rows, **extra)
    if hasattr(model, "cost_complexity_pruning_path"):
        yield from _called(f"{key}/pruning", model, "cost_complexity_pruning_path", *given)


def _learned(key: str, model: Any) -> Found:
    for name, value in learned(model):
        yield from digests(f"{key}/{name}", value)


def _called(key: str, model: Any, method: str, *arguments: Any, **more: Any) -> Found:
    if not hasattr(model, method):
        return
    try:
        value = getattr(model, method)(*arguments, **more)
        yield from digests(key, value if not isinstance(value, Iterator) else list(value))
    except REFUSALS as error:
        yield key, f"raises {type(error).__name__}"


def _in_batches(key: str, model: Any, given: list[Any]) -> Found:
    """Two halves of the rows, one after the other."""
    half = given[0].shape[0] // 2
    takes_classes = "classes" in inspect.signature(model.partial_fit).parameters
    more = {"classes": np.unique(given[1])} if takes_classes else {}
    for rows in (slice(0, half), slice(half, None)):
        X = given[0][rows] if not hasattr(given[0], "slice") else given[0].slice(rows.start, half)
        failure = _failure(model.partial_fit, X, given[1][rows], **more)
        if failure:
            yield key, failure
            return
        more = {}
    yield from _learned(key, model)
