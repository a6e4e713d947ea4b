"""`NearestNeighbors`: looking up rows, without a target."""

from typing import Any, Self

from pellucid.data import Problem
from pellucid.neighbors.base import METRIC_PARAMETERS, KNearest, WithinRadius
from pellucid.parameters import Integer, Real


class NearestNeighbors(KNearest, WithinRadius):
    """The nearest training rows of any row: the k smallest pairs (distance, row).

    Parameters
    ----------
    n_neighbors : int, default=5
    radius : float, default=1.0
    algorithm : {"auto", "ball_tree", "kd_tree", "brute", "lsh"}, default="auto"
        How to search; all but "lsh" find the same rows. "ball_tree" is the KD-tree too. "lsh" (hashing)
        finds most of them, `recall_` says how many; where it does not pay, and for more than
        the fitted `n_neighbors`, the search is exact.
    leaf_size : int, default=30
    metric : str or callable(a, b), default="minkowski"
        As in `KNeighborsClassifier`.
    p : float, default=2
    metric_params : dict or None
    n_jobs : int or None
    standardize : bool, default=False
        Divide numbers by their standard deviations first; levels stay 0 and 1.
    table : Table, optional

    Attributes
    ----------
    n_samples_fit_, effective_metric_, effective_metric_params_
    rows_, order_, tree_, space_ : the training rows as they are searched.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[0.8]])
    >>> rows
    array([[1, 0]])
    """

    _min_rows = 1  # an index may hold one row
    _parameters = {
        "n_neighbors": Integer(1),
        "radius": Real(0, None, "left"),
        **METRIC_PARAMETERS,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows. `y` is ignored."""
        return self._learn(X)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem)
