"""Folds, metrics and search. They use only `fit` and `predict`, so any scikit-learn estimator works."""

from pellucid.model_selection.folds import (
    GroupFolds,
    LeaveOneOut,
    PlainFolds,
    RepeatedFolds,
    StratifiedFolds,
    TimeFolds,
    holdout,
)
from pellucid.model_selection.grids import Geometric, candidates
from pellucid.model_selection.metrics import METRICS, Metric, metric
from pellucid.model_selection.search import SearchResult, search

__all__ = [
    "METRICS",
    "Geometric",
    "GroupFolds",
    "LeaveOneOut",
    "Metric",
    "PlainFolds",
    "RepeatedFolds",
    "SearchResult",
    "StratifiedFolds",
    "TimeFolds",
    "candidates",
    "holdout",
    "metric",
    "search",
]
