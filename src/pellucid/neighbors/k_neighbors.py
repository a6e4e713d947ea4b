"""`KNeighborsClassifier` and `KNeighborsRegressor`: the k nearest rows vote."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier, Regressor
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.neighbors import vote_weights
from pellucid.neighbors.base import METRIC_PARAMETERS, WEIGHTS, KNearest, tie_order
from pellucid.parameters import Integer, Real
from pellucid.records import Prototypes


class KVotes(KNearest):
    """What the two models share: shares of the vote of the k nearest rows."""

    _parameters = {
        "n_neighbors": Integer(1),
        "weights": WEIGHTS,
        **METRIC_PARAMETERS,
        "beta": Real(0, None, "neither"),
    }

    def _check_problem(self, problem: Problem) -> None:
        super()._check_problem(problem)
        if problem.n < self.n_neighbors:
            raise DataError(
                f"n_neighbors={self.n_neighbors} needs as many rows, but n_samples={problem.n}. Ask "
                "for fewer neighbours."
            )

    def _voters(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distances, places and weights (n, k) of the neighbours of encoded rows."""
        distances, places = self._nearest(self._placed(X), self.n_neighbors)
        return distances, places, vote_weights.weigh(self.weights, distances, self.beta)

    def _prototypes(
        self, found: Any, spoken: np.ndarray, said: np.ndarray, scale: str
    ) -> Prototypes:
        distances, places, _ = found
        classes = tuple(self.classes_.tolist()) if "classes_" in vars(self) else None
        return Prototypes(
            rows=self.order_[places], distances=distances, votes=spoken, prediction=said,
            classes=classes, scale=scale, method=f"{self.n_neighbors} nearest neighbours",
        )  # fmt: skip


class KNeighborsClassifier(KVotes, Classifier):
    """Class shares among the k nearest training rows.

    p(c | x) = sum of w(d_j) over neighbours j of class c / sum of w(d_j) over all k neighbours.
    Equally near rows are taken by (class, row); equal votes go to the lowest class. So the answer does
    not depend on the order of the training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
    weights : {"uniform", "distance", "exp", "rational"}, None or callable, default="uniform"
        1; 1 / d; exp(-beta d); 1 / (1 + d**beta); or a function of the distances (n, k).
    algorithm : {"auto", "ball_tree", "kd_tree", "brute", "lsh"}, default="auto"
        How to search; all but "lsh" find the same rows. "ball_tree" is the KD-tree too. "lsh" (hashing)
        finds most of them, `recall_` says how many; where it does not pay, and for more than
        the fitted `n_neighbors`, the search is exact.
    leaf_size : int, default=30
        A leaf of the tree holds up to eight times as many rows, and never more than 256.
    p : float, default=2
        Order of the Minkowski distance, at most 32 or inf; 1 is manhattan, inf is chebyshev.
    metric : str or callable(a, b), default="minkowski"
        "euclidean", "sqeuclidean", "manhattan", "chebyshev", "minkowski", "cosine", "hamming" (the share
        of the table's columns that differ, missing cells being equal), "mahalanobis" (covariance
        estimated from the training rows with Ledoit and Wolf's shrinkage towards uncorrelated columns,
        in any units),
        "gower" (mixed columns: ranges and categories, missing cells left out), "precomputed". All but
        "gower" measure missing numbers by their mean, beside a column that says so.
    metric_params : dict or None
        "p" and "w" of minkowski, "V" or its inverse "VI" of mahalanobis, arguments of a callable.
    n_jobs : int or None
    standardize : bool, default=False
        Divide numbers by their standard deviations first; levels stay 0 and 1.
    beta : float, default=1.0
        Of the weights "exp" and "rational".
    table : Table, optional

    Attributes
    ----------
    classes_, n_samples_fit_, effective_metric_, effective_metric_params_, outputs_2d_
    rows_, order_, tree_, space_ : the training rows as they are searched.
    codes_ : class codes of the rows, ascending.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.1]])
    array([0])
    >>> model.predict_proba([[0.9]]).round(3)
    array([[0.667, 0.333]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        beta: float = 1.0,
        table: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.beta = beta
        self.table = table

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, in the order in which ties are decided."""
        return self._learn(X, y)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem) | {
            "codes_": problem.y[tie_order(problem.y, problem.n)],
            "outputs_2d_": False,
        }

    def _shares(self, found: Any) -> np.ndarray:
        _, places, weights = found
        codes, total = self.codes_[places], np.zeros((len(places), len(self.classes_)))
        every = np.arange(len(places))
        for j in range(codes.shape[1]):  # nearest first: equal votes have equal sums
            total[every, codes[:, j]] += weights[:, j]
        return total / total.sum(axis=1, keepdims=True)

    def _proba(self, X: Any) -> np.ndarray:
        return self._shares(self._voters(X))

    def _explain(self, X: Any) -> Any:
        """The neighbours and their shares of the vote."""
        found = self._voters(X)
        K = len(self.classes_)
        shares = found[2] / found[2].sum(axis=1, keepdims=True)
        spoken = shares[:, :, None] * (self.codes_[found[1]][:, :, None] == np.arange(K))
        said = self._shares(found)
        keep = slice(1, None) if K == 2 else slice(None)
        return self._prototypes(found, spoken[:, :, keep], said[:, keep], "probability")

    def _check_state(self) -> None:
        from pellucid.neighbors.file_checks import check_codes

        super()._check_state()
        check_codes(self)


