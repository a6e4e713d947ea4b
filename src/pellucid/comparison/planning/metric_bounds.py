"""The smallest and the largest value of a metric."""

import numpy as np

LOSSES = ("log_loss", "mae", "rmse", "poisson_deviance")
SHARES = ("f1_", "jaccard", "precision", "recall", "roc_auc_", "top_k_accuracy")
BOUNDED = {"roc_auc", "accuracy", "balanced_accuracy", "f1", "average_precision"}


def bounds_of(name: str) -> tuple[float, float]:
    """Lower and upper bound of a metric, including scikit-learn's scorers."""
    if name in LOSSES:
        return 0.0, np.inf
    if name in BOUNDED or name.startswith(SHARES):
        return 0.0, 1.0
    if name == "matthews_corrcoef":
        return -1.0, 1.0
    if name in ("r2", "explained_variance") or name.startswith("d2_"):
        return -np.inf, 1.0
    return -np.inf, 0.0 if name.startswith("neg_") else np.inf
