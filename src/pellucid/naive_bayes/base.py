"""What all naive Bayes models share: Bayes' rule over columns, explanations, `partial_fit`.

A model answers one question: how likely is each column of a row in each class? The posterior,
`predict`, `explain` and the joint probabilities follow.

Invariant: what is learned are sums over rows, so a model fitted batch by batch equals one fitted
at once.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import InputSpec, Problem
from pellucid.data.batches import empty
from pellucid.data.intake import RawTable
from pellucid.data.schema import CATEGORICAL, Schema
from pellucid.errors import ParameterError
from pellucid.numerics import bayes
from pellucid.persist.fitted_state import expect_array

LOWEST = -1e8  # the logarithm of no chance at all
SMALLEST_ALPHA = 1e-10  # without `force_alpha`
MOST = 1e200  # counts beyond it count as this: their products with logarithms stay floats
SMALLEST = 1e-300  # a chance of 0 counts as this in explanations


class NaiveBayes(Classifier):
    """Base of the naive Bayes classifiers; a subclass knows the likelihood of its columns."""

    # The parameter that may hold the chances of the classes.
    _prior_name = "class_prior"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the distribution of every column in every class."""
        return self._learn(X, y, weights=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch; all batches together equal one `fit`."""
        return self._learn_more(X, y, weights=sample_weight, classes=classes)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._finish(self._statistics(problem), problem)

    def _input_spec(self) -> InputSpec:
        """Batches may bring missing cells, levels and words that earlier ones did not have."""
        known = self.__sklearn_is_fitted__()
        return replace(super()._input_spec(), seen=float(self.class_count_.sum()) if known else 0.0)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        new = self._statistics(problem)
        if not first:
            new = self._merge(self._carried(problem.schema), new)
        return self._finish(new, problem)

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        """Sums over the rows, by the names under which they are stored."""
        raise NotImplementedError

    def _carried(self, schema: Schema) -> dict[str, Any]:
        """The sums of the earlier batches, as if they had been learned under this schema."""
        raise NotImplementedError

    def _merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """The sums of all batches so far."""
        return {name: old[name] + value for name, value in new.items()}

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        """Learned attributes from the sums, which stay among them."""
        raise NotImplementedError

    def _log_likelihood(self, X: Any) -> np.ndarray:
        """log p(x | c) of encoded rows, up to a constant of the row: (n, K)."""
        raise NotImplementedError

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        """The shares of the encoded, or of the user's, columns in `_log_likelihood`: (n, p, K)."""
        raise NotImplementedError

    @property
    def _prior(self) -> np.ndarray:
        return np.exp(self.class_log_prior_)

    def _proba(self, X: Any) -> np.ndarray:
        return bayes.posterior(self._log_likelihood(X), self._prior)

    def _codes(self, X: Any) -> np.ndarray:
        return bayes.leading_class(self._log_likelihood(X), self._prior)

    def _log_proba(self, X: Any) -> np.ndarray:
        """Exact where the probabilities are too small for a float."""
        return bayes.log_posterior(self._log_likelihood(X), self._prior)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x, c) of every row and class."""
        return bayes.log_joint(self._log_likelihood(self._encoded(X)), self._prior)

    def _given_prior(self, n_classes: int, counts: np.ndarray) -> np.ndarray:
        """Chances of the classes: given, or their shares of the weight."""
        given = getattr(self, self._prior_name)
        if given is None:
            uniform = not getattr(self, "fit_prior", True)
            return np.full(n_classes, 1 / n_classes) if uniform else counts / counts.sum()
        prior = np.asarray(given, dtype=float)
        if prior.shape != (n_classes,):
            raise ParameterError(
                f"Number of priors must match number of classes: {self._prior_name} of "
                f"{type(self).__name__} has shape {prior.shape}, there are {n_classes} classes."
            )
        if not (prior >= 0).all():
            raise ParameterError(f"Priors must be non-negative. Got {prior.tolist()}.")
        if not np.isclose(prior.sum(), 1.0):
            raise ParameterError(
                f"The sum of the priors should be 1. Got {prior.tolist()}, which sum to "
                f"{prior.sum():g}: divide them by their sum."
            )
        return prior

    def _check_state(self) -> None:
        expect_array(self, "class_count_", len(self.classes_))

    def _explain(self, X: Any) -> dict[str, Any]:
        parts = self._column_likelihoods(X)
        prior = np.log(np.maximum(self._prior, SMALLEST))
        total = self._log_likelihood(X) + prior
        return {
            "base": against_others(prior),
            "contributions": against_others(parts),
            "prediction": against_others(total),
            "scale": "log-odds",
            "method": "log-likelihood ratio of each column",
        }


def against_others(logs: np.ndarray) -> np.ndarray:
    """Logarithms of classes (..., K) against their mean; of two classes the second against the first."""
    if logs.shape[-1] == 2:
        return logs[..., 1:] - logs[..., :1]
    return logs - logs.mean(axis=-1, keepdims=True)


class MatrixNaiveBayes(NaiveBayes):
    """Naive Bayes on the encoded matrix: a missing cell is skipped, whatever its column holds.

    A cell is missing where the flag of its column (the term "x missing") is not 0 or a term of its
    column is NaN: columns that were never empty in training have no flag.
    """

    def _encode_table(self, rows: RawTable, quiet: bool = False, finite: bool = False) -> Any:
        X = super()._encode_table(rows, quiet, finite)
        if rows.sparse is not None:
            return X
        if finite and self.schema_.plain:
            return X  # as it is, gaps and all
        if rows.dense is not None and self.schema_.plain and np.may_share_memory(X, rows.dense):
            return X  # nothing was filled in
        return with_gaps(X, self.schema_, self.schema_.align(rows, type(self).__name__))

    # The names of the learned sums, (K, p) each, beside `present_`.
    _sums: tuple[str, ...] = ()

    def _carried(self, schema: Schema) -> dict[str, Any]:
        """New terms were 0 in all earlier rows, and missing where their column was."""
        sums = {name: getattr(self, name) for name in ("class_count_", "present_", *self._sums)}
        if self.schema_.plain and schema.plain:
            return sums
        before = {block: k for k, block in enumerate(self.schema_.blocks())}
        source = np.array([before.get(block, -1) for block in schema.blocks()])
        for name in self._sums:
            sums[name] = np.where(source < 0, 0.0, sums[name][:, source])
        sums["present_"] = sums["present_"][:, first_terms(self.schema_)][:, schema.owner]
        return sums


FLAGS = ("indicator", "missing")  # roles of the terms that say that a cell is missing


def first_terms(schema: Schema) -> np.ndarray:
    """Position of the first term of each of the user's columns."""
    return np.searchsorted(schema.owner, np.arange(schema.n_columns))


