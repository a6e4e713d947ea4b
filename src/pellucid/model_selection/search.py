"""Search over candidates by cross validation, retrained on all rows with the best."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.model_selection.metrics import Metric
from pellucid.model_selection.scoring import score


@dataclass(frozen=True)
class SearchResult:
    """Candidates with their fold scores; `best` is the position of the chosen one."""

    candidates: list[dict[str, Any]]
    scores: np.ndarray  # (candidates, folds), higher is better
    best: int
    errors: dict[int, str]

    @property
    def params(self) -> dict[str, Any]:
        return self.candidates[self.best]


def fresh(model: Any, params: dict[str, Any]) -> Any:
    """An unfitted copy with other parameters; works for any scikit-learn estimator."""
    make = getattr(model, "__sklearn_clone__", None)
    if make is None:
        from pellucid._sklearn import clone

        return clone(model).set_params(**copy.deepcopy(params))
    return make().set_params(**copy.deepcopy(params))


def search(
    model: Any,
    candidates: list[dict[str, Any]],
    take: Callable[[np.ndarray], tuple[Any, np.ndarray, np.ndarray]],
    splits: list[tuple[np.ndarray, np.ndarray]],
    metric: Metric,
    stop: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Score each candidate on each split; ties go to the earlier candidate.

    `take(rows)` gives (X, y, weights) of some rows. `stop()` is asked before each candidate but the
    first: a time limit leaves the remaining candidates unscored. A candidate that fails on a fold
    is out, with its reason; if all fail the first error is raised.
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
    """Fit with weights only where there are any, so that models without weights take part."""
    if (weights == 1.0).all():
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=weights)
