"""Naive Bayes for counts, such as the words of a text."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA
from pellucid.naive_bayes.class_counts import LOWEST
from pellucid.naive_bayes.counts import CountNaiveBayes


class MultinomialNB(CountNaiveBayes):
    """Multinomial naive Bayes: the class c that maximises

        log p(c) + sum_j x_j log theta_cj,    theta_cj = (N_cj + alpha) / sum_l (N_cl + alpha)

    N_cj is the sum of column j over the rows of class c. Cells are counts, or fractions such as tf-idf;
    missing cells are left out. A text column is replaced by the counts of its words.

    Examples
    --------
    >>> from pellucid.naive_bayes import MultinomialNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> MultinomialNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    _positive_only = True
    # A constant column changes the prediction, because it takes its share of the counts.
    _exempt = {"constant_and_empty_columns_are_harmless": "it takes its share of the counts"}

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        counts = sums["feature_count_"] + alpha
        total = counts.sum(axis=1, keepdims=True)
        theta = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        return {"feature_log_prob_": np.log(theta)}

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        # `feature_log_prob_` is -inf for an unseen word without smoothing.
        coef = np.maximum(self.feature_log_prob_, LOWEST)
        return coef, np.zeros_like(coef)
