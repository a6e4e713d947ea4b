"""Rows that come as a KDTree or BallTree of scikit-learn, which Pellucid indexes again."""

from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.neighbors import distances

_TREES = ("KDTree", "KDTree32", "KDTree64", "BallTree", "BallTree32", "BallTree64")
# The exponent of Minkowski's distance; trees state it beside the name of their class.
_EXPONENTS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}


def rows_of(X: Any, model: Any) -> Any:
    """The rows of a tree of scikit-learn, if it measures as the model does; any other X as it is."""
    if not type(X).__module__.startswith("sklearn.neighbors.") or type(X).__name__ not in _TREES:
        return X
    own = next(v for v in X.__getstate__() if type(v).__name__.rstrip("3264").endswith("Distance"))
    name = type(own).__name__.rstrip("3264").removesuffix("Distance").lower()
    metric, params = distances.effective(
        model.metric, 2 if model.p is None else model.p, model.metric_params
    )
    wanted = params.get("p") if metric == "minkowski" else _EXPONENTS.get(str(metric))
    found = own.__getstate__()[0] if name == "minkowski" else _EXPONENTS.get(name)
    if found is None or wanted != found:
        raise ParameterError(
            f"The tree measures the {name} distance, but this {type(model).__name__} has "
            f"metric={model.metric!r}, p={model.p!r}. Give the metric of the tree, or its rows."
        )
    return np.array(X.data)
