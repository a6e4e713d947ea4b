"""What forests and bagging share: means of base estimators that were fitted on drawn rows.

Invariant: a prediction is the mean of the predictions of the base estimators, and so is its
explanation.
"""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.targets import warn_of_column_vector
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.errors import DataError, ParameterError, warn
from pellucid.parameters import Boolean, Integer, param
from pellucid.tree import explaining
from pellucid.tree.base import one_or_several
from pellucid.tree.growth_parameters import share

SHARE = share("]")
MAX_SAMPLES = param(
    None,
    Integer(1) | SHARE | None,
    "Size of a bootstrap sample: a number of samples or a share of them. None draws as many as "
    "there are.",
)
OOB_IMPORTANCES = param(
    False,
    Boolean,
    "Whether to measure each column by how much worse a base estimator predicts its out-of-bag rows "
    "if the column is shuffled.",
    last=True,
)
OOB_SCORE = "Score of the out-of-bag predictions, if `oob_score` is set."
OOB_PROBABILITIES = (
    "Out-of-bag probabilities of the classes for each row, shape (n_samples, n_classes), if "
    "`oob_score` is set; NaN for a row that every base estimator saw."
)
OOB_PREDICTIONS = (
    "Out-of-bag prediction for each row, if `oob_score` is set; NaN for a row that every base "
    "estimator saw."
)
OOB_MEAN = (
    "Mean increase of the out-of-bag loss when a column is shuffled, shape (n_features,), if "
    "`oob_importances` is set."
)
OOB_STD = (
    "Standard deviation of the out-of-bag importance over the base estimators, shape "
    "(n_features,), if `oob_importances` is set."
)


def check_out_of_bag(model: Any) -> None:
    """Refuse out-of-bag estimates of base estimators that see all rows."""
    if (model.oob_score or model.oob_importances) and not model.bootstrap:
        raise ParameterError("Out of bag estimation only available if bootstrap=True")


def kept_estimators(model: Any, name: str) -> list[Any]:
    """Base estimators of the earlier fit, with `warm_start`."""
    if not model.warm_start or name not in vars(model):
        return []
    old = getattr(model, name)
    if model.n_estimators < len(old):
        raise ParameterError(
            f"n_estimators={model.n_estimators} must be larger or equal to "
            f"len(estimators_)={len(old)} when warm_start==True"
        )
    if model.n_estimators == len(old):
        warn(
            "Warm-start fitting without increasing n_estimators does not fit new trees.",
            UserWarning,
        )
    return list(old)


def out_of_bag_results(model: Any, out_of_bag: OutOfBag, seed: Any) -> dict[str, Any]:
    """The learned attributes that `oob_score` and `oob_importances` ask for."""
    if not out_of_bag.bags:
        return {}
    found = out_of_bag.estimates(model.oob_score) if model.oob_score else {}
    if model.oob_importances:
        first = model.n_estimators - len(out_of_bag.bags)
        found |= out_of_bag.importances(seed, first, model.n_jobs)
    return found


def check_importances(model: Any) -> None:
    """Refuse importances that are not one number for each column (model files)."""
    for name in ("oob_importances_", "oob_importances_std_"):
        found = vars(model).get(name)
        if found is not None and (
            not isinstance(found, np.ndarray)
            or found.dtype != np.float64
            or found.shape != (model.n_features_in_,)
        ):
            raise DataError("the importances do not belong to these columns")


def explain_mean(model: Any, X: Any, method: str) -> dict[str, Any]:
    """The mean of the explanations of the trees."""
    trees, values, weights = model._as_trees()
    mean, classes = model._mean(X), "classes_" in vars(model)
    two = classes and mean.shape[1] == 2
    along = f"mean changes of the {'class frequencies' if classes else 'mean'} along the paths"
    return explaining.contributions(method, trees, values, weights, X, two) | {
        "prediction": mean[:, 1:] if two else mean,
        "scale": "probability" if classes else "response",
        "method": explaining.SHAPLEY if method == "shap" else along,
    }


def with_targets(problem: Problem) -> Problem:
    """The problem with y (n,) for one target, with a warning if it was a table of one column."""
    if problem.y.shape[1:] == (1,):
        warn_of_column_vector()
    return one_or_several(problem)


def check_width(old: int, new: int) -> None:
    """Refuse a warm start with another number of targets."""
    if old != new:
        raise DataError(
            f"With warm_start, the earlier base estimators have {old} targets, but y has {new}. Give "
            "y with the same targets, or fit with warm_start=False."
        )


def output_width(problem: Problem) -> int:
    """Columns of a prediction: one for each class, or for each target."""
    if problem.classes is not None:
        return len(problem.classes)
    return 1 if problem.y.ndim == 1 else problem.y.shape[1]