def silent_terms(schema: Schema) -> np.ndarray:
    """Which terms say nothing of any class: flags, and columns that training never saw filled."""
    if schema.plain:
        return np.zeros(schema.n_columns, dtype=bool)
    never = [empty(schema, j) for j in range(schema.n_columns)]
    return np.array([role in FLAGS or never[j] for j, role, _ in schema.blocks()])


def with_gaps(X: Any, schema: Schema, rows: RawTable) -> Any:
    """X with a NaN for each cell that is missing, or a level unseen, where no flag can say so."""
    flagged = schema.n_missing > 0
    holes = {
        j: np.flatnonzero(cells) for j, cells in enumerate(rows.missing_cells()) if not flagged[j]
    }
    if CATEGORICAL in schema.kinds:
        holes |= schema.unknown_cells(rows)
    place = first_terms(schema)
    if isinstance(X, np.ndarray):
        for j, cells in holes.items():
            X[cells, place[j]] = np.nan
        return X
    row = np.concatenate([np.zeros(0, dtype=np.int64), *holes.values()])
    column = np.repeat([place[j] for j in holes], [len(cells) for cells in holes.values()])
    return X + type(X)((np.full(len(row), np.nan), (row, column)), shape=X.shape)


def gaps(X: Any, schema: Schema) -> np.ndarray | None:
    """Which of the user's columns are missing in each encoded row: (n, d), None if none is.

    A column that was always missing in training stays so.
    """
    flag = np.zeros(X.shape[1], dtype=bool)
    never = np.zeros(schema.n_columns, dtype=bool)
    if not schema.plain:
        flag[:] = [role in FLAGS for _, role, _ in schema.blocks()]
        never[:] = [empty(schema, j) for j in range(schema.n_columns)]
    if isinstance(X, np.ndarray):
        hit = np.isnan(X)
        hit[:, flag] |= X[:, flag] != 0
        out = hit if schema.plain else np.logical_or.reduceat(hit, first_terms(schema), axis=1)
    else:
        hit = np.isnan(X.data) | (flag[X.indices] & (X.data != 0))
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[hit]
        out = np.zeros((X.shape[0], schema.n_columns), dtype=bool)
        out[row, schema.owner[X.indices[hit]]] = True
    out[:, never] = True
    return out if out.any() else None


def cleared(X: Any, missing: np.ndarray, schema: Schema, cell: float = 0.0) -> Any:
    """A copy of X with `cell` in all terms of missing cells; sparse stays so."""
    if isinstance(X, np.ndarray):
        return np.where(missing if schema.plain else missing[:, schema.owner], cell, X)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    data = np.where(missing[row, schema.owner[X.indices]], cell, X.data)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def relevelled(counts: np.ndarray, old: tuple[Any, ...], new: tuple[Any, ...]) -> np.ndarray:
    """Counts (K, levels) in the order of the new levels; 0 for those that are new."""
    if old == new:
        return counts
    before = {level: k for k, level in enumerate(old)}
    source = np.array([before.get(level, -1) for level in new], dtype=np.int64)
    out = np.zeros((len(counts), len(new)))
    out[:, source >= 0] = counts[:, source[source >= 0]]
    return out


def level_chances(counts: np.ndarray, alpha: float) -> np.ndarray:
    """(N + alpha) / (sum N + alpha L) of each class; equal chances where nothing is known."""
    total = counts.sum(axis=1, keepdims=True) + alpha * counts.shape[1]
    equal = np.full_like(counts, 1 / counts.shape[1])
    return np.divide(counts + alpha, total, out=equal, where=total > 0)
