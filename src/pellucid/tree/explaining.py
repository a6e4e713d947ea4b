"""`explain` of models made of trees: along the paths, or by Shapley values; and `to_sklearn`.

A model writes `_explain(encoded rows, method)` with the help of `contributions` and takes `explain`
into its class, which has one argument more than `Estimator.explain`. Trees and forests take
`to_sklearn`.
"""

from typing import Any

import numpy as np

from pellucid import _sklearn
from pellucid.data.schema import NUMBER
from pellucid.errors import ParameterError
from pellucid.parameters import parameters_of
from pellucid.tree import prediction
from pellucid.tree.nodes import Nodes

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


def to_sklearn(self: Any) -> Any:
    """This fitted model as one of scikit-learn, for tools that need one, such as
    `sklearn.tree.plot_tree`, `sklearn.tree.export_graphviz` and shap.

    scikit-learn rounds X to single precision, so the predictions are the same for values that single
    precision can hold. It cannot express sets of levels: all columns must be numbers.
    """
    self._check_fitted()
    schema = self.schema_
    for j, kind in enumerate(schema.kinds):
        if kind != NUMBER:
            raise ParameterError(
                f"to_sklearn needs columns of numbers, because trees of scikit-learn cannot split "
                f"others. Column {schema.name(j)!r} is of the kind {kind!r}."
            )
    learned = {name: vars(self)[name] for name in _LEARNED if name in vars(self)}
    Model: Any = type(self)
    params = {name: getattr(self, name) for name in parameters_of(Model) if name not in _OURS}
    params["ccp_alpha"] = vars(self).get("ccp_alpha_", self.ccp_alpha)
    ours = (one.__name__ for one in type(self).__mro__ if one.__module__.startswith("pellucid."))
    classes = "classes_" in learned
    if "tree_" in vars(self):
        return _sklearn.fitted_tree(next(ours), params, *_parts(self.tree_, classes), learned)
    own = {name: value for name, value in learned.items() if name != "feature_names_in_"}
    if classes:
        own["classes_"] = np.arange(float(len(self.classes_)))
    trees = [(*_parts(tree, classes), own) for tree in self.trees_]
    return _sklearn.fitted_forest(next(ours), params, trees, learned)


_LEARNED = (
    "n_features_in_", "feature_names_in_", "n_outputs_", "max_features_", "classes_", "n_classes_",
)  # fmt: skip
_OURS = ("splitter", "monotonic_cst")  # these do not change a fitted tree


def _parts(nodes: Nodes, classes: bool) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """The arrays of a tree by scikit-learn's names, its values (nodes, targets, classes), its depth."""
    names = {
        "left_child": nodes.left, "right_child": nodes.right, "feature": nodes.feature,
        "threshold": np.where(nodes.feature < 0, -2.0, nodes.threshold),
        "impurity": nodes.impurity, "n_node_samples": nodes.n_samples,
        "weighted_n_node_samples": nodes.weight, "missing_go_to_left": nodes.missing_left,
    }  # fmt: skip
    return names, nodes.value[:, None] if classes else nodes.value[:, :, None], nodes.depth
