"""Naive Bayes for counts that follow a Poisson distribution."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import LOWEST
from pellucid.naive_bayes.counts import COUNT_PARAMETERS, CountNaiveBayes
from pellucid.persist.fitted_state import expect_array, n_terms


class PoissonNB(CountNaiveBayes):
    """Poisson naive Bayes: the class c that maximises

        log p(c) + sum_j [ x_j log rate_cj - rate_cj ]

    rate_cj is the mean of column j in class c, with `alpha` pseudo-counts drawn from the mean of all
    classes: rate_cj = (N_cj + alpha m_j) / (N_c + alpha). Missing cells are skipped.

    Parameters
    ----------
    alpha : float >= 0, or one per term, default=1.0
        Pseudo-count added to every column.
    force_alpha : bool, default=True
        False lifts an alpha below 1e-10 to 1e-10.
    fit_prior : bool, default=True
        Learn the chances of the classes; False makes them equal.
    class_prior : array of the chances of the classes, optional
    table : Table, optional

    Attributes
    ----------
    rate_, feature_count_, feature_log_prob_ : (classes, terms); feature_log_prob_ = log rate_
    class_count_, class_log_prior_, classes_
    present_ : (classes, terms), weight of the cells that are not missing
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.naive_bayes import PoissonNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> PoissonNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    _positive_only = True
    _parameters = COUNT_PARAMETERS

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.table = table

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
        """A column that is 0 in all training rows says nothing."""
        silent = (self.rate_ == 0).all(axis=0)
        coef = np.where(silent, 0.0, np.maximum(self.feature_log_prob_, LOWEST))
        return coef, -self.rate_

    def _check_state(self) -> None:
        super()._check_state()
        expect_array(self, "rate_", len(self.classes_), n_terms(self))
