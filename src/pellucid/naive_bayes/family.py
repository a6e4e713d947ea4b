"""What all naive Bayes models share: Bayes' rule over columns, explanations, `partial_fit`.

A model answers one question: how likely is each column of a row in each class? The posterior,
`predict`, `explain` and the joint probabilities follow.

Invariant: what is learned are sums over rows, so a model fitted batch by batch equals one fitted
at once.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid.base import ProbabilisticClassifier
from pellucid.data import Problem, Wishes
from pellucid.data.batches import empty
from pellucid.data.containers import Intake
from pellucid.data.schema import CATEGORICAL, Schema
from pellucid.errors import DataError, ParameterError
from pellucid.numerics import bayes
from pellucid.persist.state import expect_array

LOWEST = -1e8  # the logarithm of no chance at all
SMALLEST_ALPHA = 1e-10  # without `force_alpha`
SMALLEST = 1e-300  # a chance of 0 counts as this in explanations


class NaiveBayes(ProbabilisticClassifier):
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

    def _wishes(self) -> Wishes:
        """Batches may bring missing cells, levels and words that earlier ones did not have."""
        known = self.__sklearn_is_fitted__()
        return replace(super()._wishes(), seen=float(self.class_count_.sum()) if known else 0.0)

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
        """The share of each encoded column in `_log_likelihood`: (n, p, K)."""
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
    """Naive Bayes on the encoded matrix, where missing numbers stay missing (NaN): they are skipped.

    Their indicator columns are silent. Of a category that was never missing, or not at this level,
    in training, all level columns are NaN.
    """

    def _encode_intake(self, rows: Intake, quiet: bool = False, finite: bool = False) -> Any:
        X = super()._encode_intake(rows, quiet, finite)
        if rows.sparse is not None:
            return X
        if finite and self.schema_.plain:
            return X  # as it is, holes and all
        if rows.dense is not None and self.schema_.plain and np.may_share_memory(X, rows.dense):
            return X  # nothing was filled in
        aligned = self.schema_.align(rows, type(self).__name__)
        missing = [np.flatnonzero(cells) for cells in aligned.missing_cells()]
        blocks = list(enumerate(self.schema_.blocks()))
        holes = {k: missing[j] for k, (j, role, _) in blocks if role == "value"}
        if CATEGORICAL in self.schema_.kinds:
            unknown = self.schema_.unknown_cells(aligned)
            holes |= {k: unknown[j] for k, (j, role, _) in blocks if role in ("level", "missing")}
        return with_holes(X, holes, [k for k, (_, role, _) in blocks if role == "indicator"])

    @staticmethod
    def _training_holes(problem: Problem) -> tuple[Any, bool]:
        """The matrix with NaN where a number was missing, and whether there are such columns."""
        if problem.schema.plain:
            return problem.X, False
        blocks = problem.schema.blocks()
        indicators = [k for k, (_, role, _) in enumerate(blocks) if role == "indicator"]
        if not indicators:
            return problem.X, False
        rows = {k - 1: problem.X[:, [k]].nonzero()[0] for k in indicators}
        return with_holes(problem.X, rows, indicators), True

    # The names of the learned sums, (K, p) each, beside `present_`.
    _sums: tuple[str, ...] = ()

    def _carried(self, schema: Schema) -> dict[str, Any]:
        """New columns were 0 in all earlier rows; a column never filled was missing in all."""
        names = ("class_count_", "present_", *self._sums)
        sums = {name: getattr(self, name) for name in names}
        if self.schema_.plain and schema.plain:
            return sums
        before = {block: k for k, block in enumerate(self.schema_.blocks())}
        blocks = schema.blocks()
        source = np.array([before.get(block, -1) for block in blocks])
        late = [empty(self.schema_, j) and not empty(schema, j) for j, _, _ in blocks]
        holes = np.array([role == "value" for _, role, _ in blocks]) & late
        ones = np.array([role == "missing" for _, role, _ in blocks]) & late
        for name in self._sums:
            sums[name] = np.where((source < 0) | holes, 0.0, sums[name][:, source])
        rows = sums["class_count_"][:, None]
        present = np.where(source < 0, rows, sums["present_"][:, source])
        return self._always_missing(sums | {"present_": np.where(holes, 0.0, present)}, ones)

    def _always_missing(self, sums: dict[str, Any], ones: np.ndarray) -> dict[str, Any]:
        """The sums where these columns were 1 in all earlier rows."""
        raise NotImplementedError


def with_holes(X: Any, holes: dict[int, np.ndarray], silent: list[int]) -> Any:
    """A copy with NaN in the given rows of some columns and 0 in the silent ones; sparse stays so."""
    if isinstance(X, np.ndarray):
        out = X.copy()
        for k, rows in holes.items():
            out[rows, k] = np.nan
        out[:, silent] = 0.0
        return out
    entries = X.tocoo()
    row, column, data = entries.row.astype(np.int64), entries.col, entries.data
    gone = np.concatenate([np.zeros(0, dtype=np.int64), *holes.values()])
    where = np.repeat(np.array([*holes], dtype=np.int64), [len(rows) for rows in holes.values()])
    keep = ~np.isin(column, silent)
    keep &= ~np.isin(row * X.shape[1] + column, gone * X.shape[1] + where)
    rows, columns = np.concatenate([row[keep], gone]), np.concatenate([column[keep], where])
    cells = np.concatenate([data[keep], np.full(len(gone), np.nan)])
    out = type(X)((cells, (rows, columns)), shape=X.shape)
    out.sort_indices()
    return out


def relevelled(counts: np.ndarray, old: tuple[Any, ...], new: tuple[Any, ...]) -> np.ndarray:
    """Counts (K, levels) in the order of the new levels; 0 for those that are new."""
    if old == new:
        return counts
    before = {level: k for k, level in enumerate(old)}
    source = np.array([before.get(level, -1) for level in new], dtype=np.int64)
    out = np.zeros((len(counts), len(new)))
    out[:, source >= 0] = counts[:, source[source >= 0]]
    return out


def check_counts(X: Any, owner: str, schema: Any) -> None:
    """Refuse negative numbers, which no count and no code of a category can be."""
    values = X if isinstance(X, np.ndarray) else X.data
    if values.size and np.fmin.reduce(values, axis=None, initial=0.0) < 0:
        rows, columns = (X < 0).nonzero()
        i, j = int(rows[0]), int(columns[0])
        names = schema.columns if schema.layout == "codes" else schema.terms
        wanted = "counts things: give counts"
        if schema.layout == "codes":
            wanted = "takes categories: give their codes 0, 1, ..., or text"
        raise DataError(
            f"Negative values in data passed to {owner} (input X): row {i}, column {names[j]!r} "
            f"holds {X[i, j]:g}. {owner} {wanted}, or use GaussianNB or MixedNB."
        )
