"""`NearestNeighbors`: search for neighbours, without a target."""

from typing import Any, Self

from pellucid.neighbors.given_trees import rows_of
from pellucid.neighbors.neighbor_parameters import RADIUS
from pellucid.neighbors.queries import KNeighborsQueries, RadiusQueries
from pellucid.parameters import Integer, changed, param


class NearestNeighbors(KNeighborsQueries, RadiusQueries):
    """The nearest training rows of any row: the k smallest pairs (distance, row).

    Examples
    --------
    >>> from pellucid.neighbors import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[0.8]])
    >>> rows
    array([[1, 0]])
    """

    n_neighbors: int = param(
        5, Integer(1), "Number of neighbours that `kneighbors` returns.", before="algorithm"
    )
    radius: float = param(
        1.0,
        RADIUS,
        "Largest distance of the rows that `radius_neighbors` returns.",
        before="algorithm",
    )
    p: float = changed(after="metric")

    _min_rows = 1  # an index may hold one row

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the rows. `y` is ignored.

        X may be a KDTree or BallTree of scikit-learn with the same metric: its rows are stored.
        """
        return self._learn(rows_of(X, self))
