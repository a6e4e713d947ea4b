"""Folds, cross-validation and search for any estimator, in scikit-learn's names and call forms."""

from pellucid.model_selection.cross_validation import (
    PARAMETERS,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from pellucid.model_selection.grids import Geometric, candidates
from pellucid.model_selection.metrics import METRICS, Metric, metric
from pellucid.model_selection.search import SearchResult, search
from pellucid.model_selection.splitters import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
    train_test_split,
)
from pellucid.parameters.function_help import describe_parameters

__all__ = [
    "METRICS",
    "Geometric",
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "Metric",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "SearchResult",
    "ShuffleSplit",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
    "candidates",
    "cross_val_predict",
    "cross_val_score",
    "cross_validate",
    "metric",
    "search",
    "train_test_split",
]

describe_parameters(globals(), PARAMETERS)
