"""Naive Bayes for counts and binary columns: the log-likelihood is a weighted sum of the cells.

    log p(x | c) = sum_j [ x_j coef_cj + constant_cj ]

A subclass computes coef and constant from the sums of its columns; a missing cell adds neither.

Invariant: sparse tables never become dense.
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.schema import Schema
from pellucid.errors import DataError, ParameterError
from pellucid.naive_bayes.base import NaiveBayes
from pellucid.naive_bayes.class_counts import MOST, SMALLEST_ALPHA, check_size, class_sums
from pellucid.naive_bayes.missing import (
    INDICATORS,
    filled,
    first_terms,
    missing_cells,
    silent_terms,
)
from pellucid.naive_bayes.support import check_counts
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import Boolean, Predicate, Real, learned, param, shared
from pellucid.persist.fitted_state import expect_array, n_terms

ALPHA = param(
    1.0,
    Real(0, None) | Predicate(lambda v: isinstance(v, np.ndarray | list | tuple), "an array"),
    "Pseudo-count that smooths the estimates: one for all encoded columns, or one for each.",
)
FORCE_ALPHA = param(
    True, Boolean, "Whether to use `alpha` as it is. False raises values below 1e-10 to 1e-10."
)
FIT_PRIOR = param(
    True,
    Boolean,
    "Whether to estimate the prior probabilities from the training rows. False makes them equal.",
)
CLASS_LOG_PRIOR = "Logarithms of the prior probabilities of the classes."


class CountNaiveBayes(NaiveBayes):
    """Base of Bernoulli, multinomial, complement and Poisson naive Bayes."""

    alpha: Any = ALPHA
    force_alpha: bool = FORCE_ALPHA
    fit_prior: bool = FIT_PRIOR
    class_prior: Any = shared.PRIORS

    class_log_prior_: np.ndarray = learned(CLASS_LOG_PRIOR)
    feature_count_: np.ndarray = learned("Sums of the cells, shape (n_classes, n_terms).")
    feature_log_prob_: np.ndarray = learned(
        "Logarithms of the probabilities of the columns in each class, shape (n_classes, n_terms)."
    )

    _takes_text = True
    _poor_score = True  # linear in the cells: worse than other models on ordinary numbers
    _takes_negative: ClassVar[bool] = False

    def _cells(self, X: Any) -> Any:
        """The cells as this model counts them (BernoulliNB: 0 or 1)."""
        return X

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """coef and constant, (K, p) each."""
        raise NotImplementedError

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, X, schema = len(problem.classes), problem.X, problem.schema
        own_range = schema.plain and not self.__sklearn_is_fitted__()  # that of this table alone
        if not self._takes_negative and not (own_range and schema.low.min(initial=0.0) >= 0):
            check_counts(X, type(self).__name__, schema, problem.position)
        count = parallel.count_rows(problem.y, problem.weights, K)
        present = np.repeat(count[:, None], schema.n_columns, axis=1)
        missing = None if schema.plain else missing_cells(X, schema)
        if missing is not None:
            X = filled(X, missing, schema)
            present -= class_sums(missing.astype(float), problem.y, problem.weights, K)
        with np.errstate(over="ignore"):
            sums = class_sums(X, problem.y, problem.weights, K, self._cells)
        check_size(sums, schema)
        present = np.maximum(present, 0.0)[:, schema.owner]
        return {"class_count_": count, "feature_count_": sums, "present_": present}

    def _carried(self, schema: Schema) -> dict[str, Any]:
        return self._earlier_sums(("feature_count_",), schema)

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._class_prior(sums["class_count_"])
        with np.errstate(divide="ignore"):
            sums = sums | {"class_log_prior_": np.log(prior)}
            return sums | self._probabilities(sums, self._smoothing(problem.schema))

    def _probabilities(self, sums: dict[str, Any], alpha: np.ndarray) -> dict[str, Any]:
        """`feature_log_prob_`, and what else the model learns from the sums."""
        raise NotImplementedError

    def _smoothing(self, schema: Schema) -> np.ndarray:
        """Pseudo-counts of the terms; 0 for terms without influence, or if `force_alpha` allows it."""
        marks = np.zeros(len(schema.owner), dtype=bool)
        if not schema.plain:
            marks[:] = [role in INDICATORS for _, role, _ in schema.blocks()]
        alpha, p = np.asarray(self.alpha, dtype=float), int((~marks).sum())
        if alpha.ndim and alpha.shape != (p,):
            raise ParameterError(
                f"When alpha is an array, it should contain `n_features` = {p} numbers. Got "
                f"shape {alpha.shape}."
            )
        out = np.zeros(len(marks))
        out[~marks] = np.maximum(alpha, 0.0 if self.force_alpha else SMALLEST_ALPHA)
        return np.where(silent_terms(schema), 0.0, out)

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        """coef and constant (K, p), 0 for terms without influence."""
        coef, constant = self._weights()
        if self.schema_.plain:
            return coef, constant
        silent = silent_terms(self.schema_)
        return np.where(silent, 0.0, coef), np.where(silent, 0.0, constant)

    def _propagates_nan(self) -> bool:
        """`_counted` keeps every cell that is not finite."""
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
            counted = (lambda block: self._counted(block, X)) if dense else self._cells
            total = linear_scores(X, coef, offset, counted)
        fine = np.isfinite(total)
        if not fine.all():
            odd = np.flatnonzero(~fine.all(axis=1))
            if dense and np.isinf(X[odd]).any():
                raise DataError("Input X contains infinity.")  # `_answer` finds the cell
            total[odd] = self._skipping(X[odd], coef, constant)
        return total

    def _skipping(self, X: Any, coef: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The log-likelihood of rows with missing cells, which are left out."""
        self._check(X)
        missing = missing_cells(X, self.schema_)
        if missing is None:
            return linear_scores(_capped(self._cells(X)), coef, constant.sum(axis=1))
        cells = _capped(self._cells(filled(X, missing, self.schema_)))
        by_column = np.add.reduceat(constant, first_terms(self.schema_), axis=1)
        return linear_scores(cells, coef, np.zeros(len(coef))) + ~missing @ by_column.T

    def _check(self, X: Any) -> None:
        if not self._takes_negative:
            check_counts(X, type(self).__name__, self.schema_)

    def _counted(self, block: np.ndarray, X: np.ndarray) -> np.ndarray:
        """The counted cells of some rows of X; NaN and inf stay, negative numbers raise an error."""
        if not self._takes_negative and not block.min(initial=0.0) >= 0:
            self._check(X)
        cells = self._cells(block)
        if cells is block or np.isfinite(block.sum()):
            return cells
        return np.where(np.isfinite(block), cells, block)

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        """By the user's columns; the words of a text are added up while they are sparse."""
        self._check(X)
        coef, constant = self._linear()
        missing = missing_cells(X, self.schema_)
        cells = self._cells(X if missing is None else filled(X, missing, self.schema_))
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

    @property
    def _prior(self) -> np.ndarray:
        return np.exp(self.class_log_prior_)

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "class_count_", K)
        expect_array(self, "class_log_prior_", K)
        for name in ("feature_count_", "present_", "feature_log_prob_"):
            expect_array(self, name, K, p)


def _capped(X: Any) -> Any:
    """X with no cell above `MOST`."""
    cells = X if isinstance(X, np.ndarray) else X.data
    if cells.max(initial=0.0) <= MOST:
        return X
    most = np.minimum(cells, MOST)
    return most if cells is X else type(X)((most, X.indices, X.indptr), shape=X.shape)
