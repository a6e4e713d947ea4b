"""Naive Bayes for counts and flags: the log-likelihood is a weighted sum of the cells.

    log p(x | c) = sum_j [ x_j coef_cj + constant_cj ]

A subclass gives coef and constant from the sums of its columns; a missing cell contributes neither.

Invariant: sparse tables are never made dense.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.schema import Schema
from pellucid.errors import DataError, ParameterError
from pellucid.naive_bayes.base import (
    FLAGS,
    MOST,
    SMALLEST_ALPHA,
    MatrixNaiveBayes,
    cleared,
    first_terms,
    gaps,
    silent_terms,
)
from pellucid.naive_bayes.support import check_counts
from pellucid.numerics.class_moments import loops
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.row_blocks import Rows
from pellucid.parameters import Array, Boolean, Either, Nothing, Real, Test
from pellucid.persist.fitted_state import expect_array, n_terms

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
        K, X, schema = len(problem.classes), problem.X, problem.schema
        known = (
            schema.plain and not self.__sklearn_is_fitted__()
        )  # the ranges are of this very table
        if not self._takes_negative and not (known and schema.low.min(initial=0.0) >= 0):
            check_counts(X, type(self).__name__, schema, problem.position)
        count = np.bincount(problem.y, problem.weights, minlength=K)
        present = np.repeat(count[:, None], schema.n_columns, axis=1)
        missing = None if schema.plain else gaps(X, schema)
        if missing is not None:
            X = cleared(X, missing, schema)
            present -= class_sums(missing.astype(float), problem.y, problem.weights, K)
        with np.errstate(over="ignore"):
            sums = class_sums(X, problem.y, problem.weights, K, self._cells)
        check_size(sums, schema)
        present = np.maximum(present, 0.0)[:, schema.owner]
        return {"class_count_": count, "feature_count_": sums, "present_": present}

    _sums = ("feature_count_",)

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._given_prior(len(sums["class_count_"]), sums["class_count_"])
        with np.errstate(divide="ignore"):
            sums = sums | {"class_log_prior_": np.log(prior)}
            return sums | self._probabilities(sums, self._smoothing(problem.schema))

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        """`feature_log_prob_` and its like."""
        raise NotImplementedError

    def _smoothing(self, schema: Schema) -> np.ndarray:
        """Pseudo-counts of the terms; 0 only if `force_alpha` allows it, and for silent ones."""
        flag = np.zeros(len(schema.owner), dtype=bool)
        if not schema.plain:
            flag[:] = [role in FLAGS for _, role, _ in schema.blocks()]
        alpha, p = np.asarray(self.alpha, dtype=float), int((~flag).sum())
        if alpha.ndim and alpha.shape != (p,):
            raise ParameterError(
                f"When alpha is an array, it should contain `n_features` = {p} numbers. Got "
                f"shape {alpha.shape}."
            )
        out = np.zeros(len(flag))
        out[~flag] = np.maximum(alpha, 0.0 if self.force_alpha else SMALLEST_ALPHA)
        return np.where(silent_terms(schema), 0.0, out)

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """coef and constant (K, p), 0 for terms that say nothing."""
        coef, constant = self._weights()
        if self.schema_.plain:
            return coef, constant
        silent = silent_terms(self.schema_)
        return np.where(silent, 0.0, coef), np.where(silent, 0.0, constant)

    def _reveals(self) -> bool:
        """`_counted` looks at every cell."""
        return True

    def _log_likelihood(self, X: Any) -> np.ndarray:
        coef, constant = self._linear()
        if not self.schema_.plain:
            return self._skipping(X, coef, constant)
        offset = constant.sum(axis=1)
        dense = isinstance(X, np.ndarray)
        if not dense:
            self._check(X)
        with np.errstate(over="ignore", invalid="ignore"):
            total = (
                _scores(X, coef, offset, lambda block: self._counted(block, X))
                if dense
                else _scores(self._cells(X), coef, offset)
            )
        fine = np.isfinite(total)
        if not fine.all():
            odd = np.flatnonzero(~fine.all(axis=1))
            if dense and np.isinf(X[odd]).any():
                raise DataError("Input X contains infinity.")  # `_answer` finds the cell
            total[odd] = self._skipping(X[odd], coef, constant)
        return total

    def _skipping(self, X: Any, coef: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The log-likelihood of rows with missing cells, which have no part in it."""
        self._check(X)
        missing = gaps(X, self.schema_)
        if missing is None:
            return _scores(_capped(self._cells(X)), coef, constant.sum(axis=1))
        cells = _capped(self._cells(cleared(X, missing, self.schema_)))
        by_column = np.add.reduceat(constant, first_terms(self.schema_), axis=1)
        return _scores(cells, coef, np.zeros(len(coef))) + ~missing @ by_column.T

    def _check(self, X: Any) -> None:
        if not self._takes_negative:
            check_counts(X, type(self).__name__, self.schema_)

    def _counted(self, block: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The cells of some rows of X, not finite where they are not; negative ones are refused."""
        if not self._takes_negative and not block.min(initial=0.0) >= 0:
            self._check(X)
        cells = self._cells(block)
        if cells is block or np.isfinite(block.sum()):
            return cells
        return np.where(np.isfinite(block), cells, block)

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        """Of the user's columns; words are added up while they are sparse."""
        self._check(X)
        coef, constant = self._linear()
        missing = gaps(X, self.schema_)
        cells = self._cells(X if missing is None else cleared(X, missing, self.schema_))
        if self.schema_.plain:
            cells = cells if isinstance(cells, np.ndarray) else cells.toarray()
            parts = cells[:, :, None] * coef.T + constant.T
        else:
            cells = cells if isinstance(cells, np.ndarray) else cells.tocsc()
            ends = [*first_terms(self.schema_), len(self.schema_.owner)]
            parts = np.empty((X.shape[0], self.schema_.n_columns, len(coef)))
            for j, (begin, end) in enumerate(pairwise(ends)):
                parts[:, j] = cells[:, begin:end] @ coef[:, begin:end].T
                parts[:, j] += constant[:, begin:end].sum(axis=1)
        if missing is not None:
            parts[missing] = 0.0
        return parts

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "class_count_", K)
        expect_array(self, "class_log_prior_", K)
        for name in ("feature_count_", "present_", "feature_log_prob_"):
            expect_array(self, name, K, p)


def check_size(sums: np.ndarray, schema: Any) -> None:
    """Refuse columns whose sum is no float any more."""
    with np.errstate(over="ignore"):
        total = sums.sum(axis=0)
    for j in np.flatnonzero(~(total <= np.finfo(float).max / 1024)):
        raise DataError(
            f"The counts in column {schema.terms[j]!r} are too large to be added up. Divide the "
            "column by a large number."
        )


def _capped(X: Any) -> Any:
    """No cell above MOST."""
    cells = X if isinstance(X, np.ndarray) else X.data
    if cells.max(initial=0.0) <= MOST:
        return X
    most = np.minimum(cells, MOST)
    return most if cells is X else type(X)((most, X.indices, X.indptr), shape=X.shape)


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
