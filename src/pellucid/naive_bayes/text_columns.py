"""Text columns of `MixedNB` and `CategoricalNB`: words as one multinomial, or as binary columns.

    multinomial words : log p(x | c) = sum_w x_w log theta_cw
    bernoulli words   : log p(x | c) = sum_w [ in x: log theta_cw, else log(1 - theta_cw) ]

Invariant: words stay sparse; a missing text is left out.
"""

from typing import Any, NamedTuple

import numpy as np

from pellucid.data.encode import words
from pellucid.data.intake import RawTable
from pellucid.data.schema import TEXT, Schema
from pellucid.naive_bayes.class_counts import LOWEST, class_sums, level_probabilities

MULTINOMIAL, BERNOULLI = WORD_KINDS = ("multinomial words", "bernoulli words")


class CodesAndWords(NamedTuple):
    """A table with text columns: codes, and the words of each text column."""

    codes: np.ndarray
    words: dict[int, Any]


def beside_words(codes: np.ndarray, schema: Schema, rows: RawTable, owner: str) -> Any:
    """The codes, with the words of the text columns if there are any."""
    if TEXT not in schema.kinds:
        return codes
    return CodesAndWords(codes, words(schema, schema.align(rows, owner)))


def codes_of(X: Any) -> np.ndarray:
    """The codes of encoded rows, with or without words."""
    return X.codes if isinstance(X, CodesAndWords) else X


def text_likelihood(kind: str, X: Any, j: int, logs: np.ndarray) -> np.ndarray:
    """What text column j adds to the log-likelihood, (n, K); 0 for a missing text."""
    coef, absent = _linear(kind, logs)
    total = _cells(kind, X.words[j]) @ coef.T + absent.sum(axis=1)
    return np.where(np.isnan(X.codes[:, j])[:, None], 0.0, total)


def count_words(kind: str, X: Any, y: np.ndarray, w: np.ndarray, n_classes: int) -> np.ndarray:
    """Sums of the words, or of the texts that contain them, in each class: (K, words)."""
    return class_sums(_cells(kind, X), y, w, n_classes)


def log_probabilities(kind: str, counts: np.ndarray, texts: np.ndarray, alpha: float) -> np.ndarray:
    """log theta (K, words); `texts` is the weight of the texts in each class."""
    with np.errstate(divide="ignore"):
        if kind == MULTINOMIAL:
            return np.log(level_probabilities(counts, alpha))
        total = np.broadcast_to(texts[:, None] + 2 * alpha, counts.shape)
        overall = counts.sum(axis=0) / max(texts.sum(), 1e-300)
        unknown = np.broadcast_to(overall, counts.shape).copy()
        return np.log(np.divide(counts + alpha, total, out=unknown, where=total > 0))


def word_terms(kind: str, X: Any, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the words that occur in these texts, and what each adds: (n, words, K)."""
    used = np.unique(X.indices)
    cells = _cells(kind, X)[:, used].toarray()
    return used, cells[:, :, None] * _linear(kind, logs)[0][:, used].T


def _linear(kind: str, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a present word adds, relative to an absent one, and what an absent one adds: (K, words)."""
    there = np.maximum(logs, LOWEST)
    if kind == MULTINOMIAL:
        return there, np.zeros_like(there)
    with np.errstate(divide="ignore"):
        absent = np.maximum(np.log1p(-np.minimum(np.exp(logs), 1.0)), LOWEST)
    return there - absent, absent


def _cells(kind: str, X: Any) -> Any:
    """The entries as they are, or 1 for each."""
    if kind == MULTINOMIAL:
        return X
    ones = X.copy()
    ones.data = np.ones_like(ones.data)
    return ones
