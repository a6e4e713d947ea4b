"""Bagging: the same learner on many bags of rows and columns, and the mean of what they say."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import ProbabilisticClassifier
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
from pellucid.tree import DecisionTreeClassifier, predict

_inside = Real(0, 1, "right")
SHARE = Test(
    lambda v: isinstance(v, float | np.floating) and _inside.accepts(v),
    "a float in the range (0.0, 1.0]",
)


class _IfLearnerHasScores:
    """A method that exists only over learners with decision scores."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self.method
        if not learners.has_scores(instance._learner()):
            raise AttributeError(
                f"{type(instance).__name__} has no decision_function: its estimator "
                f"{instance._learner()!r} has none."
            )
        return self.method.__get__(instance)


class BaggingClassifier(ProbabilisticClassifier):
    """Mean of the class probabilities of learners fitted to random bags.

    p(k | x) = 1/B sum_b p_b(k | x); learner b sees `max_samples` samples drawn with replacement and
    `max_features` columns. A learner without probabilities has one vote.

    A row of weight k stands for k copies that are drawn alike, so weights mean repetition. Every
    learner has its own random stream: results do not depend on `n_jobs`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Ours or any with scikit-learn's protocol; None is DecisionTreeClassifier().
    n_estimators : int, default=10
    max_samples : int, share or None (as many draws as samples)
    max_features : int or share of the columns, default=1.0
    bootstrap : bool, default=True
        Draw samples with replacement.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    oob_score : bool, default=False
        Score each row by the learners that did not see it.
    warm_start : bool, default=False
        Keep the learners and add more.
    n_jobs : int or None
    random_state : int, generator or None
    verbose : int; nothing is printed, see `pellucid.watching`
    table : Table, optional

    Attributes
    ----------
    estimators_ : fitted learners; their labels are class codes
    estimators_features_ : columns of each learner
    oob_score_, oob_decision_function_ : with `oob_score`; NaN for rows that every learner saw
    estimator_, classes_, n_classes_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import BaggingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> BaggingClassifier(n_estimators=20, random_state=0).fit(X, y).predict([[0.5], [2.5]])
    array([0, 1])
    """

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

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        table: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.table = table

    def _learner(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return learners.takes_sparse(self._learner())

    def _wishes(self) -> Wishes:
        wishes = learners.wishes_of(self._learner(), type(self).__name__)
        if self.warm_start and "estimators_" in self.__dict__:
            return replace(wishes, schema=self.schema_, classes=self.classes_)
        return wishes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the bags, fit the learners."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
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
            "n_classes_": len(problem.classes),
        }
        return learned | (self._out_of_bag(problem, new, drawn) if self.oob_score else {})

    def _fit_all(
        self, problem: Problem, seed: np.random.SeedSequence, numbers: range, drawn: list[Bag]
    ) -> list[Any]:
        learner, presorted = self._learner(), None
        if isinstance(learner, DecisionTreeClassifier) and len(numbers) > 0:
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

    def _out_of_bag(self, problem: Problem, new: list[Any], drawn: list[Bag]) -> dict[str, Any]:
        """Shares of the learners that did not see a row; NaN where all saw it."""
        K = len(problem.classes)  # type: ignore[arg-type]
        sums, votes = np.zeros((problem.n, K)), np.zeros(problem.n)
        for learner, bag in zip(new, drawn):
            rows = np.flatnonzero(bag.weights == 0)
            sums[rows] += learners.probabilities(
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
            shares = sums / votes[:, None]
        right = shares[seen].argmax(axis=1) == problem.y[seen]
        score = float(np.average(right, weights=problem.weights[seen])) if seen.any() else np.nan
        if problem.position is not None:
            shares = np.where((problem.position < 0)[:, None], np.nan, shares[problem.position])
        return {"oob_score_": score, "oob_decision_function_": shares}

    def _columns_of(self, i: int) -> np.ndarray | None:
        columns = self.estimators_features_[i]
        whole = np.array_equal(columns, np.arange(self.n_features_in_))
        return None if whole else columns

    def _proba(self, X: Any) -> np.ndarray:
        def ask(i: int) -> np.ndarray:
            return learners.probabilities(
                self.estimators_[i], X, self._columns_of(i), self.schema_, len(self.classes_)
            )

        def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return a + b

        total = parallel.reduce(ask, add, range(len(self.estimators_)), self.n_jobs)
        return total / len(self.estimators_)

    @_IfLearnerHasScores
    def decision_function(self, X: Any) -> np.ndarray:
        """Mean of the learners' decision scores; only if they have some."""
        encoded = self._encoded(X)
        found = [
            learners.scores(learner, encoded, self._columns_of(i), self.schema_, len(self.classes_))
            for i, learner in enumerate(self.estimators_)
        ]
        return sum(found[1:], found[0]) / len(found)

    def _check_state(self) -> None:
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
            learners.check_fitted(learner, self._learner(), own, self.schema_, len(self.classes_))

    def _explain(self, X: Any) -> dict[str, Any]:
        """Mean of the trees' path contributions."""
        trees = all(isinstance(tree, DecisionTreeClassifier) for tree in self.estimators_)
        if not trees or self.schema_.layout != "codes":
            raise ParameterError(
                "explain of a BaggingClassifier needs DecisionTreeClassifier as its estimator: "
                "other learners do not explain on the scale of the mean probability."
            )
        K, B = len(self.classes_), len(self.estimators_)
        base, total = np.zeros(K), np.zeros((len(X), self.n_features_in_, K))
        for i, tree in enumerate(self.estimators_):
            own = self.estimators_features_[i]
            codes = np.asarray(tree.classes_, dtype=np.int64)
            part = predict.contributions(tree.tree_, np.asfortranarray(X[:, own]))
            base[codes] += tree.tree_.value[0] / B
            for j, column in enumerate(own):  # a column may have been drawn twice
                total[:, column, codes] += part[:, j] / B
        keep = slice(1, None) if K == 2 else slice(None)
        return {
            "base": base[keep],
            "contributions": total[:, :, keep],
            "prediction": self._proba(X)[:, keep],
            "scale": "probability",
            "method": "mean changes of the class shares along the paths",
        }
