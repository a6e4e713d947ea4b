"""Naive Bayes for categories."""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.intake import RawTable
from pellucid.data.schema import TEXT, Schema
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.naive_bayes.base import (
    LOWEST,
    SMALLEST_ALPHA,
    NaiveBayes,
    level_chances,
    relevelled,
)
from pellucid.naive_bayes.counts import COUNT_PARAMETERS
from pellucid.naive_bayes.support import check_counts
from pellucid.naive_bayes.text_columns import (
    BERNOULLI,
    beside_words,
    codes_of,
    count_words,
    log_chances,
    text_likelihood,
)
from pellucid.parameters import Array, Either, Integer, Nothing, Real
from pellucid.persist.fitted_state import expect_array

MOST = 2**22  # categories of one column beyond which they are no categories


def count_levels(
    codes: np.ndarray, y: np.ndarray, w: np.ndarray, K: int, levels: int
) -> np.ndarray:
    """Weight of each level in each class: (K, levels); codes below 0 are missing."""
    known = codes >= 0
    cell = y[known].astype(np.int64) * levels + codes[known]
    return np.bincount(cell, w[known], minlength=K * levels).reshape(K, levels).astype(float)


class CategoricalNB(NaiveBayes):
    """Categorical naive Bayes: the class c that maximises

        log p(c) + sum_j log p(x_j | c),    p(v | c) = (N_cjv + alpha) / (N_cj + alpha L_j)

    N_cjv counts the rows of class c with level v in column j, which has L_j levels. Columns of
    words are categories by themselves; in columns of numbers, 0, 1, 2, ... are the categories; each
    word of a text column is a category of two levels, present and absent. Missing cells and levels
    not seen in training say nothing.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Pseudo-count of every level.
    force_alpha : bool, default=True
        False lifts an alpha below 1e-10 to 1e-10.
    fit_prior : bool, default=True
        Learn the chances of the classes; False makes them equal.
    class_prior : array of the chances of the classes, optional
    min_categories : int, or one per column, optional
        The least number of categories of a column of numbers.
    table : Table, optional

    Attributes
    ----------
    category_count_, feature_log_prob_ : lists of arrays (classes, levels), one per column; of a text
        (classes, words), of the texts that hold the word
    n_categories_ : levels, or words, of each column
    present_ : (classes, columns), weight of the cells that are not missing
    class_count_, class_log_prior_, classes_
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.naive_bayes import CategoricalNB
    >>> X, y = [["red"], ["red"], ["blue"], ["green"]], [1, 1, 0, 0]
    >>> CategoricalNB().fit(X, y).predict([["red"], ["blue"]]).tolist()
    [1, 0]
    """

    _layout = "codes"
    _takes_sparse = False
    _takes_text = True
    _positive_only = True
    _parameters = COUNT_PARAMETERS | {
        "alpha": Real(0, None),
        "min_categories": Either(Nothing, Integer(1), Array),
    }

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.table = table

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, d = len(problem.classes), problem.p
        check_counts(problem.X, type(self).__name__, problem.schema, problem.position)
        y, w, least = problem.y, problem.weights, self._least(d)
        counts, present = [], np.zeros((K, d))
        for j in range(d):
            present[:, j] = np.bincount(y, w * ~np.isnan(problem.X[:, j]), minlength=K)
            if j in problem.words:
                counts.append(count_words(BERNOULLI, problem.words[j], y, w, K))
                continue
            codes = _codes(problem.X[:, j], problem.schema.name(j))
            known = problem.n_levels[j] or max(int(codes.max(initial=0)) + 1, least[j])
            counts.append(count_levels(codes, y, w, K, known))
        total = np.bincount(y, w, minlength=K)
        return {"class_count_": total, "category_count_": counts, "present_": present}

    def _least(self, d: int) -> np.ndarray:
        given = 0 if self.min_categories is None else np.asarray(self.min_categories)
        if np.ndim(given) and np.shape(given) != (d,):
            raise ParameterError(
                f"'min_categories' should have shape ({d},) when an array-like is provided. Got "
                f"{np.shape(given)} instead."
            )
        if np.asarray(given).dtype.kind not in "iu":
            raise ParameterError("'min_categories' should have integral type.")
        return np.broadcast_to(given, (d,)).astype(np.int64)

    def _carried(self, schema: Schema) -> dict[str, Any]:
        counts = [
            relevelled(own, self.schema_.levels[j], schema.levels[j]) if schema.levels[j] else own
            for j, own in enumerate(self.category_count_)
        ]
        sums = {"class_count_": self.class_count_, "present_": self.present_}
        return sums | {"category_count_": counts}

    def _merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        both = []
        for a, b in zip(old["category_count_"], new["category_count_"]):
            levels = max(a.shape[1], b.shape[1])
            both.append(sum(np.pad(c, ((0, 0), (0, levels - c.shape[1]))) for c in (a, b)))
        sums = {name: old[name] + new[name] for name in ("class_count_", "present_")}
        return sums | {"category_count_": both}

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._given_prior(len(sums["class_count_"]), sums["class_count_"])
        alpha = float(self.alpha) if self.force_alpha else max(float(self.alpha), SMALLEST_ALPHA)
        counts = sums["category_count_"]
        with np.errstate(divide="ignore"):
            logs = [
                log_chances(BERNOULLI, c, sums["present_"][:, j], alpha)
                if problem.schema.kinds[j] == TEXT
                else np.log(level_chances(c, alpha))
                for j, c in enumerate(counts)
            ]
            return sums | {
                "class_log_prior_": np.log(prior),
                "feature_log_prob_": logs,
                "n_categories_": np.array([c.shape[1] for c in counts], dtype=np.int64),
            }

    def _encode_table(self, rows: RawTable, quiet: bool = False, finite: bool = False) -> Any:
        codes = super()._encode_table(rows, quiet, finite)
        return beside_words(codes, self.schema_, rows, type(self).__name__)

    def _column(self, X: Any, j: int) -> np.ndarray:
        """(n, K) share of column j; missing and unseen cells say nothing."""
        if self.schema_.kinds[j] == TEXT:
            return text_likelihood(BERNOULLI, X, j, self.feature_log_prob_[j])
        codes = _codes(codes_of(X)[:, j], self.schema_.name(j), most=np.inf)
        logs = np.maximum(self.feature_log_prob_[j], LOWEST)
        table = np.vstack([logs.T, np.zeros(len(logs))])
        return table[np.where((codes < 0) | (codes >= len(table) - 1), len(table) - 1, codes)]

    def _log_likelihood(self, X: Any) -> np.ndarray:
        check_counts(codes_of(X), type(self).__name__, self.schema_)
        return sum((self._column(X, j) for j in range(self.n_features_in_)), np.zeros(1))

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        check_counts(codes_of(X), type(self).__name__, self.schema_)
        return np.stack([self._column(X, j) for j in range(self.n_features_in_)], axis=1)

    def _check_state(self) -> None:
        K, d = len(self.classes_), self.schema_.n_columns
        expect_array(self, "class_count_", K)
        expect_array(self, "class_log_prior_", K)
        expect_array(self, "present_", K, d)
        expect_array(self, "n_categories_", d, dtype=np.int64)
        for name in ("category_count_", "feature_log_prob_"):
            tables = vars(self).get(name)
            right = isinstance(tables, list) and len(tables) == d
            if not right or not all(
                isinstance(t, np.ndarray) and t.dtype == np.float64 and t.shape == (K, levels)
                for t, levels in zip(tables or (), self.n_categories_)
            ):
                raise ModelFileError(f"its CategoricalNB has no {name} of the right shape")


def _codes(column: np.ndarray, name: str, most: float = MOST) -> np.ndarray:
    """Whole numbers; -1 where the cell is missing."""
    top = np.fmax.reduce(column, initial=0.0)
    if top >= most:
        raise DataError(
            f"Column {name!r} holds {top:g}: CategoricalNB takes the categories 0, 1, 2, ... of a "
            f"number. Make it a category with Table(kinds={{{name!r}: 'categorical'}})."
        )
    return np.where(np.isnan(column), -1.0, np.minimum(column, 2.0**40)).astype(np.int64)
