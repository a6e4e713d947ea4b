"""`explain` of models made of trees: along the paths, or by Shapley values.

A model writes `_explain(encoded rows, method)` with the help of `contributions` and takes `explain`
into its class, which has one argument more than `Estimator.explain`.
"""

from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.tree import prediction

METHODS = {"path": prediction.path, "shap": prediction.shap}
SHAPLEY = "Shapley values of the trees"


def explain(self: Any, X: Any, method: str = "path") -> Any:
    """Explain each prediction by contributions of the columns of X.

    method="path" adds up the changes of the value at the splits that a row passes. method="shap"
    gives exact Shapley values: the mean effect of learning the value of a column, over all orders
    of the columns; unknown columns are averaged by the training weights of the branches. For both,
    `base + contributions.sum(axis=1) == prediction` holds for every row and class, or target.
    """
    self._check_fitted()
    if method not in METHODS:
        raise ParameterError(
            f"The 'method' parameter of explain must be a str among {{'path', 'shap'}}. Got "
            f"{method!r} instead."
        )
    return self._explanation(self._explain(self._encoded(X), method))


def contributions(
    method: str,
    trees: list[Any],
    values: list[np.ndarray],
    weights: np.ndarray,
    X: np.ndarray,
    two_classes: bool = False,
) -> dict[str, Any]:
    """Base (K,) and contributions (n, d, K) of sum_t weights[t] values[t][leaf].

    With two classes only the second one is explained.
    """
    base, parts = METHODS[method](trees, values, weights, X)
    own = slice(1, None) if two_classes else slice(None)
    return {"base": base[own], "contributions": parts[:, :, own]}
