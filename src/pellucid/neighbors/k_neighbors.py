"""`KNeighborsClassifier` and `KNeighborsRegressor`: predictions from the k nearest rows."""

from typing import Any

import numpy as np

from pellucid.base import Classifier, Regressor
from pellucid.data import Problem
from pellucid.neighbors import neighbor_parameters
from pellucid.neighbors.queries import KNeighborsQueries
from pellucid.parameters import Integer, learned, positional


class KNeighborsClassifier(KNeighborsQueries, Classifier):  # type: ignore[misc]  # no weights
    """Class shares among the k nearest training rows.

    p(c | x) = sum of w(d_j) over neighbours j of class c / sum of w(d_j) over all k neighbours.
    If more rows are as far as the k-th one than the k votes can include, all of them share the votes
    that are left. Equal votes go to the lowest class. So the prediction does not depend on the order
    of the training rows.

    Examples
    --------
    >>> from pellucid.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.1]])
    array([0])
    >>> model.predict_proba([[0.9]]).round(3)
    array([[0.667, 0.333]])
    """

    _exempt = neighbor_parameters.NONE_IS_A_TABLE

    n_neighbors: int = positional(
        default=5, check=Integer(1), description="Number of neighbours that vote.", kw_only=False
    )
    weights: Any = neighbor_parameters.WEIGHTS
    beta: float = neighbor_parameters.BETA

    codes_: np.ndarray = learned(neighbor_parameters.CODES)
    outputs_2d_: bool = learned(neighbor_parameters.OUTPUTS_2D)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        self._check_k(problem)
        return self._record_k(self._memorise(problem) | {"outputs_2d_": False})

    def _proba(self, X: Any) -> np.ndarray:
        return self._k_votes(X).class_shares(self.codes_, len(self.classes_))

    def _explain(self, X: Any) -> Any:
        votes = self._k_votes(X)
        return self._explain_classes(votes, votes.class_shares(self.codes_, len(self.classes_)))


class KNeighborsRegressor(KNeighborsQueries, Regressor):  # type: ignore[misc]  # no weights
    """Mean of the targets of the k nearest training rows.

    y(x) = sum of w(d_j) y_j / sum of w(d_j) over the k neighbours j. If more rows are as far as the k-th
    one than the k places can include, all of them share the weight of the places that are left. So the
    prediction does not depend on the order of the training rows.

    Examples
    --------
    >>> from pellucid.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _exempt = neighbor_parameters.NONE_IS_A_TABLE

    n_neighbors: int = positional(
        default=5,
        check=Integer(1),
        description="Number of neighbours whose targets are averaged.",
        kw_only=False,
    )
    weights: Any = neighbor_parameters.WEIGHTS
    beta: float = neighbor_parameters.BETA

    targets_: np.ndarray = learned(neighbor_parameters.TARGETS)

    _target = "several"
    _several_targets = True

    def _fit(self, problem: Problem) -> dict[str, Any]:
        self._check_k(problem)
        return self._record_k(self._memorise(problem))

    def _predict(self, X: Any) -> np.ndarray:
        means = self._k_votes(X).means(self._target_table())
        return means[:, 0] if self.targets_.ndim == 1 else means

    def _explain(self, X: Any) -> Any:
        """The neighbours and what each adds to the mean."""
        votes, y = self._k_votes(X), self._target_table()
        return votes.prototypes(self.order_, y, votes.means(y), classes=None, scale="response")
