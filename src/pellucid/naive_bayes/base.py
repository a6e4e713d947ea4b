"""What all naive Bayes models share: Bayes' rule over columns, explanations, `partial_fit`.

A subclass knows how likely each column of a row is in each class. The posterior, `predict`, `explain`
and the joint probabilities follow.

Invariant: a model learns sums over rows, so a model fitted batch by batch equals one fitted at once.
"""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import InputSpec, Problem
from pellucid.data.intake import RawTable
from pellucid.data.schema import Schema
from pellucid.naive_bayes.missing import first_terms, mark_missing
from pellucid.naive_bayes.text_columns import beside_words
from pellucid.numerics import bayes
from pellucid.parameters import Real, learned, param

SMALLEST = 1e-300  # replaces a probability of 0 in explanations


CLASS_PRIOR_ALPHA = param(
    0.0,
    Real(0, None),
    "Pseudo-count of every class in the prior probabilities that are estimated: "
    "(rows of the class + alpha) / (rows + alpha * classes).",
)


class NaiveBayes(Classifier):
    """Base of the naive Bayes classifiers; a subclass knows the likelihood of its columns.

    A missing cell of a table is left out, whatever its column holds. In an encoded matrix a cell is
    missing where the indicator of its column (the term "x missing") is not 0 or a term of its column is
    NaN: columns without missing values in training have no indicator.
    """

    class_count_: np.ndarray = learned("Total weight of the training rows of each class.")
    present_: np.ndarray = learned(
        "Weight of the cells that are not missing, by class and encoded column."
    )

    _shares_rows = True
    _prior_name: ClassVar[str] = "class_prior"  # the parameter with the priors

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch; fitting all batches equals one `fit` on all rows."""
        return self._learn_more(X, y, weights=sample_weight, classes=classes)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._finish(self._statistics(problem), problem)

    def _input_spec(self) -> InputSpec:
        """A batch may contain missing cells, levels and words that earlier ones did not."""
        known = self.__sklearn_is_fitted__()
        return replace(super()._input_spec(), seen=float(self.class_count_.sum()) if known else 0.0)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        new = self._statistics(problem)
        if not first:
            new = self._merge(self._carried(problem.schema), new)
        return self._finish(new, problem)

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        """Sums over the rows, by the names of their attributes."""
        raise NotImplementedError

    def _carried(self, schema: Schema) -> dict[str, Any]:
        """The sums of the earlier batches, as if learned with this schema."""
        raise NotImplementedError

    def _merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        """The sums of all batches so far."""
        return {name: old[name] + value for name, value in new.items()}

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        """Learned attributes from the sums, which are kept."""
        raise NotImplementedError

    def _log_likelihood(self, X: Any) -> np.ndarray:
        """log p(x | c) of encoded rows, up to a constant for each row: (n, K)."""
        raise NotImplementedError

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        """What each column adds to `_log_likelihood`, encoded or the user's columns: (n, p, K)."""
        raise NotImplementedError

    @property
    def _prior(self) -> np.ndarray:
        """Prior probabilities of the fitted model."""
        return self.class_prior_

    def _proba(self, X: Any) -> np.ndarray:
        return bayes.posterior(self._log_likelihood(X), self._prior)

    def _codes(self, X: Any) -> np.ndarray:
        return bayes.leading_class(self._log_likelihood(X), self._prior)

    def _log_proba(self, X: Any) -> np.ndarray:
        """Accurate where the probabilities underflow."""
        return bayes.log_posterior(self._log_likelihood(X), self._prior)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the joint probability p(x, c) of every row and class."""
        return bayes.log_joint(self._log_likelihood(self._encoded(X)), self._prior)

    def _class_prior(self, counts: np.ndarray) -> np.ndarray:
        """Prior probabilities of the classes: given, equal, or their shares of the weight."""
        given, K = getattr(self, self._prior_name), len(counts)
        if given is not None:
            return bayes.checked_priors(given, K, self._prior_name, type(self).__name__)
        if not getattr(self, "fit_prior", True):
            return np.full(K, 1 / K)
        counts = counts + getattr(self, "class_prior_alpha", 0.0)
        return counts / counts.sum()

    def _earlier_sums(self, names: tuple[str, ...], schema: Schema) -> dict[str, Any]:
        """The stored sums (K, terms) as `_carried` returns them, for models of an encoded matrix.

        New terms were 0 in all earlier rows, and missing where their column was.
        """
        sums = {name: getattr(self, name) for name in ("class_count_", "present_", *names)}
        if self.schema_.plain and schema.plain:
            return sums
        before = {block: k for k, block in enumerate(self.schema_.blocks())}
        source = np.array([before.get(block, -1) for block in schema.blocks()])
        for name in names:
            sums[name] = np.where(source < 0, 0.0, sums[name][:, source])
        sums["present_"] = sums["present_"][:, first_terms(self.schema_)][:, schema.owner]
        return sums

    def _encode_table(
        self, rows: RawTable, quiet: bool = False, finite: bool = False, narrow: bool = False
    ) -> Any:
        """Missing cells stay NaN in a matrix; the words of text columns stand beside codes."""
        X, schema = super()._encode_table(rows, quiet, finite, narrow), self.schema_
        if self._layout == "codes":
            return beside_words(X, schema, rows, type(self).__name__)
        if rows.sparse is not None or (finite and schema.plain):
            return X  # as it is, with its missing values
        if rows.dense is not None and schema.plain and np.may_share_memory(X, rows.dense):
            return X  # no missing value was imputed
        return mark_missing(X, schema, schema.align(rows, type(self).__name__))

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
    """Logarithms of classes (..., K) minus their mean; for two classes the second minus the first."""
    if logs.shape[-1] == 2:
        return logs[..., 1:] - logs[..., :1]
    return logs - logs.mean(axis=-1, keepdims=True)
