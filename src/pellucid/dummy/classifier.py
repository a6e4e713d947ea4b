"""Baseline classifiers: the majority class, class proportions, random or constant labels."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parameters import Array, Choice, Integer, Predicate, RandomState, learned, param

Label = Predicate(lambda v: isinstance(v, str | bool | float) and v == v, "a label")
STRATEGIES = ("most_frequent", "prior", "stratified", "uniform", "constant")


class DummyClassifier(Classifier):
    """Predicts without using X: a baseline that every useful model must beat.

    "prior" and "most_frequent" predict the class with the largest share of the training weight;
    "prior" returns these shares as probabilities. "stratified" and "uniform" draw a class for each
    row, "constant" always predicts `constant`.

    Examples
    --------
    >>> from pellucid.dummy import DummyClassifier
    >>> y = ["cat"] * 5 + ["dog"] * 80 + ["lion"] * 15
    >>> X = [[0.0]] * 100
    >>> model = DummyClassifier().fit(X, y)
    >>> model.score(X, y), str(model.predict([[1.0]])[0])
    (0.8, 'dog')
    """

    strategy: str = param(
        "prior",
        Choice(*STRATEGIES),
        "'prior' and 'most_frequent' predict the class with the largest share of the training weight; "
        "'stratified' and 'uniform' draw a class for each row; 'constant' always predicts `constant`.",
    )
    random_state: Any = param(
        None, RandomState, "Seed or generator of the strategies 'stratified' and 'uniform'."
    )
    constant: Any = param(
        None, Integer() | Label | Array | None, "The label that strategy 'constant' predicts."
    )

    class_prior_: np.ndarray = learned("Share of each class in the training weight.")
    n_classes_: int = learned("Number of classes.")
    n_outputs_: int = learned("Number of targets, which is always 1.")

    _one_class = True
    _min_rows = 1
    _shares_rows = True
    _poor_score = True

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        weight = parallel.count_rows(problem.y, problem.weights, len(problem.classes))
        if self.strategy == "constant" and self.constant not in problem.classes:
            raise DataError(
                f"The constant target value must be present in the training data. You provided "
                f"constant={self.constant!r}; the classes are {problem.classes.tolist()}."
            )
        return {
            "class_prior_": weight / weight.sum(),
            "n_classes_": len(problem.classes),
            "n_outputs_": 1,
        }

    def _check_state(self) -> None:
        """Reject a model file whose shares do not sum to 1, or whose constant is not a class."""
        from pellucid.persist.fitted_state import expect_array

        expect_array(self, "class_prior_", len(self.classes_), finite=True)
        if (self.class_prior_ < 0).any() or abs(self.class_prior_.sum() - 1) > 1e-9:
            raise DataError("the class shares do not sum to 1")
        if self.strategy == "constant" and self.constant not in self.classes_:
            raise DataError("the constant is not one of the classes")

    def _proba(self, X: Any) -> np.ndarray:
        n, k = X.shape[0], len(self.classes_)
        if self.strategy == "prior":
            return np.tile(self.class_prior_, (n, 1))
        if self.strategy == "uniform":
            return np.full((n, k), 1 / k)
        return np.eye(k)[self._draw(n)]

    def _codes(self, X: Any) -> np.ndarray:
        if self.strategy == "uniform":
            return self._draw(X.shape[0])
        return super()._codes(X)

    def _draw(self, n: int) -> np.ndarray:
        if self.strategy == "most_frequent":
            return np.full(n, self.class_prior_.argmax())
        if self.strategy == "constant":
            return np.full(n, np.flatnonzero(self.classes_ == self.constant)[0])
        rng = parallel.stream(parallel.seed_sequence(self.random_state), "draw")
        share = self.class_prior_ if self.strategy == "stratified" else None
        return rng.choice(len(self.classes_), size=n, p=share)

    def _explain(self, X: Any) -> dict[str, Any]:
        shares = np.tile(self.class_prior_, (X.shape[0], 1))
        shares = shares[:, 1:] if len(self.classes_) == 2 else shares
        return {
            "base": shares[0].copy(),
            "contributions": np.zeros((X.shape[0], X.shape[1], shares.shape[1])),
            "prediction": shares,
            "scale": "probability",
            "method": "no column is used",
        }
