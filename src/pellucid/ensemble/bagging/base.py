"""Bagging: what its classifier and its regressor share, from drawing the bags to checking files.

1. Draw every learner's bag, as counts of the canonical rows, from a random stream of its own.
2. Fit the learners, one per task; trees share their sorted columns.
3. The answer is the mean of the learners' answers, added up in their order.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import InputSpec, Problem
from pellucid.ensemble import base_estimators
from pellucid.ensemble.averaging import (
    BAGGED_PARAMETERS,
    SHARE,
    Bagged,
    answer_width,
    check_width,
    with_targets,
)
from pellucid.ensemble.bootstrap_samples import Bag, Drawer, keys_of
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.ensemble.shared_table import SharedTable, in_place
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import Boolean, Either, Integer, Learner, Nothing, RandomState
from pellucid.protocol import copied
from pellucid.tree.base import TreeModel
from pellucid.tree.nodes import Nodes


class Bagging(Bagged):
    """Family of bagging; `estimators_` holds the fitted learners."""

    _parameters = BAGGED_PARAMETERS | {
        "estimator": Either(Learner, Nothing),
        "max_features": Either(Integer(1), SHARE),
        "bootstrap_features": Boolean,
        "random_state": RandomState,
    }

    def _learner(self) -> Any:
        raise NotImplementedError

    def _answers(self, learner: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        """What one learner says about encoded rows, (n, K); K matters for classes alone."""
        raise NotImplementedError

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return base_estimators.takes_sparse(self._learner())

    @property
    def _rows(self) -> str:  # type: ignore[override]
        return base_estimators.rows_for(self._learner())

    def _input_spec(self) -> InputSpec:
        learner = self._learner()
        spec = base_estimators.input_spec_of(
            learner, type(self).__name__, str(self._kind), several=True
        )
        spec = replace(spec, positions=True)
        if self.warm_start and "estimators_" in self.__dict__:
            return replace(spec, schema=self.schema_, classes=vars(self).get("classes_"))
        return spec

    def _fit(self, problem: Problem) -> dict[str, Any]:
        self._check_oob()
        if (self.oob_score or self.oob_importances) and self.warm_start:
            raise ParameterError("Out of bag estimate only available if warm_start=False")
        old = self._kept("estimators_")
        problem = with_targets(problem)
        if old and problem.classes is None:
            check_width(vars(self).get("n_outputs_", 1), answer_width(problem))
        problem = in_place(problem, self._learner())
        drawer = Drawer(
            problem, self.max_samples, self.max_features, self.bootstrap, self.bootstrap_features
        )
        seed = parallel.seed_sequence(self.random_state)
        numbers = range(len(old), self.n_estimators)
        keys = keys_of(seed, len(old), self.n_estimators)

        def draw(i: int) -> Bag:
            return drawer.bag(int(keys[i]))

        # A bag takes as much memory as a column: they are kept only for their judges.
        judged = bool(self.oob_score or self.oob_importances)
        drawn = [draw(i) for i in range(len(numbers))] if judged else []
        bag_of = drawn.__getitem__ if judged else draw
        found = self._fit_all(base_estimators.coded(problem), seed, numbers, bag_of)
        new = [learner for learner, _ in found]
        every = np.arange(problem.schema.n_columns)
        columns = [every if own is None else own for _, own in found]
        learned = {
            "estimator_": copied(self._learner()),
            "estimators_": old + new,
            "estimators_features_": (list(self.estimators_features_) if old else []) + columns,
        }
        learned["n_outputs_" if problem.classes is None else "n_classes_"] = answer_width(problem)
        return learned | self._judged(self._judge(drawer, new, drawn, columns), seed)

    def _judge(
        self, drawer: Drawer, new: list[Any], drawn: list[Bag], columns: list[np.ndarray]
    ) -> OutOfBag:
        problem, K = drawer.problem, answer_width(drawer.problem)

        def ask(i: int, X: Any) -> np.ndarray:
            return self._answers(new[i], X, drawn[i].columns, problem.schema, K)

        return OutOfBag(problem, drawer, drawn, ask, lambda i: np.unique(columns[i]))

    def _fit_all(
        self,
        problem: Problem,
        seed: np.random.SeedSequence,
        numbers: range,
        bag_of: Callable[[int], Bag],
    ) -> list[tuple[Any, np.ndarray | None]]:
        """The learners and their columns."""
        learner = self._learner()
        if not numbers:
            return []
        table = SharedTable.of(problem, learner, self.n_jobs)

        def task(i: int) -> tuple[Any, np.ndarray | None]:
            own, bag = base_estimators.seeded(learner, seed, numbers[i]), table.bag(bag_of(i))
            return base_estimators.fit(own, table.problem, bag, table.sorted), bag.columns

        threads = parallel.get_threads() if self.n_jobs is None else self.n_jobs
        with parallel.using(threads):  # inside a learner too
            return parallel.map(task, range(len(numbers)))

    def _columns_of(self, i: int) -> np.ndarray | None:
        columns = self.estimators_features_[i]
        whole = np.array_equal(columns, np.arange(self.n_features_in_))
        return None if whole else columns

    def _mean(self, X: Any) -> np.ndarray:
        K = len(self.classes_) if "classes_" in self.__dict__ else 0

        def ask(i: int) -> np.ndarray:
            return self._answers(self.estimators_[i], X, self._columns_of(i), self.schema_, K)

        def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            if a.shape != b.shape:  # a model file may hold anything
                raise DataError("the ensemble's learners have different targets")
            return a + b

        total = parallel.reduce(ask, add, range(len(self.estimators_)), self.n_jobs)
        return total / len(self.estimators_)

    def _check_learners(self, n_classes: int) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        self._check_importances()
        columns = self.estimators_features_
        if len(columns) != len(self.estimators_) or not self.estimators_:
            raise DataError("the ensemble's learners and their columns disagree")
        for own, learner in zip(columns, self.estimators_):
            inside = (
                own.ndim == 1 and own.size and 0 <= own.min() <= own.max() < self.n_features_in_
            )
            if own.dtype.kind != "i" or not inside:
                raise DataError("a learner's columns do not belong to this table")
            base_estimators.check_fitted(learner, self._learner(), own, self.schema_, n_classes)

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        """The trees over all columns of the table, and with all classes."""
        trees = all(isinstance(tree, TreeModel) for tree in self.estimators_)
        if not trees or self.schema_.layout != "codes":
            raise ParameterError(
                f"explain of a {type(self).__name__} needs a decision tree as its estimator: "
                "other learners do not explain on the scale of their mean."
            )
        classes = "classes_" in self.__dict__
        K = len(self.classes_) if classes else self.estimators_[0].tree_.value.shape[1]
        nodes, values = [], []
        for tree, own in zip(self.estimators_, self.estimators_features_):
            feature = np.append(own, -1)[tree.tree_.feature].astype(np.int32)
            nodes.append(replace(tree.tree_, feature=feature, n_levels=self.schema_.n_levels))
            codes = np.asarray(vars(tree).get("classes_", np.arange(K)), dtype=np.int64)
            values.append(np.zeros((len(feature), K)))
            values[-1][:, codes] = tree.tree_.value
        return nodes, values, np.full(len(nodes), 1.0 / len(nodes))
