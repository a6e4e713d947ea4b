"""AdaBoost: learners in turn, each on the rows that the earlier ones got wrong (SAMME)."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import InputSpec, Problem
from pellucid.data.row_view import RowView
from pellucid.ensemble import base_estimators
from pellucid.ensemble.adaboost import stump_filter
from pellucid.ensemble.adaboost.base import NO_BETTER, by_samples, decisive, drawn, told
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.errors import DataError, ParameterError
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Either, Integer, Learner, Nothing, RandomState, Real
from pellucid.tree import DecisionTreeClassifier, prediction
from pellucid.tree.explaining import TreesExplained
from pellucid.tree.nodes import Nodes


class AdaBoostClassifier(TreesExplained, Classifier):
    """Weighted vote of learners, each fitted to the rows weighted by the mistakes before it.

    1. Learner t is fitted with row weights w, which sum to 1; e_t = weight of its wrong rows.
    2. a_t = learning_rate * (log((1 - e_t) / e_t) + log(K - 1)).
    3. Wrong rows: log w += a_t. A perfect learner (e_t = 0) ends it with more weight than all before
       it, and decides alone; one no better than chance (e_t >= 1 - 1/K) is dropped and ends it,
       unless it is the first: then it is the model, and `status_` says so.

    score_k(x) = sum_t a_t v_k(f_t(x)) / sum_t a_t with v_k = 1 for the class voted for, else
    -1 / (K - 1); for two classes the second score minus the first. Probabilities are the softmax of
    the scores / (K - 1). Weights live in logarithms, so that they neither vanish nor overflow.
    A learner that takes weights gets them, so nothing is drawn; any other gets rows drawn by weight.

    Parameters
    ----------
    estimator : classifier or None (a tree with one division)
    n_estimators : int, default=50
    learning_rate : number > 0, default=1.0
    random_state : int, generator or None; for learners that draw
    table : Table, optional

    Attributes
    ----------
    estimators_ : fitted learners; their labels are class codes
    estimator_weights_, estimator_errors_ : a_t and e_t, 0 and 1 where boosting had ended
    status_ : how the turns ended
    estimator_, classes_, n_classes_, feature_importances_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import AdaBoostClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1, 0]
    >>> AdaBoostClassifier(n_estimators=10).fit(X, y).predict(X)
    array([0, 0, 1, 1, 0])
    """

    # The checks fit hundreds of times; a few learners show the same faults as fifty.
    _check_params = {"n_estimators": 5}
    _parameters = {
        "estimator": Either(Learner, Nothing),
        "n_estimators": Integer(1),
        "learning_rate": Real(0, None, "neither"),
        "random_state": RandomState,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: Any = None,
        table: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.table = table

    def _learner(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return base_estimators.takes_sparse(self._learner())

    @property
    def _rows(self) -> str:  # type: ignore[override]
        return base_estimators.rows_for(self._learner())

    def _input_spec(self) -> InputSpec:
        return base_estimators.input_spec_of(self._learner(), type(self).__name__)

    def _in_place(self, problem: Problem) -> Problem:
        """The problem on canonical rows: a view for the filter, else a copy."""
        filtered = stump_filter.applies(self._learner(), problem)
        return problem if filtered else problem.gathered()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the learners one after the other."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K = len(problem.classes)
        chance = 1 - 1 / K
        problem = by_samples(base_estimators.coded(self._in_place(problem)), self._learner())
        fit_one = self._fitter(problem)
        log_w = np.log(problem.weights)
        found: list[Any] = []
        weights, errors = np.zeros(self.n_estimators), np.ones(self.n_estimators)
        for t in range(self.n_estimators):
            log_w -= log_w.max()
            w = np.exp(log_w)
            w /= w.sum()
            learner, votes = fit_one(t, w)
            wrong = votes != problem.y
            error = float(np.where(wrong, w, 0.0).sum())
            useless = error >= chance - NO_BETTER
            if useless and found:
                break
            found.append(learner)
            errors[t] = error
            if useless or error == 0:
                weights[t] = decisive(weights[:t])
                break
            weights[t] = self.learning_rate * (np.log((1 - error) / error) + np.log(K - 1))
            log_w += weights[t] * wrong
        return {
            "estimators_": found,
            "estimator_weights_": weights,
            "estimator_errors_": errors,
            "estimator_": base_estimators.copied(self._learner()),
            "n_classes_": K,
            "status_": told(errors, len(found), chance, True),
        }

    def _fitter(self, problem: Problem) -> Any:
        """A function (t, weights) -> learner t and its votes; trees share their sorted columns."""
        learner, seed = self._learner(), parallel.seed_sequence(self.random_state)
        if isinstance(learner, DecisionTreeClassifier):
            learner._check_parameters()
        weighted = base_estimators.takes_weights(learner)
        filtered = None
        if isinstance(problem.X, RowView):
            filtered = stump_filter.Filter(problem, learner.criterion)
        engine = cache(lambda: _sorted(learner, problem))

        def fit_one(t: int, w: np.ndarray) -> tuple[Any, np.ndarray]:
            own, look = base_estimators.seeded(learner, seed, t), None
            if filtered is not None:
                look = filtered.look(w)
                stump = filtered.stump(w, look)
                if stump is not None:
                    classes = stump.nodes.value.argmax(axis=1)
                    votes = np.where(stump.left, classes[1], classes[2])
                    return base_estimators.store_tree(own, problem.reweight(w), stump.nodes), votes
            whole, presorted = engine()
            if look is not None and 2 * len(look.kept) <= problem.p:
                own = base_estimators.fit_some_columns(own, whole, w, look.kept, presorted)
            else:
                bag = Bag(w, None) if weighted else drawn(whole, w, seed, t)
                own = base_estimators.fit(own, whole, bag, presorted)
            return own, _votes(own, whole.X, whole, problem.n_classes)

        return fit_one

    # Using --------------------------------------------------------------------------------------

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        """Scores (n, K) after each learner."""
        K = len(self.classes_)
        total, weight = np.zeros((X.shape[0], K)), 0.0
        for learner, a in zip(self.estimators_, self.estimator_weights_):
            votes = _votes(learner, X, self, K)
            total += a * _coded_votes(votes, K)
            weight += a
            yield total / weight

    def _last(self, X: Any) -> np.ndarray:
        """Scores (n, K) after all learners; trees are walked together."""
        if not all(isinstance(tree, DecisionTreeClassifier) for tree in self.estimators_):
            *_, scores = self._staged(X)
            return scores
        a = self.estimator_weights_[: len(self.estimators_)]
        values = [w * self._tree_votes(tree) for w, tree in zip(a, self.estimators_)]
        return (
            prediction.sums([tree.tree_ for tree in self.estimators_], values, X) / np.cumsum(a)[-1]
        )

    def _tree_votes(self, tree: Any) -> np.ndarray:
        """Coded vote of every node of a tree, (nodes, K)."""
        codes = np.asarray(tree.classes_, dtype=np.int64)
        return _coded_votes(codes[tree.tree_.value.argmax(axis=1)], len(self.classes_))

    def _scores(self, X: Any) -> np.ndarray:
        return _narrow(self._last(X))

    def _proba(self, X: Any) -> np.ndarray:
        return _softmax(self._last(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Weighted votes: (n,) for two classes, else (n, K)."""
        return self._answer(self._scores, X)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """`decision_function` after each learner."""
        for scores in self._staged(self._encoded(X)):
            yield _narrow(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """`predict_proba` after each learner."""
        for scores in self._staged(self._encoded(X)):
            yield _softmax(scores)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after each learner."""
        for proba in self.staged_predict_proba(X):
            yield self.classes_[proba.argmax(axis=1)]

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """`score` after each learner."""
        from pellucid.data.targets import as_vector, weights_or_ones

        y = as_vector(y)
        w = weights_or_ones(sample_weight, len(y))
        for predicted in self.staged_predict(X):
            yield float(np.average(predicted == y, weights=w))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each column over the learners, weighted by a_t."""
        self._check_fitted()
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError("the learners have no feature_importances_")
        a = self.estimator_weights_[: len(self.estimators_)]
        parts = [learner.feature_importances_ for learner in self.estimators_]
        return np.average(parts, axis=0, weights=a) if a.sum() > 0 else np.zeros(len(parts[0]))

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        shape = self.estimator_weights_.shape
        if not self.estimators_ or len(self.estimators_) > len(self.estimator_weights_):
            raise DataError("the ensemble's learners and their weights disagree")
        if self.estimator_weights_.ndim != 1 or self.estimator_errors_.shape != shape:
            raise DataError("the ensemble's weights must be a vector")
        own = np.arange(self.n_features_in_)
        for learner in self.estimators_:
            base_estimators.check_fitted(
                learner, self._learner(), own, self.schema_, len(self.classes_)
            )

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        if not all(isinstance(tree, DecisionTreeClassifier) for tree in self.estimators_):
            raise ParameterError(
                "explain of an AdaBoostClassifier needs DecisionTreeClassifier as its estimator: "
                "other learners do not say which column changed a vote."
            )
        a = self.estimator_weights_[: len(self.estimators_)]
        votes = [self._tree_votes(tree) for tree in self.estimators_]
        return [tree.tree_ for tree in self.estimators_], votes, a / a.sum()

    def _narrowed(self, base: np.ndarray, contributions: np.ndarray) -> dict[str, Any]:
        """Of two classes the second score minus the first."""
        if len(base) == 2:
            base, contributions = (
                base[1:] - base[:1],
                contributions[:, :, 1:] - contributions[:, :, :1],
            )
        return {"base": base, "contributions": contributions}

    def _explain(self, X: Any) -> dict[str, Any]:
        """Changes of the trees' votes along the paths."""
        base, total = prediction.path(*self._as_trees(), X)
        scores = self._scores(X)
        return self._narrowed(base, total) | {
            "prediction": scores.reshape(len(X), -1),
            "scale": "votes",
            "method": "changes of the trees' votes along the paths",
        }


def _sorted(learner: Any, problem: Problem) -> tuple[Problem, Any]:
    """The problem with a table of its own, and for trees its sorted columns."""
    problem = problem.gathered()
    if not isinstance(learner, DecisionTreeClassifier):
        return problem, None
    from pellucid.tree.presort import presort

    presorted = presort(problem.table, problem.kinds, problem.n_levels)
    # The engine looks the rows of stumps up by their places.
    return problem, presorted.placed() if learner.max_depth == 1 else presorted


def _votes(learner: Any, X: Any, owner: Any, K: int) -> np.ndarray:
    """Class code that a learner votes for."""
    if isinstance(learner, DecisionTreeClassifier) and len(learner.classes_) == K:
        return learner._codes(X)
    schema = owner.schema if isinstance(owner, Problem) else owner.schema_
    return base_estimators.probabilities(learner, X, None, schema, K).argmax(axis=1)


def _coded_votes(votes: np.ndarray, K: int) -> np.ndarray:
    """1 for the class voted for, -1 / (K - 1) for the others, (n, K)."""
    out = np.full((len(votes), K), -1.0 / (K - 1))
    out[np.arange(len(votes)), votes] = 1.0
    return out


def _narrow(scores: np.ndarray) -> np.ndarray:
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Softmax of score / (K - 1)."""
    return softmax(scores / (scores.shape[1] - 1))
