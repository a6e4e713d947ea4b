"""Naive Bayes for flags: does a word occur?"""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import LOWEST
from pellucid.naive_bayes.counts import COUNT_PARAMETERS, CountNaiveBayes
from pellucid.parameters import Either, Nothing, Real
from pellucid.persist.fitted_state import expect_array, n_terms


class BernoulliNB(CountNaiveBayes):
    """Bernoulli naive Bayes: the class c that maximises

        log p(c) + sum_j [ x_j log theta_cj + (1 - x_j) log(1 - theta_cj) ]

    theta_cj = (N_cj + alpha) / (N_c + 2 alpha), N_cj the rows of class c where column j is 1, N_c all
    its rows. Cells above `binarize` count as 1. Missing cells are skipped.

    Parameters
    ----------
    alpha : float >= 0, or one per term, default=1.0
        Pseudo-count added to every column.
    force_alpha : bool, default=True
        False lifts an alpha below 1e-10 to 1e-10.
    binarize : float or None, default=0.0
        Cells above it are 1, all others 0; None takes them as they are.
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
    >>> from pellucid.naive_bayes import BernoulliNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> BernoulliNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    _takes_negative = True
    _parameters = COUNT_PARAMETERS | {"binarize": Either(Nothing, Real(0, None))}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.table = table

    def _cells(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        if isinstance(X, np.ndarray):
            return (self.binarize < X).astype(np.float64)
        flags = (X.data > self.binarize).astype(np.float64)
        return type(X)((flags, X.indices, X.indptr), shape=X.shape, copy=False)

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
