"""`explain` of everything made of trees: along the paths, or by Shapley values."""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.errors import ParameterError
from pellucid.tree import prediction
from pellucid.tree.nodes import Nodes


class TreesExplained(Estimator):
    """Models whose answer is a weighted sum of trees' leaf values."""

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        """(trees, values (nodes, K) of each, weights): the answer is sum_t w_t values_t[leaf]."""
        raise NotImplementedError

    _shap_method = "Shapley values of the trees"

    def _shap(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(base (K,), contributions (n, d, K)) by Shapley values."""
        return prediction.shap(*self._as_trees(), X)

    def explain(self, X: Any, method: str = "path") -> Any:
        """Why the model says what it says: contributions of the user's own columns.

        "path" adds up the changes of the value at the divisions that a row passes. "shap" gives
        exact Shapley values: the mean effect of learning a column's cell, over all orders of the
        columns, unknown ones averaged by the training weights of the branches. Both add up:
        `base + contributions.sum(axis=1) == prediction` for every row and class, or target.
        """
        self._check_fitted()
        if method not in ("path", "shap"):
            raise ParameterError(
                f"The 'method' parameter of explain must be a str among {{'path', 'shap'}}. Got "
                f"{method!r} instead."
            )
        encoded = self._encoded(X)
        parts = self._explain(encoded)
        if method == "shap":
            base, contributions = self._shap(encoded)
            parts |= self._narrowed(base, contributions) | {"method": self._shap_method}
        return self._explanation(parts)

    def _narrowed(self, base: np.ndarray, contributions: np.ndarray) -> dict[str, Any]:
        """Of two classes only the second one."""
        part = slice(1, None) if len(base) == 2 and "classes_" in vars(self) else slice(None)
        return {"base": base[part], "contributions": contributions[:, :, part]}
