"""Means of learners on drawn rows: what bagging and forests share.

Invariant: the answer is the mean of the learners' answers, and so are its explanations.
"""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.targets import warn_of_column_vector
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.errors import DataError, ParameterError, warn
from pellucid.parameters import Boolean, Either, Integer, Jobs, Nothing, Verbose
from pellucid.tree import prediction
from pellucid.tree.base import one_or_several
from pellucid.tree.explaining import TreesExplained
from pellucid.tree.growth_parameters import share

SHARE = share("]")
BAGGED_PARAMETERS = {
    "n_estimators": Integer(1),
    "max_samples": Either(Integer(1), SHARE, Nothing),
    "bootstrap": Boolean,
    "oob_score": Boolean,
    "warm_start": Boolean,
    "n_jobs": Jobs,
    "verbose": Verbose,
    "oob_importances": Boolean,
}


class Bagged(TreesExplained):
    """Family of means over bags."""

    # The checks fit hundreds of times; five learners show the same faults as a hundred.
    _check_params = {"n_estimators": 5}

    def _mean(self, X: Any) -> np.ndarray:
        """Mean of the learners' answers, (n, K)."""
        raise NotImplementedError

    def _check_oob(self) -> None:
        if (self.oob_score or self.oob_importances) and not self.bootstrap:
            raise ParameterError("Out of bag estimation only available if bootstrap=True")

    def _kept(self, name: str) -> list[Any]:
        """Learners of the earlier fit, with `warm_start`."""
        if not self.warm_start or name not in self.__dict__:
            return []
        old = getattr(self, name)
        if self.n_estimators < len(old):
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(old)} when warm_start==True"
            )
        if self.n_estimators == len(old):
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
            )
        return list(old)

    def _judged(self, judge: OutOfBag, seed: Any) -> dict[str, Any]:
        """What the rows out of the bags say, as far as it is asked for."""
        if not judge.bags:
            return {}
        found = judge.estimates(self.oob_score) if self.oob_score else {}
        if self.oob_importances:
            first = self.n_estimators - len(judge.bags)
            found |= judge.importances(seed, first, self.n_jobs)
        return found

    def _check_importances(self) -> None:
        """Refuse importances that are not one number for each column (model files)."""
        for name in ("oob_importances_", "oob_importances_std_"):
            found = vars(self).get(name)
            if found is not None and (
                not isinstance(found, np.ndarray)
                or found.dtype != np.float64
                or found.shape != (self.n_features_in_,)
            ):
                raise DataError("the importances do not belong to these columns")

    def _explain(self, X: Any) -> dict[str, Any]:
        """Mean of the trees' path contributions."""
        base, contributions = prediction.path(*self._as_trees(), X)
        said, classes = self._mean(X), "classes_" in self.__dict__
        return self._narrowed(base, contributions) | {
            "prediction": said[:, 1:] if classes and said.shape[1] == 2 else said,
            "scale": "probability" if classes else "response",
            "method": f"mean changes of the {'class shares' if classes else 'mean'} along the paths",
        }


def with_targets(problem: Problem) -> Problem:
    """A table of targets with one column is one target, and not what was expected."""
    if problem.y.shape[1:] == (1,):
        warn_of_column_vector()
    return one_or_several(problem)


def check_width(old: int, new: int) -> None:
    """Refuse a warm start with other targets."""
    if old != new:
        raise DataError(
            f"A warm start keeps learners of {old} targets, y has {new}: give y as many, or fit with "
            "warm_start=False."
        )


def answer_width(problem: Problem) -> int:
    """Columns of an answer: one for each class, or for each target."""
    if problem.classes is not None:
        return len(problem.classes)
    return 1 if problem.y.ndim == 1 else problem.y.shape[1]
