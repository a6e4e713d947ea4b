"""Bagging: what its classifier and its regressor share, from drawing the bags to checking files.

1. Draw every learner's bag, as counts of the canonical rows, from a random stream of its own.
2. Fit the learners, one per task; trees share their sorted columns.
3. The answer is the mean of the learners' answers, added up in their order.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Explained
from pellucid.data import Problem, Wishes
from pellucid.ensemble import learners
from pellucid.ensemble.bags import Bag, Drawer
from pellucid.errors import DataError, ParameterError, warn
from pellucid.parameters import (
    Boolean,
    Either,
    Integer,
    Jobs,
    Learner,
    Nothing,
    RandomState,
    Real,
    Test,
    Verbose,
)
from pellucid.protocol import copied
from pellucid.tree import predict
from pellucid.tree.model import TreeModel

_inside = Real(0, 1, "right")
SHARE = Test(
    lambda v: isinstance(v, float | np.floating) and _inside.accepts(v),
    "a float in the range (0.0, 1.0]",
)


class Bagging(Explained):
    """Family of bagging; `estimators_` holds the fitted learners."""

    _canonical_rows = True
    # The checks fit hundreds of times; five learners show the same faults as ten.
    _check_params = {"n_estimators": 5}
    _parameters = {
        "estimator": Either(Learner, Nothing),
        "n_estimators": Integer(1),
        "max_samples": Either(Integer(1), SHARE, Nothing),
        "max_features": Either(Integer(1), SHARE),
        "bootstrap": Boolean,
        "bootstrap_features": Boolean,
        "oob_score": Boolean,
        "warm_start": Boolean,
        "n_jobs": Jobs,
        "random_state": RandomState,
        "verbose": Verbose,
    }

    def _learner(self) -> Any:
        raise NotImplementedError

    def _answers(self, learner: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        """What one learner says about encoded rows, (n, K)."""
        raise NotImplementedError

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return learners.takes_sparse(self._learner())

    def _wishes(self) -> Wishes:
        wishes = learners.wishes_of(self._learner(), type(self).__name__, str(self._kind))
        if self.warm_start and "estimators_" in self.__dict__:
            return replace(wishes, schema=self.schema_, classes=vars(self).get("classes_"))
        return wishes

    def _fit_bags(self, problem: Problem) -> tuple[dict[str, Any], list[Any], list[Bag]]:
        """The learned attributes, the new learners and their bags."""
        self._check_oob()
        old, old_columns = self._kept()
        drawer = Drawer(
            problem, self.max_samples, self.max_features, self.bootstrap, self.bootstrap_features
        )
        seed = parallel.seed_sequence(self.random_state)
        numbers = range(len(old), self.n_estimators)
        drawn = [drawer.draw(parallel.stream(seed, "bag", number)) for number in numbers]
        new = self._fit_all(learners.coded(problem), seed, numbers, drawn)
        d = problem.schema.n_columns
        learned = {
            "estimator_": copied(self._learner()),
            "estimators_": old + new,
            "estimators_features_": old_columns
            + [np.arange(d) if bag.columns is None else bag.columns for bag in drawn],
        }
        return learned, new, drawn

    def _fit_all(
        self, problem: Problem, seed: np.random.SeedSequence, numbers: range, drawn: list[Bag]
    ) -> list[Any]:
        learner, presorted = self._learner(), None
        if isinstance(learner, TreeModel) and len(numbers) > 0:
            from pellucid.tree.presort import presort

            learner._check_parameters()
            presorted = presort(problem.X, problem.kinds, problem.n_levels, self.n_jobs)

        def task(i: int) -> Any:
            own = learners.seeded(learner, seed, numbers[i])
            return learners.fit(own, problem, drawn[i], presorted)

        return parallel.map(task, range(len(numbers)), self.n_jobs)

    def _check_oob(self) -> None:
        if self.oob_score and not self.bootstrap:
            raise ParameterError("Out of bag estimation only available if bootstrap=True")
        if self.oob_score and self.warm_start:
            raise ParameterError("Out of bag estimate only available if warm_start=False")

    def _kept(self) -> tuple[list[Any], list[np.ndarray]]:
        """Learners of the earlier fit, with `warm_start`."""
        if not self.warm_start or "estimators_" not in self.__dict__:
            return [], []
        more = self.n_estimators - len(self.estimators_)
        if more < 0:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(self.estimators_)} when warm_start==True"
            )
        if more == 0:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
            )
        return list(self.estimators_), list(self.estimators_features_)

    def _out_of_bag(
        self, problem: Problem, new: list[Any], drawn: list[Bag], K: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(mean of the learners that did not see a row, or NaN; rows that have one)."""
        sums, votes = np.zeros((problem.n, K)), np.zeros(problem.n)
        for learner, bag in zip(new, drawn):
            rows = np.flatnonzero(bag.weights == 0)
            if len(rows):
                sums[rows] += self._answers(
                    learner, problem.X[rows], bag.columns, problem.schema, K
                )
            votes[rows] += 1
        seen = votes > 0
        if not seen.all():
            warn(
                f"{int((~seen).sum())} rows were in every bag: they have no out-of-bag estimate. "
                "More estimators would give them one.",
                UserWarning,
            )
        with np.errstate(invalid="ignore"):
            return sums / votes[:, None], seen

    def _in_user_order(self, problem: Problem, values: np.ndarray) -> np.ndarray:
        if problem.position is None:
            return values
        return np.where((problem.position < 0)[:, None], np.nan, values[problem.position])

    def _columns_of(self, i: int) -> np.ndarray | None:
        columns = self.estimators_features_[i]
        whole = np.array_equal(columns, np.arange(self.n_features_in_))
        return None if whole else columns

    def _mean(self, X: Any, K: int) -> np.ndarray:
        """Mean of the learners' answers, (n, K)."""

        def ask(i: int) -> np.ndarray:
            return self._answers(self.estimators_[i], X, self._columns_of(i), self.schema_, K)

        def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return a + b

        total = parallel.reduce(ask, add, range(len(self.estimators_)), self.n_jobs)
        return total / len(self.estimators_)

    def _check_learners(self, n_classes: int) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        columns = self.estimators_features_
        if len(columns) != len(self.estimators_) or not self.estimators_:
            raise DataError("the ensemble's learners and their columns disagree")
        for own, learner in zip(columns, self.estimators_):
            inside = (
                own.ndim == 1 and own.size and 0 <= own.min() <= own.max() < self.n_features_in_
            )
            if own.dtype.kind != "i" or not inside:
                raise DataError("a learner's columns do not belong to this table")
            learners.check_fitted(learner, self._learner(), own, self.schema_, n_classes)

    def _path_contributions(self, X: Any, K: int) -> tuple[np.ndarray, np.ndarray]:
        """(base (K,), contributions (n, d, K)): means of the trees' path contributions."""
        trees = all(isinstance(tree, TreeModel) for tree in self.estimators_)
        if not trees or self.schema_.layout != "codes":
            raise ParameterError(
                f"explain of a {type(self).__name__} needs a decision tree as its estimator: "
                "other learners do not explain on the scale of their mean."
            )
        base, total = np.zeros(K), np.zeros((len(X), self.n_features_in_, K))
        for i, tree in enumerate(self.estimators_):
            own = self.estimators_features_[i]
            codes = np.asarray(vars(tree).get("classes_", [0]), dtype=np.int64)
            part = predict.contributions(tree.tree_, np.asfortranarray(X[:, own]))
            base[codes] += tree.tree_.value[0] / len(self.estimators_)
            for j, column in enumerate(own):  # a column may have been drawn twice
                total[:, column, codes] += part[:, j] / len(self.estimators_)
        return base, total
