"""Complement naive Bayes, for classes of very unequal size."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.class_counts import LOWEST
from pellucid.naive_bayes.counts import CountNaiveBayes
from pellucid.parameters import Boolean, learned, param


class ComplementNB(CountNaiveBayes):
    """Complement naive Bayes (Rennie et al. 2003): multinomial naive Bayes on the counts of all OTHER
    classes, with the opposite sign, so that small classes have as much evidence as large ones:

        sum_j x_j (-log theta_cj),    theta_cj = (N_-cj + alpha) / sum_l (N_-cl + alpha)

    The prior probabilities of the classes are not used. Missing cells are left out.

    Examples
    --------
    >>> from pellucid.naive_bayes import ComplementNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> ComplementNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    norm: bool = param(
        False,
        Boolean,
        "Whether to divide the weights of each class by their sum, as the paper does.",
    )

    feature_log_prob_: np.ndarray = learned(
        "Weights of the columns in the score of each class, shape (n_classes, n_terms)."
    )
    feature_all_: np.ndarray = learned("Sums of the cells over all classes, shape (n_terms,).")

    _positive_only = True
    # A constant column changes the prediction, because it takes its share of the counts.
    _exempt = {"constant_and_empty_columns_are_harmless": "it takes its share of the counts"}

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        everything = sums["feature_count_"].sum(axis=0)
        others = everything + alpha - sums["feature_count_"]
        total = others.sum(axis=1, keepdims=True)
        logs = np.log(np.divide(others, total, out=np.zeros_like(others), where=total > 0))
        never = (everything == 0) & (alpha == 0)  # 0 in all classes: no influence
        logs = np.where(never, 0.0, np.maximum(logs, LOWEST))
        if self.norm:
            whole = logs.sum(axis=1, keepdims=True)
            weights = np.divide(logs, whole, out=np.zeros_like(logs), where=whole != 0)
        else:
            weights = -logs
        return {"feature_log_prob_": weights, "feature_all_": everything}

    @property
    def _prior(self) -> np.ndarray:
        """Constant: the prior probabilities are not used."""
        return np.ones(len(self.classes_))

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        return self.feature_log_prob_, np.zeros_like(self.feature_log_prob_)
