"""`LinearSVC`: linear support vector classification, for many rows and columns."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pellucid import conformal, parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import ParameterError
from pellucid.parameters import Choice, changed, learned, param, positional
from pellucid.records import converting, is_watched
from pellucid.svm.linear_base import LinearSVM, is_short
from pellucid.svm.multiclass import CLASS_FACTORS


class LinearSVC(LinearSVM, Classifier):
    """Linear support vector classifier: minimise R(w, b) + sum_i C_i max(0, 1 - y_i (w x_i + s b))**q.

    R is |w, b|**2 / 2 or |w, b|_1, s is `intercept_scaling`, q is 2 for the squared hinge loss and 1 for
    the hinge loss, and C_i is C times the weights of the row and of its class. The intercept is s b.
    More than two classes are learned each against the rest, or jointly (Crammer and Singer):
    minimise 1/2 sum_k |w_k, b_k|**2 + sum_i C_i max_k (1[k != y_i] + score_k(x_i) - score_{y_i}(x_i)).

    The solver is Newton's method for the penalty 'l2' with the squared hinge loss, coordinate descent on
    the dual for the hinge loss and for many columns, and Newton steps on the nonzero coefficients for
    the penalty 'l1'.

    Examples
    --------
    >>> from pellucid.svm import LinearSVC
    >>> model = LinearSVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    penalty: str = positional(
        default="l2",
        check=Choice("l1", "l2"),
        description="Penalty on the coefficients; 'l1' sets many of them to exactly 0.",
        kw_only=False,
    )
    loss: str = positional(
        default="squared_hinge",
        check=Choice("hinge", "squared_hinge"),
        description="Loss of a violated margin. 'hinge' cannot be combined with the penalty 'l1'.",
        kw_only=False,
    )
    multi_class: str = param(
        "ovr",
        Choice("ovr", "crammer_singer"),
        "How more than two classes are learned: each class against all others ('ovr'), or jointly "
        "('crammer_singer'), where penalty and loss have no effect.",
        after="C",
    )
    intercept_scaling: float = changed(default=1)
    class_weight: Any = CLASS_FACTORS.replace(after="intercept_scaling")

    coef_: np.ndarray = learned(
        "Coefficients, shape (1, n_terms) for two classes, otherwise (n_classes, n_terms)."
    )

    _proba = conformal.calibrated_probabilities

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.svm import crammer_singer, linear_dual, primal, squared_dual

        assert problem.classes is not None
        if self.penalty == "l1" and self.loss == "hinge" and self.multi_class == "ovr":
            raise ParameterError(
                "The combination of penalty='l1' and loss='hinge' is not supported. Use "
                "loss='squared_hinge', or penalty='l2'."
            )
        K = len(problem.classes)
        X, scale, shift, means = self._prepared(problem)
        costs = self._costs(class_weighted(self.class_weight, problem))
        if self.multi_class == "crammer_singer":

            def rows(W: np.ndarray) -> np.ndarray:
                """Two classes are reduced to the difference of their coefficients."""
                return W[1:] - W[:1] if K == 2 else W

            given = (X, problem.y, costs, K, self._bias(), self.tol, self.max_iter)
            with converting(lambda state: self._coefficients(rows(state["x"]), scale, shift)):
                jointly = parallel.interruptible(crammer_singer.solve, *given)
            found = [replace(jointly, x=v) for v in rows(jointly.x)]
            learned = self._learned_from(found, scale, shift)
            return learned | {"history_": jointly.history, "means_": means}

        def one(k: int) -> Any:
            y = np.where(problem.y == k, 1.0, -1.0)
            binary = primal.LinearProblem(X, y, costs, self._bias(), np.nan)
            name = f"LinearSVC {k}"
            if self.penalty == "l1":
                return primal.lasso_squared(binary, self.tol, self.max_iter, name)
            if self.loss == "hinge":
                return linear_dual.ridge_absolute(binary, self.tol, self.max_iter, name)
            return squared_dual.ridge_squared(binary, self.tol, self.max_iter, name)

        tasks = [1] if K == 2 else list(range(K))
        if is_watched():  # in an order that those who watch can follow
            found = parallel.interruptible(self._one_by_one, one, tasks, scale, shift)
        else:
            found = parallel.interruptible(
                lambda: parallel.map(one, tasks) if K > 2 else [one(1)], short=is_short(X)
            )
        return self._learned_from(found, scale, shift) | {"means_": means}

    def _one_by_one(
        self, one: Callable[[int], Any], tasks: list[int], scale: np.ndarray, shift: np.ndarray
    ) -> list[Any]:
        """The solutions of the classes, one after the other."""
        done: list[Any] = []
        with parallel.one_blas_thread() if len(tasks) > 1 else contextlib.nullcontext():
            for k in tasks:
                others = [found.x for found in done]
                with converting(partial(self._all, others, len(tasks), scale, shift)):
                    done.append(one(k))
        return done

    def _all(
        self, done: list[np.ndarray], K: int, scale: np.ndarray, shift: np.ndarray,
        state: Mapping[str, Any],
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Coefficients while one class is fitted: those before it are final, the others are 0."""
        V = np.zeros((K, len(state["x"])))
        V[: len(done) + 1] = [*done, state["x"]]
        return self._coefficients(V, scale, shift)

    def _scores(self, X: Any) -> np.ndarray:
        return self._linear_scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes (n, K); for two classes the score of the second (n,)."""
        return self._answer(self._scores, X)

    def _explain(self, X: Any) -> dict[str, Any]:
        return self._linear_parts(X, "votes")

    def _check_state(self) -> None:
        K = len(self.classes_)
        self._check_linear(1 if K == 2 else K)
