"""Naive Bayes for binary columns, such as the presence of words."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA
from pellucid.naive_bayes.class_counts import LOWEST
from pellucid.naive_bayes.counts import CountNaiveBayes
from pellucid.parameters import Real, learned, param
from pellucid.persist.fitted_state import expect_array, n_terms


class BernoulliNB(CountNaiveBayes):
    """Bernoulli naive Bayes: the class c that maximises

        log p(c) + sum_j [ x_j log theta_cj + (1 - x_j) log(1 - theta_cj) ]

    theta_cj = (N_cj + alpha) / (N_c + 2 alpha), where N_cj is the number of rows of class c with 1 in
    column j and N_c the number of all its rows. Cells above `binarize` count as 1. Missing cells are
    left out.

    Examples
    --------
    >>> from pellucid.naive_bayes import BernoulliNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> BernoulliNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    binarize: float | None = param(
        0.0,
        None | Real(0, None),
        "Cells above this value count as 1, all others as 0. None uses the cells as they are.",
        after="force_alpha",
    )
    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    feature_count_: np.ndarray = learned(
        "Weight of the rows whose cell is 1, shape (n_classes, n_terms)."
    )
    absent_log_prob_: np.ndarray = learned(
        "Logarithms of the probabilities that a cell is 0, shape (n_classes, n_terms)."
    )

    _takes_negative = True

    def _cells(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        if isinstance(X, np.ndarray):
            return (self.binarize < X).astype(np.float64)
        ones = (X.data > self.binarize).astype(np.float64)
        return type(X)((ones, X.indices, X.indptr), shape=X.shape, copy=False)

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        total = sums["present_"] + 2 * alpha
        known = total > 0
        yes = np.divide(
            sums["feature_count_"] + alpha, total, out=np.full_like(total, 0.5), where=known
        )
        no = np.divide(
            sums["present_"] - sums["feature_count_"] + alpha, total,
            out=np.full_like(total, 0.5), where=known,
        )  # fmt: skip
        return {"feature_log_prob_": np.log(yes), "absent_log_prob_": np.log(np.maximum(no, 0.0))}

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        yes = np.maximum(self.feature_log_prob_, LOWEST)
        no = np.maximum(self.absent_log_prob_, LOWEST)
        return yes - no, no

    def _check_state(self) -> None:
        super()._check_state()
        expect_array(self, "absent_log_prob_", len(self.classes_), n_terms(self))