class KNeighborsRegressor(KVotes, Regressor):
    """Mean of the targets of the k nearest training rows.

    y(x) = sum of w(d_j) y_j / sum of w(d_j) over the k neighbours j. Equally near rows are taken by
    (y, row), so the answer does not depend on the order of the training rows.

    Parameters
    ----------
    n_neighbors : int, default=5
    weights : {"uniform", "distance", "exp", "rational"}, None or callable, default="uniform"
        1; 1 / d; exp(-beta d); 1 / (1 + d**beta); or a function of the distances (n, k).
    algorithm : {"auto", "ball_tree", "kd_tree", "brute", "lsh"}, default="auto"
        How to search; all but "lsh" find the same rows. "ball_tree" is the KD-tree too. "lsh" (hashing)
        finds most of them, `recall_` says how many; where it does not pay, and for more than
        the fitted `n_neighbors`, the search is exact.
    leaf_size : int, default=30
        A leaf of the tree holds up to eight times as many rows, and never more than 256.
    p : float, default=2
        Order of the Minkowski distance, at most 32 or inf; 1 is manhattan, inf is chebyshev.
    metric : str or callable(a, b), default="minkowski"
        As in `KNeighborsClassifier`.
    metric_params : dict or None
        "p" and "w" of minkowski, "V" or its inverse "VI" of mahalanobis, arguments of a callable.
    n_jobs : int or None
    standardize : bool, default=False
        Divide numbers by their standard deviations first; levels stay 0 and 1.
    beta : float, default=1.0
        Of the weights "exp" and "rational".
    table : Table, optional

    Attributes
    ----------
    n_samples_fit_, effective_metric_, effective_metric_params_
    rows_, order_, tree_, space_ : the training rows as they are searched.
    targets_ : targets of the rows, ascending.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(2).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _target = "several"
    _several_targets = True

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        beta: float = 1.0,
        table: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.beta = beta
        self.table = table

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, in the order in which ties are decided."""
        return self._learn(X, y)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem) | {"targets_": problem.y[tie_order(problem.y, problem.n)]}

    def _means(self, found: Any) -> np.ndarray:
        """Weighted means of the targets, (n, K)."""
        _, places, weights = found
        y = self.targets_.reshape(self.n_samples_fit_, -1)[places]
        return np.einsum("ij,ijk->ik", weights, y) / weights.sum(axis=1, keepdims=True)

    def _predict(self, X: Any) -> np.ndarray:
        means = self._means(self._voters(X))
        return means[:, 0] if self.targets_.ndim == 1 else means

    def _explain(self, X: Any) -> Any:
        """The neighbours and what each adds to the mean."""
        found = self._voters(X)
        y = self.targets_.reshape(self.n_samples_fit_, -1)[found[1]]
        spoken = (found[2] / found[2].sum(axis=1, keepdims=True))[:, :, None] * y
        return self._prototypes(found, spoken, self._means(found), "response")

    def _check_state(self) -> None:
        from pellucid.neighbors.file_checks import check_numbers

        super()._check_state()
        check_numbers(self)
