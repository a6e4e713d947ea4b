"""Naive Bayes for counts: words of a text."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import LOWEST
from pellucid.naive_bayes.counts import COUNT_PARAMETERS, CountNaiveBayes


class MultinomialNB(CountNaiveBayes):
    """Multinomial naive Bayes: the class c that maximises

        log p(c) + sum_j x_j log theta_cj,    theta_cj = (N_cj + alpha) / sum_l (N_cl + alpha)

    N_cj is the sum of column j over the rows of class c. Cells are counts (or parts of counts, such
    as tf-idf); missing ones are skipped. A text column becomes its words.

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
    feature_count_, feature_log_prob_ : (classes, terms), in the order of `terms_`
    class_count_, class_log_prior_, classes_
    present_ : (classes, terms), weight of the cells that are not missing
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.naive_bayes import MultinomialNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> MultinomialNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    _positive_only = True
    _parameters = COUNT_PARAMETERS
    # A constant column says something about the class here: it takes its share of the counts.
    _exempt = {"constant_and_empty_columns_are_harmless": "it takes its share of the counts"}

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
        counts = sums["feature_count_"] + alpha
        total = counts.sum(axis=1, keepdims=True)
        chance = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        return {"feature_log_prob_": np.log(chance)}

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        coef = np.maximum(self.feature_log_prob_, LOWEST)  # a word never seen, without smoothing
        return coef, np.zeros_like(coef)
