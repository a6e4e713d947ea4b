"""Naive Bayes for counts and flags: the log-likelihood is a weighted sum of the cells.

    log p(x | c) = sum_j [ x_j coef_cj + constant_cj ]

A subclass gives coef and constant from the sums of its columns; a missing cell contributes neither.

Invariant: sparse tables are never made dense.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.schema import Schema
from pellucid.errors import DataError, ParameterError
from pellucid.naive_bayes.family import SMALLEST_ALPHA, MatrixNaiveBayes, check_counts
from pellucid.numerics.groups import loops
from pellucid.numerics.scores import linear_scores
from pellucid.numerics.tables import Rows
from pellucid.parameters import Array, Boolean, Either, Nothing, Real, Test
from pellucid.persist.state import expect_array, n_terms

Alpha = Either(Real(0, None), Test(lambda v: isinstance(v, np.ndarray | list | tuple), "an array"))
COUNT_PARAMETERS = {
    "alpha": Alpha,
    "force_alpha": Boolean,
    "fit_prior": Boolean,
    "class_prior": Either(Nothing, Array),
}


class CountNaiveBayes(MatrixNaiveBayes):
    """Base of Bernoulli, multinomial, complement and Poisson naive Bayes."""

    _takes_text = True
    _poor_score = True  # linear in the cells: worse than others on ordinary numbers
    _takes_negative = False

    alpha: Any
    force_alpha: bool

    def _cells(self, X: Any) -> Any:
        """The cells as this model counts them (BernoulliNB: 0 or 1)."""
        return X

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """coef and constant, (K, p) each."""
        raise NotImplementedError

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K = len(problem.classes)
        X, holes = self._training_holes(problem)
        ranges = problem.schema.low  # of this very table, unless it is a later batch
        known = problem.schema.plain and not self.__sklearn_is_fitted__()
        if not self._takes_negative and not (known and ranges.min(initial=0.0) >= 0):
            check_counts(X, type(self).__name__, problem.schema)
        count = np.bincount(problem.y, problem.weights, minlength=K)
        present = np.repeat(count[:, None], X.shape[1], axis=1)
        if holes:
            X, missing = self._parted(X)
            present -= class_sums(missing, problem.y, problem.weights, K)
        with np.errstate(over="ignore"):
            sums = class_sums(X, problem.y, problem.weights, K, None if holes else self._cells)
        check_size(sums, problem.schema)
        return {"class_count_": count, "feature_count_": sums, "present_": np.maximum(present, 0.0)}

    _sums = ("feature_count_",)

    def _always_missing(self, sums: dict[str, Any], ones: np.ndarray) -> dict[str, Any]:
        counts = sums["class_count_"][:, None] * self._cells(np.ones((1, 1)))
        return sums | {"feature_count_": np.where(ones, counts, sums["feature_count_"])}

    def _parted(self, X: Any) -> tuple[Any, Any]:
        """The cells, 0 where they are missing, and 1 where they are; sparse if X is."""
        if isinstance(X, np.ndarray):
            missing = np.isnan(X)
            return np.where(missing, 0.0, self._cells(X)), missing.astype(float)
        holes = np.isnan(X.data)
        cells, missing = self._cells(X).copy(), X.copy()
        cells.data, missing.data = np.where(holes, 0.0, cells.data), holes.astype(float)
        return cells, missing

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._given_prior(len(sums["class_count_"]), sums["class_count_"])
        with np.errstate(divide="ignore"):
            sums = sums | {"class_log_prior_": np.log(prior)}
            return sums | self._probabilities(sums, self._smoothing(problem.schema))

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        """`feature_log_prob_` and its like."""
        raise NotImplementedError

    def _smoothing(self, schema: Schema) -> np.ndarray:
        """Pseudo-counts of the columns; 0 only if `force_alpha` allows it.

        Silent columns, the flags of missing numbers, have none: they would weigh by class.
        """
        heard = np.ones(len(schema.owner), dtype=bool)
        if not schema.plain:
            heard = np.array([role != "indicator" for _, role, _ in schema.blocks()])
        alpha, p = np.asarray(self.alpha, dtype=float), int(heard.sum())
        if alpha.ndim and alpha.shape != (p,):
            raise ParameterError(
                f"When alpha is an array, it should contain `n_features` = {p} numbers. Got "
                f"shape {alpha.shape}."
            )
        out = np.zeros(len(heard))
        out[heard] = np.maximum(alpha, 0.0 if self.force_alpha else SMALLEST_ALPHA)
        return out

    def _log_likelihood(self, X: Any) -> np.ndarray:
        coef, constant = self._weights()
        offset = constant.sum(axis=1)
        dense = isinstance(X, np.ndarray)
        if self.schema_.plain or not np.isnan(X if dense else X.data).any():
            if dense:
                return _scores(X, coef, offset, lambda block: self._counted(block, X))
            self._check(X)
            return _scores(self._cells(X), coef, offset)
        self._check(X)
        cells, missing = self._parted(X)
        total = _scores(cells, coef, offset)
        with np.errstate(invalid="ignore"):
            return total - missing @ np.where(np.isfinite(constant), constant, 0.0).T

    def _check(self, X: Any) -> None:
        if not self._takes_negative:
            check_counts(X, type(self).__name__, self.schema_)

    def _counted(self, block: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The cells of some rows of X; negative ones are looked for while the rows are at hand."""
        if not self._takes_negative and block.min(initial=0.0) < 0:
            self._check(X)
        return self._cells(block)

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        coef, constant = self._weights()
        X = X if isinstance(X, np.ndarray) else X.toarray()
        missing = np.isnan(X)
        cells = np.where(missing, 0.0, self._cells(X))
        parts = cells[:, :, None] * coef.T + constant.T
        return np.where(missing[:, :, None], 0.0, parts)

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "class_count_", K)
        expect_array(self, "class_log_prior_", K)
        for name in ("feature_count_", "present_", "feature_log_prob_"):
            expect_array(self, name, K, p)


def check_size(sums: np.ndarray, schema: Any) -> None:
    """Refuse columns whose sum is no float any more."""
    for j in np.flatnonzero(~(sums.sum(axis=0) <= np.finfo(float).max / 1024)):
        raise DataError(
            f"The counts in column {schema.terms[j]!r} are too large to be added up. Divide the "
            "column by a large number."
        )


def _scores(X: Any, coef: np.ndarray, offset: np.ndarray, cells: Any = None) -> np.ndarray:
    if cells is None or not isinstance(X, np.ndarray):
        return linear_scores(X, coef, offset)
    rows = Rows(X)
    out = np.empty((rows.n, len(coef)))

    def fill(block: slice) -> None:
        np.matmul(cells(X[block]), coef.T, out=out[block])
        out[block] += offset

    parallel.map(fill, rows.blocks)
    return out


def class_sums(X: Any, y: np.ndarray, w: np.ndarray, K: int, cells: Any = None) -> np.ndarray:
    """Sum of w x over the rows of each class: (K, p), dense or sparse X."""
    if not isinstance(X, np.ndarray):
        X = X if cells is None else cells(X)
        total = np.zeros((K, X.shape[1]))
        indices, indptr = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
        loops.sum_sparse_by_class(X.data, indices, indptr, y, w, total)
        return total
    rows = Rows(X)

    def partial(block: slice) -> np.ndarray:
        part = X[block] if cells is None else cells(X[block])
        sums = np.zeros((K, X.shape[1]))
        loops.sum_by_class(np.ascontiguousarray(part), y[block], w[block], sums, np.zeros(K))
        return sums

    return parallel.reduce(partial, np.ndarray.__iadd__, rows.blocks)
