"""The models of the simulation, with fixed parameters: five with low to high variance, and a board of
models for tables of pure noise.
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
_BOOST: dict[str, Any] = {
    "max_iter": 30,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 10,
    "early_stopping": False,
}
_STEPS = 120  # solver steps of a network, for any number of rows


def _network(n: int, seed: int) -> dict[str, Any]:
    """About _STEPS steps in passes of 12 batches; more rows mean larger batches."""
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

BOARD_CLASSIFIERS: dict[str, Maker] = {
    "naive_bayes": lambda n, seed: naive_bayes.GaussianNB(),
    "lda": lambda n, seed: discriminant_analysis.LinearDiscriminantAnalysis(),
    "logistic": lambda n, seed: linear_model.LogisticRegression(),
    "logistic_strict": lambda n, seed: linear_model.LogisticRegression(C=0.01),
    "qda": lambda n, seed: discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1),
    "tree": lambda n, seed: tree.DecisionTreeClassifier(min_samples_leaf=5),
    "stump": lambda n, seed: tree.DecisionTreeClassifier(max_depth=2),
    "knn": lambda n, seed: neighbors.KNeighborsClassifier(9),
    "1-NN": lambda n, seed: neighbors.KNeighborsClassifier(1),
    "forest": lambda n, seed: ensemble.RandomForestClassifier(20, random_state=seed),
    "boosting": CLASSIFIERS["boosting"],
    "network": CLASSIFIERS["network"],
}
BOARD_REGRESSORS: dict[str, Maker] = {
    "ols": lambda n, seed: linear_model.LinearRegression(),
    "ridge": lambda n, seed: linear_model.Ridge(alpha=10.0),
    "ridge_strict": lambda n, seed: linear_model.Ridge(alpha=1000.0),
    "lasso": lambda n, seed: linear_model.Lasso(alpha=0.1),
    "tree": lambda n, seed: tree.DecisionTreeRegressor(min_samples_leaf=5),
    "stump": lambda n, seed: tree.DecisionTreeRegressor(max_depth=2),
    "knn": lambda n, seed: neighbors.KNeighborsRegressor(9),
    "1-NN": lambda n, seed: neighbors.KNeighborsRegressor(1),
    "svm_rbf": lambda n, seed: svm.SVR(),
    "forest": lambda n, seed: ensemble.RandomForestRegressor(20, random_state=seed),
    "boosting": REGRESSORS["boosting"],
    "network": REGRESSORS["network"],
}


def predict(model: Any, X: np.ndarray, classes: bool) -> np.ndarray:
    """The probability of the second class, or the predicted number."""
    return model.predict_proba(X)[:, 1] if classes else model.predict(X)
