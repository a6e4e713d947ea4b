"""The models of the simulation, with fixed settings: five that vary more or less with their rows,
and those of the comparison's board, for tables of pure noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid import (
    discriminant_analysis,
    ensemble,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    svm,
    tree,
)

LEARNERS = ("linear", "tree", "1-NN", "boosting", "network")
RANKS = {"linear": 1, "tree": 2, "1-NN": 3, "boosting": 5, "network": 6}  # of simplicity
_BOOST: dict[str, Any] = {
    "max_iter": 30,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "early_stopping": False,
}
_STEPS = 120  # of a network's solver, whatever the number of rows


def _network(n: int, seed: int) -> dict[str, Any]:
    """About _STEPS steps of 12 batches a pass, larger batches of more rows."""
    batch = max(8, min(200, n // 12))
    passes = max(4, round(_STEPS / -(-n // batch)))
    return {
        "hidden_layer_sizes": (8,), "batch_size": batch, "max_iter": passes,
        "learning_rate_init": 0.03, "random_state": seed, "n_iter_no_change": passes,
    }  # fmt: skip


Maker = Callable[[int, int], Any]
CLASSIFIERS: dict[str, Maker] = {
    "linear": lambda n, seed: discriminant_analysis.LinearDiscriminantAnalysis(),
    "tree": lambda n, seed: tree.DecisionTreeClassifier(min_samples_leaf=5),
    "1-NN": lambda n, seed: neighbors.KNeighborsClassifier(1),
    "boosting": lambda n, seed: ensemble.HistGradientBoostingClassifier(**_BOOST),
    "network": lambda n, seed: neural_network.MLPClassifier(**_network(n, seed)),
}
REGRESSORS: dict[str, Maker] = {
    "linear": lambda n, seed: linear_model.Ridge(),
    "tree": lambda n, seed: tree.DecisionTreeRegressor(min_samples_leaf=5),
    "1-NN": lambda n, seed: neighbors.KNeighborsRegressor(1),
    "boosting": lambda n, seed: ensemble.HistGradientBoostingRegressor(**_BOOST),
    "network": lambda n, seed: neural_network.MLPRegressor(**_network(n, seed)),
}

# name: (rank of simplicity, maker), as in the comparison's registry.
BOARD_CLASSIFIERS: dict[str, tuple[int, Maker]] = {
    "naive_bayes": (1, lambda n, seed: naive_bayes.GaussianNB()),
    "lda": (1, lambda n, seed: discriminant_analysis.LinearDiscriminantAnalysis()),
    "logistic": (1, lambda n, seed: linear_model.LogisticRegression()),
    "logistic_strict": (1, lambda n, seed: linear_model.LogisticRegression(C=0.01)),
    "qda": (3, lambda n, seed: discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1)),
    "tree": (2, lambda n, seed: tree.DecisionTreeClassifier(min_samples_leaf=5)),
    "stump": (2, lambda n, seed: tree.DecisionTreeClassifier(max_depth=2)),
    "knn": (3, lambda n, seed: neighbors.KNeighborsClassifier(9)),
    "1-NN": (3, lambda n, seed: neighbors.KNeighborsClassifier(1)),
    "forest": (5, lambda n, seed: ensemble.RandomForestClassifier(20, random_state=seed)),
    "boosting": (5, CLASSIFIERS["boosting"]),
    "network": (6, CLASSIFIERS["network"]),
}
BOARD_REGRESSORS: dict[str, tuple[int, Maker]] = {
    "ols": (1, lambda n, seed: linear_model.LinearRegression()),
    "ridge": (1, lambda n, seed: linear_model.Ridge(alpha=10.0)),
    "ridge_strict": (1, lambda n, seed: linear_model.Ridge(alpha=1000.0)),
    "lasso": (1, lambda n, seed: linear_model.Lasso(alpha=0.1)),
    "tree": (2, lambda n, seed: tree.DecisionTreeRegressor(min_samples_leaf=5)),
    "stump": (2, lambda n, seed: tree.DecisionTreeRegressor(max_depth=2)),
    "knn": (3, lambda n, seed: neighbors.KNeighborsRegressor(9)),
    "1-NN": (3, lambda n, seed: neighbors.KNeighborsRegressor(1)),
    "svm_rbf": (4, lambda n, seed: svm.SVR()),
    "forest": (5, lambda n, seed: ensemble.RandomForestRegressor(20, random_state=seed)),
    "boosting": (5, REGRESSORS["boosting"]),
    "network": (6, REGRESSORS["network"]),
}


def tell(model: Any, X: np.ndarray, classes: bool) -> np.ndarray:
    """The probability of the second class, or the number."""
    return model.predict_proba(X)[:, 1] if classes else model.predict(X)
