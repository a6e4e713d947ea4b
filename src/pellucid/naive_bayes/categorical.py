"""Naive Bayes for categories."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.schema import TEXT, Schema
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA, NaiveBayes
from pellucid.naive_bayes.class_counts import (
    SMALLEST_ALPHA,
    count_levels,
    level_likelihood,
    level_probabilities,
    match_levels,
)
from pellucid.naive_bayes.counts import ALPHA, CLASS_LOG_PRIOR, FIT_PRIOR, FORCE_ALPHA
from pellucid.naive_bayes.support import check_counts
from pellucid.naive_bayes.text_columns import (
    BERNOULLI,
    codes_of,
    count_words,
    log_probabilities,
    text_likelihood,
)
from pellucid.parameters import Array, Integer, Real, learned, param, shared
from pellucid.persist.fitted_state import expect_array

MOST = 2**22  # largest number of categories of a column


class CategoricalNB(NaiveBayes):
    """Categorical naive Bayes: the class c that maximises

        log p(c) + sum_j log p(x_j | c),    p(v | c) = (N_cjv + alpha) / (N_cj + alpha L_j)

    N_cjv counts the rows of class c with level v in column j, which has L_j levels. In columns of
    strings each value is a level; in columns of numbers the levels are 0, 1, 2, ...; each word of a text
    column is a category with two levels, present and absent. Missing cells and levels that training did
    not contain are left out.

    Examples
    --------
    >>> from pellucid.naive_bayes import CategoricalNB
    >>> X, y = [["red"], ["red"], ["blue"], ["green"]], [1, 1, 0, 0]
    >>> CategoricalNB().fit(X, y).predict([["red"], ["blue"]]).tolist()
    [1, 0]
    """

    alpha: float = ALPHA.replace(check=Real(0, None), description="Pseudo-count of every level.")
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = shared.PRIORS
    min_categories: Any = param(
        None,
        None | Integer(1) | Array,
        "Smallest number of categories of a column of numbers: one for all columns, or one for each.",
    )
    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    category_count_: list[np.ndarray] = learned(
        "Weight of the rows with each level, one array (n_classes, n_levels) per column. For a text "
        "column (n_classes, n_words), the weight of the texts that contain the word."
    )
    feature_log_prob_: list[np.ndarray] = learned(
        "Logarithms of the probabilities of the levels or words, with the shapes of `category_count_`."
    )
    n_categories_: np.ndarray = learned("Number of levels, or of words, of each column.")
    present_: np.ndarray = learned("Weight of the cells that are not missing, by class and column.")
    class_log_prior_: np.ndarray = learned(CLASS_LOG_PRIOR)

    _layout = "codes"
    _takes_sparse = False
    _takes_text = True
    _positive_only = True

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, d = len(problem.classes), problem.p
        check_counts(problem.X, type(self).__name__, problem.schema, problem.position)
        y, w, least = problem.y, problem.weights, self._min_levels(d)
        counts, present = [], np.zeros((K, d))
        for j in range(d):
            present[:, j] = parallel.count_rows(y, w * ~np.isnan(problem.X[:, j]), K)
            if j in problem.words:
                counts.append(count_words(BERNOULLI, problem.words[j], y, w, K))
                continue
            codes = _codes(problem.X[:, j], problem.schema.name(j))
            known = problem.n_levels[j] or max(
                int(parallel.largest(codes.max(initial=0))) + 1, least[j]
            )
            counts.append(count_levels(codes, y, w, K, known))
        total = parallel.count_rows(y, w, K)
        return {"class_count_": total, "category_count_": counts, "present_": present}

    def _min_levels(self, d: int) -> np.ndarray:
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
            match_levels(own, self.schema_.levels[j], schema.levels[j]) if schema.levels[j] else own
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
        prior = self._class_prior(sums["class_count_"])
        alpha = float(self.alpha) if self.force_alpha else max(float(self.alpha), SMALLEST_ALPHA)
        counts = sums["category_count_"]
        with np.errstate(divide="ignore"):
            logs = [
                log_probabilities(BERNOULLI, c, sums["present_"][:, j], alpha)
                if problem.schema.kinds[j] == TEXT
                else np.log(level_probabilities(c, alpha))
                for j, c in enumerate(counts)
            ]
            return sums | {
                "class_log_prior_": np.log(prior),
                "feature_log_prob_": logs,
                "n_categories_": np.array([c.shape[1] for c in counts], dtype=np.int64),
            }

    def _column(self, X: Any, j: int) -> np.ndarray:
        """What column j adds to the log-likelihood, (n, K); 0 for missing cells and unseen levels."""
        if self.schema_.kinds[j] == TEXT:
            return text_likelihood(BERNOULLI, X, j, self.feature_log_prob_[j])
        codes = _codes(codes_of(X)[:, j], self.schema_.name(j), most=np.inf)
        return level_likelihood(self.feature_log_prob_[j], codes)

    def _log_likelihood(self, X: Any) -> np.ndarray:
        check_counts(codes_of(X), type(self).__name__, self.schema_)
        return sum((self._column(X, j) for j in range(self.n_features_in_)), np.zeros(1))

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        check_counts(codes_of(X), type(self).__name__, self.schema_)
        return np.stack([self._column(X, j) for j in range(self.n_features_in_)], axis=1)

    @property
    def _prior(self) -> np.ndarray:
        return np.exp(self.class_log_prior_)

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
                raise ModelFileError(
                    f"the {name} of its CategoricalNB is missing or has a wrong shape"
                )


def _codes(column: np.ndarray, name: str, most: float = MOST) -> np.ndarray:
    """The column as integers; -1 where the cell is missing."""
    top = np.fmax.reduce(column, initial=0.0)
    if top >= most:
        raise DataError(
            f"Column {name!r} contains {top:g}, but CategoricalNB expects the category codes 0, 1, 2, "
            f"... in a column of numbers. Use Table(kinds={{{name!r}: 'categorical'}})."
        )
    return np.where(np.isnan(column), -1.0, np.minimum(column, 2.0**40)).astype(np.int64)
