"""Metrics of fitted models by name, with scikit-learn's names: "neg_log_loss", "f1_macro", "r2", ...

A scorer is called with (model, X, y, weights). Higher is better for scikit-learn's names. The own
names of `METRICS`, such as "rmse" and "log_loss", give the metric itself; `sign` is -1 where lower is
better.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid import metrics
from pellucid.errors import ParameterError, shown
from pellucid.model_selection.metrics import METRICS, Metric, metric
from pellucid.model_selection.scoring import score

NEGATED_NUMBERS = {
    "neg_mean_squared_error": metrics.mean_squared_error,
    "neg_root_mean_squared_error": metrics.root_mean_squared_error,
    "neg_mean_absolute_error": metrics.mean_absolute_error,
    "neg_median_absolute_error": metrics.median_absolute_error,
    "neg_mean_absolute_percentage_error": metrics.mean_absolute_percentage_error,
    "neg_mean_squared_log_error": metrics.mean_squared_log_error,
    "neg_root_mean_squared_log_error": metrics.root_mean_squared_log_error,
    "neg_mean_poisson_deviance": metrics.mean_poisson_deviance,
    "neg_mean_gamma_deviance": metrics.mean_gamma_deviance,
}
BY_CLASS = {
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "f1": metrics.f1_score,
    "jaccard": metrics.jaccard_score,
}
AVERAGES = ("macro", "micro", "weighted")


@dataclass(frozen=True)
class Scorer:
    """A name, a function of (model, X, y, weights), and 1 if higher is better, else -1."""

    name: str
    compute: Callable[[Any, Any, Any, Any], float]
    sign: int = 1


def _of_labels(function: Any, sign: int, model: Any, X: Any, y: Any, w: Any) -> float:
    return sign * float(function(y, model.predict(X), sample_weight=w))


def _of_positive(function: Any, model: Any, X: Any, y: Any, w: Any) -> float:
    """The last of two classes counts as positive."""
    positive = model.classes_[-1]
    return float(function(y, model.predict(X), pos_label=positive, sample_weight=w))


def _brier(model: Any, X: Any, y: Any, w: Any) -> float:
    proba, classes = model.predict_proba(X), model.classes_
    return -metrics.brier_score_loss(y, proba, labels=classes, sample_weight=w)


def _log_loss(model: Any, X: Any, y: Any, w: Any) -> float:
    return -metrics.log_loss(y, model.predict_proba(X), labels=model.classes_, sample_weight=w)


def _areas(how: str, average: str, model: Any, X: Any, y: Any, w: Any) -> float:
    proba = model.predict_proba(X)
    options = {"multi_class": how, "average": average, "labels": model.classes_}
    return float(metrics.roc_auc_score(y, proba, sample_weight=w, **options))


def _by_default(model: Any, X: Any, y: Any, w: Any) -> float:
    """`model.score`: accuracy, R2, or what the model defines."""
    return float(model.score(X, y) if w is None else model.score(X, y, sample_weight=w))


def _by_metric(own: Metric, model: Any, X: Any, y: Any, w: Any) -> float:
    y = np.asarray(y)
    return score(model, X, y, np.ones(len(y)) if w is None else np.asarray(w, dtype=float), own)


def _by_function(function: Any, model: Any, X: Any, y: Any, w: Any) -> float:
    return float(function(model, X, y) if w is None else function(model, X, y, sample_weight=w))


def _named() -> dict[str, Callable[..., float]]:
    found: dict[str, Callable[..., float]] = {
        name: partial(_of_labels, function, -1) for name, function in NEGATED_NUMBERS.items()
    }
    for name, function in BY_CLASS.items():
        for average in AVERAGES:
            averaged = partial(function, average=average)
            found[f"{name}_{average}"] = partial(_of_labels, averaged, 1)
        if name not in METRICS:
            found[name] = partial(_of_positive, function)
    for how in ("ovr", "ovo"):
        found[f"roc_auc_{how}"] = partial(_areas, how, "macro")
        found[f"roc_auc_{how}_weighted"] = partial(_areas, how, "weighted")
    found["matthews_corrcoef"] = partial(_of_labels, metrics.matthews_corrcoef, 1)
    found["explained_variance"] = partial(_of_labels, metrics.explained_variance_score, 1)
    return found | {"neg_log_loss": _log_loss, "neg_brier_score": _brier}


SCORERS = _named()


def scorer(scoring: Any) -> Scorer:
    """The scorer of a name, of a function (model, X, y), or, for None, of `model.score`."""
    if scoring is None:
        return Scorer("score", _by_default)
    if isinstance(scoring, str):
        if scoring in SCORERS:
            return Scorer(scoring, SCORERS[scoring])
        own = metric(scoring)
        return Scorer(scoring, partial(_by_metric, own), own.sign)
    if not callable(scoring):
        raise ParameterError(
            f"scoring must be a name, a function (model, X, y) or None. Got {shown(scoring)} instead."
        )
    return Scorer(getattr(scoring, "__name__", "score"), partial(_by_function, scoring))


def scorers(scoring: Any) -> dict[str, Scorer]:
    """Several scorers by the names of their results; one has the name "score"."""
    if isinstance(scoring, dict):
        return {str(name): scorer(one) for name, one in scoring.items()}
    if isinstance(scoring, list | tuple | set):
        return {str(one): scorer(one) for one in scoring}
    return {"score": scorer(scoring)}
