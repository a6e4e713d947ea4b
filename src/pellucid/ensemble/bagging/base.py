"""Bagging: what its classifier and its regressor share, from drawing the bags to checking files.

1. Draw the bag of every base estimator, as counts of the canonical rows, from its own random stream.
2. Fit the base estimators, one per task; trees share their sorted columns.
3. A prediction is the mean of their predictions, added up in their order.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import _sklearn, parallel
from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem
from pellucid.ensemble import averaging, base_estimators, collection, stages
from pellucid.ensemble.bootstrap_samples import Bag, Redrawn, Sampler, keys_of
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.ensemble.shared_table import SharedTable, in_place
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import (
    Boolean,
    EstimatorInstance,
    Integer,
    learned,
    param,
    positional,
    shared,
)
from pellucid.protocol import copied
from pellucid.records import is_watched, unwatched
from pellucid.tree import explaining
from pellucid.tree.base import TreeModel
from pellucid.tree.nodes import Nodes


class Bagging(Estimator):
    """Family of bagging; `estimators_` holds the fitted base estimators."""

    estimator: Any = positional(
        default=None,
        check=EstimatorInstance | None,
        description="Base estimator, of Pellucid or with scikit-learn's interface. None uses a "
        "decision tree.",
        kw_only=False,
    )
    n_estimators: int = positional(
        default=10, check=Integer(1), description="Number of base estimators.", kw_only=False
    )
    max_samples: Any = averaging.MAX_SAMPLES.replace(
        description="Number of samples drawn for each base estimator, or their share. None draws as "
        "many as there are."
    )
    max_features: Any = param(
        1.0,
        Integer(1) | averaging.SHARE,
        "Number of columns drawn for each base estimator, or their share.",
    )
    bootstrap: bool = param(True, Boolean, "Whether to draw samples with replacement.")
    bootstrap_features: bool = param(False, Boolean, "Whether to draw columns with replacement.")
    oob_score: bool = param(
        False, Boolean, "Whether to score each row by the base estimators that did not see it."
    )
    warm_start: bool = shared.WARM_START.replace(
        description="Whether to keep the base estimators of the last fit and to add more."
    )
    n_jobs: int | None = shared.N_JOBS
    random_state: Any = shared.RANDOM_STATE
    verbose: int = shared.VERBOSE
    oob_importances: bool = averaging.OOB_IMPORTANCES

    estimators_: list[Any] = learned(
        "The fitted base estimators. Those of a classifier have class codes as labels."
    )
    estimators_features_: list[np.ndarray] = learned(
        "Numbers of the columns that each base estimator was fitted on."
    )
    estimator_: Any = learned("An unfitted copy of the base estimator.")
    oob_score_: float = learned(averaging.OOB_SCORE)
    oob_importances_: np.ndarray = learned(averaging.OOB_MEAN)
    oob_importances_std_: np.ndarray = learned(averaging.OOB_STD)

    # The checks fit hundreds of times; five base estimators show the same faults as a hundred.
    _check_params = {"n_estimators": 5}

    __len__, __getitem__ = collection.length, collection.item
    __iter__, __bool__ = collection.iterate, collection.true

    def _base_estimator(self) -> Any:
        raise NotImplementedError

    def _predictions(self, base: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        """Predictions (n, K) of one base estimator; K is used by classifiers only."""
        raise NotImplementedError

    _takes_sparse = property(lambda self: base_estimators.takes_sparse(self._base_estimator()))
    _rows = property(lambda self: base_estimators.rows_for(self._base_estimator()))
    _substitute = "HistGradientBoosting{kind}"

    def get_metadata_routing(self) -> Any:
        """What `fit` and `score` request; without own requests, what the base estimator requests."""
        own = self._requested()
        if self.__dict__.get("_requests"):
            return own
        return _sklearn.base_router(self, own, self._base_estimator())

    def _input_spec(self) -> InputSpec:
        base = self._base_estimator()
        spec = base_estimators.input_spec_of(
            base, type(self).__name__, str(self._kind), several=True
        )
        spec = replace(spec, positions=True)
        if self.warm_start and "estimators_" in self.__dict__:
            return replace(spec, schema=self.schema_, classes=vars(self).get("classes_"))
        return spec

    def _fit(self, problem: Problem) -> dict[str, Any]:
        averaging.check_out_of_bag(self)
        if (self.oob_score or self.oob_importances) and self.warm_start:
            raise ParameterError("Out of bag estimate only available if warm_start=False")
        old = averaging.kept_estimators(self, "estimators_")
        problem = averaging.with_targets(problem)
        if old and problem.classes is None:
            width = averaging.output_width(problem)
            averaging.check_width(vars(self).get("n_outputs_", 1), width)
        problem = in_place(problem, self._base_estimator())
        sampler = Sampler(
            problem, self.max_samples, self.max_features, self.bootstrap, self.bootstrap_features
        )
        seed = parallel.seed_sequence(self.random_state)
        numbers = range(len(old), self.n_estimators)
        keys = keys_of(seed, len(old), self.n_estimators)

        def draw(i: int) -> Bag:
            return sampler.bag(int(keys[i]))

        # A bag takes as much memory as a column: bags are kept only for out-of-bag estimates.
        needed = bool(self.oob_score or self.oob_importances)
        drawn = [draw(i) for i in range(len(numbers))] if needed else []
        bag_of = drawn.__getitem__ if needed else draw
        progress = stages.Progress(type(self).__name__, len(old), int(self.n_estimators))
        with unwatched():  # the base estimators are steps of this fit
            coded = base_estimators.coded(problem)
            found = self._fit_all(coded, seed, numbers, bag_of, progress)
        new = [one for one, _ in found]
        every = np.arange(problem.schema.n_columns)
        columns = [every if own is None else own for _, own in found]
        learned = {
            "estimator_": copied(self._base_estimator()),
            "estimators_": old + new,
            "estimators_features_": (list(self.estimators_features_) if old else []) + columns,
        }
        K = averaging.output_width(problem)
        learned["n_outputs_" if problem.classes is None else "n_classes_"] = K
        out_of_bag = OutOfBag(
            problem,
            sampler,
            drawn,
            lambda i, X: self._predictions(new[i], X, found[i][1], problem.schema, K),
            lambda i: np.unique(columns[i]),
        )
        if is_watched():
            self._record(learned, len(old), replace(out_of_bag, bags=Redrawn(sampler, keys)))
        return learned | averaging.out_of_bag_results(self, out_of_bag, seed)

    def _record(self, learned: dict[str, Any], first: int, out_of_bag: OutOfBag) -> None:
        """The ensemble after each new base estimator, with its out-of-bag error if all are new."""
        estimators, columns = learned["estimators_"], learned["estimators_features_"]

        def event(k: int) -> dict[str, Any]:
            one = estimators[k - 1]
            facts = {"round": k, "name": type(one).__name__, "estimator": one}
            facts["columns"] = columns[k - 1]
            return facts | ({"leaves": one.tree_.n_leaves} if isinstance(one, TreeModel) else {})

        stages.record(
            type(self).__name__, first,
            lambda k: {"estimators_": estimators[:k], "estimators_features_": columns[:k]},
            event, len(estimators), out_of_bag if self.bootstrap and not first else None,
        )  # fmt: skip

    def _at_step(self, state: dict[str, Any]) -> Self:
        whole = len(state["estimators_"]) == len(self.estimators_)
        return stages.without_estimates(super()._at_step(state), whole)

    def _fit_all(
        self,
        problem: Problem,
        seed: np.random.SeedSequence,
        numbers: range,
        bag_of: Callable[[int], Bag],
        progress: Callable[[], None],
    ) -> list[tuple[Any, np.ndarray | None]]:
        """The fitted base estimators and their columns."""
        base = self._base_estimator()
        if not numbers:
            return []
        table = SharedTable.of(problem, base, self.n_jobs)

        def task(i: int) -> tuple[Any, np.ndarray | None]:
            own, bag = base_estimators.seeded(base, seed, numbers[i]), table.bag(bag_of(i))
            fitted = base_estimators.fit(own, table.problem, bag, table.sorted)
            progress()
            return fitted, bag.columns

        threads = parallel.get_threads() if self.n_jobs is None else self.n_jobs
        with parallel.using(threads):  # inside a base estimator too
            return parallel.map(task, range(len(numbers)))

    def _columns_of(self, i: int) -> np.ndarray | None:
        columns = self.estimators_features_[i]
        whole = np.array_equal(columns, np.arange(self.n_features_in_))
        return None if whole else columns

    def _mean(self, X: Any) -> np.ndarray:
        K = len(self.classes_) if "classes_" in self.__dict__ else 0

        def predict(i: int) -> np.ndarray:
            return self._predictions(self.estimators_[i], X, self._columns_of(i), self.schema_, K)

        def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            if a.shape != b.shape:  # a model file may hold anything
                raise DataError("the base estimators have different targets")
            with np.errstate(over="ignore"):  # `predict` refuses what is not finite
                return a + b

        total = parallel.reduce(predict, add, range(len(self.estimators_)), self.n_jobs)
        return total / len(self.estimators_)

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        """`_mean` after each base estimator."""
        K = len(vars(self).get("classes_", ()))
        return stages.running_means(
            self._predictions(one, X, self._columns_of(i), self.schema_, K)
            for i, one in enumerate(self.estimators_)
        )

    staged_score = stages.staged_score
    explain = explaining.explain

    def _explain(self, X: Any, method: str = "path") -> dict[str, Any]:
        return averaging.explain_mean(self, X, method)

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        averaging.check_importances(self)
        columns = self.estimators_features_
        if len(columns) != len(self.estimators_) or not self.estimators_:
            raise DataError("the base estimators and their columns do not match")
        n_classes = len(vars(self).get("classes_", ()))
        for own, base in zip(columns, self.estimators_):
            inside = (
                own.ndim == 1 and own.size and 0 <= own.min() <= own.max() < self.n_features_in_
            )
            if own.dtype.kind != "i" or not inside:
                raise DataError("the columns of a base estimator do not belong to this table")
            base_estimators.check_fitted(base, self._base_estimator(), own, self.schema_, n_classes)

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        """The trees over all columns of the table, and with all classes."""
        trees = all(base_estimators.is_tree(tree) for tree in self.estimators_)
        if not trees or self.schema_.layout != "codes":
            raise ParameterError(
                f"explain of {type(self).__name__} needs a decision tree as its base estimator, "
                "because other models do not explain their predictions on the scale of the mean."
            )
        classes = "classes_" in self.__dict__
        K = len(self.classes_) if classes else self.estimators_[0].tree_.value.shape[1]
        nodes, values = [], []
        for tree, own in zip(self.estimators_, self.estimators_features_):
            feature = tree.tree_.over_columns(own)
            nodes.append(replace(tree.tree_, feature=feature, n_levels=self.schema_.n_levels))
            codes = np.asarray(vars(tree).get("classes_", np.arange(K)), dtype=np.int64)
            values.append(np.zeros((len(feature), K)))
            values[-1][:, codes] = tree.tree_.value
        return nodes, values, np.full(len(nodes), 1.0 / len(nodes))
