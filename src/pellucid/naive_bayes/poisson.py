"""Naive Bayes for counts that follow a Poisson distribution."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA
from pellucid.naive_bayes.class_counts import LOWEST
from pellucid.naive_bayes.counts import CountNaiveBayes
from pellucid.parameters import learned
from pellucid.persist.fitted_state import expect_array, n_terms


class PoissonNB(CountNaiveBayes):
    """Poisson naive Bayes: the class c that maximises

        log p(c) + sum_j [ x_j log rate_cj - rate_cj ]

    rate_cj is the mean of column j in class c, smoothed by `alpha` pseudo-rows with the mean m_j of all
    classes: rate_cj = (N_cj + alpha m_j) / (N_c + alpha). Missing cells are left out.

    Examples
    --------
    >>> from pellucid.naive_bayes import PoissonNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> PoissonNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    feature_log_prob_: np.ndarray = learned("Logarithms of `rate_`, shape (n_classes, n_terms).")
    rate_: np.ndarray = learned("Means of the columns in each class, shape (n_classes, n_terms).")

    _positive_only = True

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        present, counts = sums["present_"], sums["feature_count_"]
        everything, rows = counts.sum(axis=0), present.sum(axis=0)
        mean = np.divide(everything, rows, out=np.zeros_like(everything), where=rows > 0)
        total = present + alpha
        rate = np.divide(
            counts + alpha * mean, total, out=np.tile(mean, (len(total), 1)), where=total > 0
        )
        return {"rate_": rate, "feature_log_prob_": np.log(rate)}

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """A column that is 0 in all training rows has no influence."""
        silent = (self.rate_ == 0).all(axis=0)
        coef = np.where(silent, 0.0, np.maximum(self.feature_log_prob_, LOWEST))
        return coef, -self.rate_

    def _check_state(self) -> None:
        super()._check_state()
        expect_array(self, "rate_", len(self.classes_), n_terms(self))
