"""Hyperparameter search by cross-validation."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.model_selection.metrics import Metric
from pellucid.model_selection.scoring import score


@dataclass(frozen=True)
class SearchResult:
    """Candidates with their scores by fold; `best` is the index of the chosen candidate."""

    candidates: list[dict[str, Any]]
    scores: np.ndarray  # (candidates, folds), higher is better
    best: int
    errors: dict[int, str]

    @property
    def params(self) -> dict[str, Any]:
        return self.candidates[self.best]


def fresh(model: Any, params: dict[str, Any]) -> Any:
    """An unfitted copy with other parameters; works for any scikit-learn estimator."""
    own_clone = getattr(model, "__sklearn_clone__", None)
    if own_clone is None:
        from pellucid._sklearn import clone

        return clone(model).set_params(**copy.deepcopy(params))
    return own_clone().set_params(**copy.deepcopy(params))


def search(
    model: Any,
    candidates: list[dict[str, Any]],
    take: Callable[[np.ndarray], tuple[Any, np.ndarray, np.ndarray]],
    splits: list[tuple[np.ndarray, np.ndarray]],
    metric: Metric,
    stop: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Score each candidate on each split; ties go to the earlier candidate.

    `take(rows)` returns (X, y, weights) of some rows. The search ends early if `stop()` is true before
    a candidate other than the first; the remaining candidates have no scores. A candidate that fails
    on a fold is excluded, and `errors` holds the reason; if all fail, the first error is raised.
    """
    scores = np.full((len(candidates), len(splits)), np.nan)
    errors: dict[int, str] = {}
    first_error: Exception | None = None
    for c, params in enumerate(candidates):
        if c and stop():
            break
        try:
            for f, (train, test) in enumerate(splits):
                scores[c, f] = _score_fold(model, params, take, train, test, metric)
        except Exception as error:  # a candidate's failure is a result, reported to the user
            errors[c], scores[c] = f"{type(error).__name__}: {error}", np.nan
            first_error = first_error or error
    means = scores.mean(axis=1)
    if np.isnan(means).all():
        if first_error is not None:
            raise first_error
        return SearchResult(candidates, scores, 0, errors)
    return SearchResult(candidates, scores, int(np.nanargmax(means)), errors)


def _score_fold(
    model: Any,
    params: dict[str, Any],
    take: Any,
    train: np.ndarray,
    test: np.ndarray,
    metric: Metric,
) -> float:
    X, y, w = take(train)
    fitted = fit(fresh(model, params), X, y, w)
    X, y, w = take(test)
    return metric.sign * score(fitted, X, y, w, metric)


def fit(model: Any, X: Any, y: np.ndarray, weights: np.ndarray) -> Any:
    """Fit, passing weights only if they differ from 1, so that models without weights can be used."""
    if (weights == 1.0).all():
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=weights)
