"""Complement naive Bayes, for classes of very unequal size."""

from typing import Any

import numpy as np

from pellucid.naive_bayes.base import LOWEST
from pellucid.naive_bayes.counts import COUNT_PARAMETERS, CountNaiveBayes
from pellucid.parameters import Boolean


class ComplementNB(CountNaiveBayes):
    """Complement naive Bayes (Rennie et al. 2003): multinomial naive Bayes whose counts are those of
    all OTHER classes, with the sign turned, so that small classes have as much evidence as large ones:

        sum_j x_j (-log theta_cj),    theta_cj = (N_-cj + alpha) / sum_l (N_-cl + alpha)

    The chances of the classes play no part. Missing cells are skipped.

    Parameters
    ----------
    alpha : float >= 0, or one per term, default=1.0
        Pseudo-count added to every column.
    force_alpha : bool, default=True
        False lifts an alpha below 1e-10 to 1e-10.
    fit_prior : bool, default=True
        Learn the chances of the classes; False makes them equal.
    class_prior : array of the chances of the classes, optional
    norm : bool, default=False
        Divide the weights of each class by their sum, as the paper does.
    table : Table, optional

    Attributes
    ----------
    feature_count_, feature_log_prob_ : (classes, terms); feature_all_ : (terms,)
    class_count_, class_log_prior_, classes_
    present_ : (classes, terms), weight of the cells that are not missing
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.naive_bayes import ComplementNB
    >>> X, y = [[2, 0, 1], [3, 0, 0], [0, 2, 1], [0, 3, 2]], ["a", "a", "b", "b"]
    >>> ComplementNB().fit(X, y).predict([[1, 0, 0], [0, 1, 1]]).tolist()
    ['a', 'b']
    """

    _positive_only = True
    _parameters = COUNT_PARAMETERS | {"norm": Boolean}
    # A constant column says something about the class here: it takes its share of the counts.
    _exempt = {"constant_and_empty_columns_are_harmless": "it takes its share of the counts"}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.table = table

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        everything = sums["feature_count_"].sum(axis=0)
        others = everything + alpha - sums["feature_count_"]
        total = others.sum(axis=1, keepdims=True)
        logs = np.log(np.divide(others, total, out=np.zeros_like(others), where=total > 0))
        never = (everything == 0) & (alpha == 0)  # in no class: it tells none apart
        logs = np.where(never, 0.0, np.maximum(logs, LOWEST))
        if self.norm:
            whole = logs.sum(axis=1, keepdims=True)
            weights = np.divide(logs, whole, out=np.zeros_like(logs), where=whole != 0)
        else:
            weights = -logs
        return {"feature_log_prob_": weights, "feature_all_": everything}

    @property
    def _prior(self) -> np.ndarray:
        """The chances of the classes play no part."""
        return np.ones(len(self.classes_))

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        return self.feature_log_prob_, np.zeros_like(self.feature_log_prob_)
