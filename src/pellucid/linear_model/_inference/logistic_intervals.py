"""Intervals for the class probabilities of logistic models, from what the fit kept.

With L the scores, or for fits of one class against the others the logarithms of their chances, the
probabilities are softmax(L), and the log-odds of class k are L_k - log sum of exp(L_l) over the others.
Their slopes by L are 1 for k and -p_l / (1 - p_k) for l: with the covariance of the coefficients they
give its error.

Invariant: an interval is made for the log-odds and brought back: it lies within 0 and 1.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri

from pellucid import parallel
from pellucid.errors import PellucidError
from pellucid.linear_model._inference.intervals import check_level, check_span
from pellucid.linear_model._inference.logistic import notes_of, told_apart, why_no_errors
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax


def probability_interval(model: Any, X: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends (n, K) of intervals for the probabilities; 0 for classes that are absent."""
    check_level(level)
    kept = vars(model).get("inference_")
    name = type(model).__name__
    if kept is None:
        raise PellucidError(f"{name} has no predict_interval here: {why_no_errors(model)}")
    if len(model.separating_):
        why = " ".join(notes_of(model, kept))
        raise PellucidError(f"{name} has no predict_interval here: {why}")
    table = X if isinstance(X, np.ndarray) else X.toarray()
    table = np.column_stack([table, np.full(len(table), float(model.fit_intercept))])
    null, size = kept["null_space"], np.abs(table) + np.append(np.abs(model.means_), 0.0)
    check_span(table @ null, size @ np.abs(null), kept["slack"])
    L, slopes, root = _leads(model, kept, model._scores(X))
    table[:, :-1] -= kept["centre"]
    root = root.reshape(slopes.shape[2], table.shape[1], root.shape[1])
    errors = np.concatenate([
        np.linalg.norm(np.einsum("nak,ni,kir->nar", slopes[rows], table[rows], root, optimize=True),
                       axis=2)
        for rows in parallel.row_blocks(len(table), root.size)
    ])  # fmt: skip
    reach = ndtri((1 + level) / 2) * errors
    odds = _log_odds(L)
    ends = np.zeros((2, len(table), len(model.classes_)))
    ends[:, :, kept["present"]] = expit(odds - reach), expit(odds + reach)
    return ends[0], ends[1]


def _leads(
    model: Any, kept: dict[str, Any], scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L (n, K), the slopes (n, K, q) of the log-odds by the fitted scores, a root of what the
    coefficients of those vary."""
    if scores.ndim == 1:
        Z = np.column_stack([np.zeros(len(scores)), scores])
    else:
        Z = scores[:, kept["present"]]
    if told_apart(model, kept)[1]:
        L = -np.logaddexp(0.0, -Z)
        return L, _slopes(softmax(L)) * expit(-Z)[:, None, :], kept["joint"]
    if model._separate():  # of two classes that remain each is the other's mirror image
        Z[:, 0] = 0.0
    return Z, _slopes(softmax(Z))[:, :, 1:], kept["root"]


def _slopes(P: np.ndarray) -> np.ndarray:
    """Slopes of the log-odds of class k by L_l, (n, K, K)."""
    K = P.shape[1]
    others = np.where(np.eye(K, dtype=bool), 0.0, P[:, None, :])  # (n, k, l)
    total = others.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(total > 0, others / total, 0.0)
    return np.eye(K) - shares


def _log_odds(L: np.ndarray) -> np.ndarray:
    """L_k - log sum_{l != k} exp(L_l), (n, K)."""
    out = np.empty_like(L)
    for k in range(L.shape[1]):
        rest = np.delete(L, k, axis=1)
        top = rest.max(axis=1)
        out[:, k] = L[:, k] - top - np.log(np.exp(rest - top[:, None]).sum(axis=1))
    return out
