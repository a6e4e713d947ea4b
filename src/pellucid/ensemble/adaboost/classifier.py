"""AdaBoost: base estimators in turn, each on the rows that the earlier ones got wrong (SAMME)."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.row_view import RowView
from pellucid.ensemble import base_estimators
from pellucid.ensemble.adaboost import stump_filter
from pellucid.ensemble.adaboost.base import AdaBoost, Rule, drawn, fit_rounds, one_row_per_sample
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import learned
from pellucid.tree import DecisionTreeClassifier, explaining, prediction


class AdaBoostClassifier(AdaBoost, Classifier):
    """Weighted vote of base estimators, each fitted to rows weighted by the earlier errors.

    1. Base estimator t is fitted with row weights w, which sum to 1; e_t = weight of its wrong rows.
    2. a_t = learning_rate * (log((1 - e_t) / e_t) + log(K - 1)).
    3. Wrong rows: log w += a_t. A perfect base estimator (e_t = 0) is the last one and gets more
       weight than all before it together, so it decides alone. One that is no better than random
       guessing (e_t >= 1 - 1/K) ends the rounds and is dropped, unless it is the first: then it is
       the model, and `status_` reports it.

    score_k(x) = sum_t a_t v_k(f_t(x)) / sum_t a_t with v_k = 1 for the class voted for, otherwise
    -1 / (K - 1); for two classes the second score minus the first. Probabilities are the softmax of
    the scores / (K - 1). A base estimator that takes weights is given them, so no rows are drawn;
    any other is fitted to rows drawn by weight.

    Examples
    --------
    >>> from pellucid.ensemble import AdaBoostClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1, 0]
    >>> AdaBoostClassifier(n_estimators=10).fit(X, y).predict(X)
    array([0, 0, 1, 1, 0])
    """

    n_classes_: int = learned("Number of classes.")

    def _base_estimator(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def _fit(self, problem: Problem) -> dict[str, Any]:
        base, K = self._base_estimator(), problem.n_classes
        if not stump_filter.applies(base, problem):  # the filter reads the user's array in place
            problem = problem.gathered()
        given = base_estimators.coded(problem)
        problem = one_row_per_sample(given, base)
        rule = Rule(self.n_estimators, self.learning_rate, 1 - 1 / K, bonus=np.log(K - 1))
        more = {"estimator_": base_estimators.copied(base), "n_classes_": K}
        steps = self._steps(given, problem, _Votes(problem, K).score)
        return more | fit_rounds(
            problem, rule, self._fitter(problem),
            lambda votes: (votes != problem.y).astype(float), steps,
        )  # fmt: skip

    def _fitter(self, problem: Problem) -> Any:
        """A function (t, weights) -> base estimator t and its votes; trees share sorted columns."""
        base, seed = self._base_estimator(), parallel.seed_sequence(self.random_state)
        if base_estimators.is_tree(base):
            base._check_parameters()
        weighted = base_estimators.takes_weights(base)
        filtered = None
        if isinstance(problem.X, RowView):
            filtered = stump_filter.Filter(problem, base.criterion)
        engine = cache(lambda: _sorted(base, problem))

        def fit_one(t: int, w: np.ndarray) -> tuple[Any, np.ndarray]:
            own, bounds = base_estimators.seeded(base, seed, t), None
            if filtered is not None:
                bounds = filtered.bounds(w)
                stump = filtered.stump(w, bounds)
                if stump is not None:
                    classes = stump.nodes.value.argmax(axis=1)
                    votes = np.where(stump.left, classes[1], classes[2])
                    return base_estimators.store_tree(own, problem.reweight(w), stump.nodes), votes
            whole, presorted = engine()
            if bounds is not None and 2 * len(bounds.kept) <= problem.p:
                own = base_estimators.fit_some_columns(own, whole, w, bounds.kept, presorted)
            else:
                bag = Bag(w, None) if weighted else drawn(whole, w, seed, t)
                own = base_estimators.fit(own, whole, bag, presorted)
            return own, _votes(own, whole.X, whole, problem.n_classes)

        return fit_one

    # Using --------------------------------------------------------------------------------------

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        """Scores (n, K) after each base estimator."""
        K = len(self.classes_)
        total, weight = np.zeros((X.shape[0], K)), 0.0
        for one, a in zip(self.estimators_, self.estimator_weights_):
            votes = _votes(one, X, self, K)
            total += a * _coded_votes(votes, K)
            weight += a
            yield total / weight

    def _last(self, X: Any) -> np.ndarray:
        """Scores (n, K) after all base estimators; trees are evaluated together."""
        if not all(base_estimators.is_tree(tree) for tree in self.estimators_):
            *_, scores = self._staged(X)
            return scores
        a = self._vote_weights()
        values = [w * self._tree_votes(tree) for w, tree in zip(a, self.estimators_)]
        return prediction.sums(self._trees(), values, X) / np.cumsum(a)[-1]

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
        """`decision_function` after each base estimator."""
        for scores in self._staged(self._encoded(X)):
            yield _narrow(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """`predict_proba` after each base estimator."""
        for scores in self._staged(self._encoded(X)):
            yield _softmax(scores)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after each base estimator."""
        for proba in self.staged_predict_proba(X):
            yield self.classes_[proba.argmax(axis=1)]

    def _explain(self, X: Any, method: str = "path") -> dict[str, Any]:
        """Contributions to the trees' votes; for two classes to the second score minus the first."""
        a, nodes = self._vote_weights(), self._trees()
        votes = [self._tree_votes(tree) for tree in self.estimators_]
        parts = explaining.contributions(method, nodes, votes, a / a.sum(), X)
        base, total = parts["base"], parts["contributions"]
        if len(base) == 2:
            base, total = base[1:] - base[:1], total[:, :, 1:] - total[:, :, :1]
        along = "changes of the trees' votes along the paths"
        return {
            "base": base,
            "contributions": total,
            "prediction": self._scores(X).reshape(len(X), -1),
            "scale": "votes",
            "method": explaining.SHAPLEY if method == "shap" else along,
        }


class _Votes:
    """Weighted votes of the base estimators so far for the training rows, while somebody watches."""

    def __init__(self, problem: Problem, K: int) -> None:
        self._problem, self._K, self._total = problem, K, np.zeros(())

    def score(self, votes: np.ndarray, weight: float) -> float:
        """Accuracy after one more base estimator."""
        self._total = self._total + weight * _coded_votes(votes, self._K)
        right = self._total.argmax(axis=1) == self._problem.y
        return float(np.average(right, weights=self._problem.weights))


def _sorted(base: Any, problem: Problem) -> tuple[Problem, Any]:
    """The problem with a table of its own, and for trees its sorted columns."""
    problem = problem.gathered()
    if not base_estimators.is_tree(base):
        return problem, None
    from pellucid.tree.presort import presort

    presorted = presort(problem.table, problem.kinds, problem.n_levels)
    # The engine finds the rows of stumps by their places.
    return problem, presorted.placed() if base.max_depth == 1 else presorted


def _votes(base: Any, X: Any, owner: Any, K: int) -> np.ndarray:
    """Class code that a base estimator votes for."""
    if base_estimators.is_tree(base) and len(base.classes_) == K:
        return base._codes(X)
    if not base_estimators.is_ours(base):
        return np.asarray(base.predict(X)).astype(np.int64)
    schema = owner.schema if isinstance(owner, Problem) else owner.schema_
    return base_estimators.probabilities(base, X, None, schema, K).argmax(axis=1)


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
