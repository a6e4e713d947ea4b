"""Intervals for predictions of least squares, generalised linear models and logistic models.

With L the scores of a logistic model, or for one-vs-rest fits the logarithms of their probabilities,
the class probabilities are softmax(L), and the log-odds of class k are L_k - log sum of exp(L_l) over
the others. Their gradient by L is 1 for k and -p_l / (1 - p_k) for l, which with the covariance of the
coefficients gives their standard error.

Invariant: an interval of level q leaves (1 - q) / 2 on each side. An interval for probabilities is
made for the log-odds and transformed back, so it lies within 0 and 1.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from pellucid import parallel
from pellucid.errors import DataError, ParameterError, PellucidError, shown
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.numerics.row_blocks import as_dense

KINDS = ("observation", "mean")
OFF = 1e-7  # share by which a row may miss what the training rows span
ALIKE = 4.0  # times as much as a training row does


def check_level(level: float) -> None:
    """Refuse a level that is no probability; one of NumPy's floats is."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or isinstance(level, np.complexfloating) or not 0 < level < 1:
        raise ParameterError(f"level must be in (0, 1). Got {shown(level)} instead.")


def check_interval(level: float, kind: str) -> None:
    """Refuse a level that is no probability and a kind that does not exist."""
    check_level(level)
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {KINDS}. Got {shown(kind)} instead.")


def check_weights(weights: str) -> None:
    """Refuse a meaning of weights that does not exist."""
    if weights not in ("frequency", "precision"):
        raise ParameterError(
            f"weights must be frequency or precision. Got {shown(weights)} instead."
        )


def normal_reach(level: float) -> float:
    """How many standard deviations a normal interval reaches to each side."""
    return float(ndtri((1 + level) / 2))


def t_reach(level: float, dof: float) -> float:
    """As `normal_reach`, where the variance was estimated with `dof` degrees of freedom."""
    return normal_reach(level) if np.isinf(dof) else float(stdtrit(dof, (1 + level) / 2))


def slack(X: Any, null: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """Largest parts of training rows along the columns of null, which they do not determine."""
    parts = (X[rows] @ null + edge for rows in parallel.row_blocks(*X.shape))
    return parallel.largest(np.max([np.abs(part).max(axis=0) for part in parts], axis=0))


def check_span(off: np.ndarray, size: np.ndarray, slack: Any = 0.0) -> None:
    """Columns that depend on each other in training must do so in every predicted row.

    `off` (n, k) are the parts of rows along k directions that the training rows do not determine,
    `size` (n, k) the sizes of the terms of these sums; `slack` (k,) are the parts of training rows.
    """
    far = np.flatnonzero((np.abs(off) > OFF * size + ALIKE * slack).any(axis=1))
    if len(far):
        raise DataError(
            f"Row {far[0]} has no interval: columns that are combinations of each other in the "
            "training rows are not so in this row, so its prediction is not determined. Drop the "
            "columns that summary() names."
        )


# Least squares ----------------------------------------------------------------------------------


def least_squares_ends(model: Any, X: Any, level: float, kind: str, weights: str) -> np.ndarray:
    """(n, 2), or (n, targets, 2): t times sigma times sqrt(leverage, plus 1 for an observation)."""
    from pellucid.linear_model._inference.estimates import least_squares_facts

    kept = least_squares_facts(model)
    check_weights(weights)
    n = kept["total"] if weights == "frequency" else kept["rows"]
    dof = n - model.rank_ - int(model.fit_intercept)
    if dof <= 0:
        raise PellucidError("There are no degrees of freedom left to estimate the noise.")
    if "root" not in kept:
        raise PellucidError("The table was too wide to keep its covariance.")
    lever = leverage(model, kept, X)
    with np.errstate(over="ignore"):
        sigma = np.ldexp(np.sqrt(kept["residual_ss"] / dof), kept["exponent"])
    spread = np.sqrt(lever + (kind == "observation"))[:, None] * sigma
    middle = linear_scores(X, model.coef_, model.intercept_).reshape(len(spread), -1)
    ends = middle[:, :, None] + t_reach(level, dof) * spread[:, :, None] * np.array([-1.0, 1.0])
    return ends if model.coef_.ndim == 2 else ends[:, 0]


def leverage(model: Any, kept: dict[str, Any], X: Any) -> np.ndarray:
    """Variance of the prediction of each row for residual variance 1."""
    X = as_dense(X)
    null, rows = kept["null"], X - model.means_
    size = (np.abs(rows) + 2 * np.abs(model.means_)) @ np.abs(null)
    check_span(rows @ null, size, kept["slack"])
    constant = 1.0 / kept["mass"] if model.fit_intercept else 0.0
    along = (X - kept["centre"]) @ kept["root"] + kept["drift"]
    return constant + np.square(along).sum(axis=1)


# Generalised linear models ----------------------------------------------------------------------


def glm_ends(
    model: Any, X: Any, eta: np.ndarray, level: float, kind: str, trials: int, weights: str
) -> np.ndarray:
    """Low and high ends (n, 2) for encoded rows with linear predictor eta."""
    from pellucid.linear_model._glm.observations import observation_ends
    from pellucid.linear_model._inference.estimates import dispersion_of

    kept = _glm_facts(model)
    check_weights(weights)
    residual = kept["total" if weights == "frequency" else "rows"] - kept["rank"]
    if not kept["known"] and residual <= 0:
        raise PellucidError("There are no degrees of freedom left to estimate the dispersion.")
    dispersion, dof = dispersion_of(kept, residual), np.inf if kept["known"] else residual
    null, edge = kept["null"][:-1], kept["null"][-1]
    _check_finite(model, X, kept["endless"])
    check_span(X @ null + edge, abs(X) @ np.abs(null) + np.abs(edge), kept["slack"])
    rows = as_dense(X) - kept["centre"]
    rows = np.column_stack([rows, np.full(len(rows), float(model.fit_intercept))])
    error = np.linalg.norm(rows @ kept["root"], axis=1) * np.sqrt(dispersion)
    loss = model._loss()
    normal = kept["family"] == "normal" and kept["link"] == "identity"
    if kind == "mean" or normal:
        spread = error if kind == "mean" else np.sqrt(error**2 + dispersion)
        return mean_ends(loss, eta, t_reach(level, dof) * spread)
    if dispersion == 0:
        return np.repeat(possible_means(loss, eta)[:, None], 2, axis=1)
    ends = observation_ends(loss, eta, error, dispersion, dof, level, trials)
    return ends / trials if kept["family"] == "binomial" else ends


def _glm_facts(model: Any) -> dict[str, Any]:
    """What the fit kept for standard errors."""
    from pellucid.linear_model._inference.estimates import too_wide

    kept = vars(model).get("inference_")
    if kept is None:
        if model.alpha == 0 and model.solver != "gd":
            raise PellucidError(too_wide())
        raise PellucidError(
            "Intervals need alpha=0 and a solver other than 'gd', because theory gives no standard "
            "errors otherwise. pellucid.inspection.bootstrap gives intervals for any model."
        )
    if not np.isfinite(kept["root"]).all():
        raise PellucidError(
            "The fit ended where the information is not finite, so there are no standard errors."
        )
    return kept


def _check_finite(model: Any, X: Any, endless: np.ndarray) -> None:
    """Refuse rows whose linear predictor has no finite best value."""
    off, size = X @ endless[:-1] + endless[-1], abs(X) @ np.abs(endless[:-1]) + np.abs(endless[-1])
    far = np.flatnonzero((np.abs(off) > OFF * size).any(axis=1))
    if len(far):
        raise PellucidError(
            f"Row {far[0]} has no interval, because its prediction depends on coefficients that grow "
            f"without limit. {model.status_}"
        )


def possible_means(loss: GLMLoss, eta: np.ndarray) -> np.ndarray:
    """mu(eta), or the possible mean next to it; infinite where an inverse link falls to 0."""
    if loss.link.name == "inverse_square" or _never_negative(loss):
        eta = np.maximum(eta, 0.0)
    with np.errstate(all="ignore"):
        return np.clip(loss.link.inverse(eta), *loss.family.y_range)


def _never_negative(loss: GLMLoss) -> bool:
    return loss.link.name == "inverse" and loss.family.name != "normal"


def mean_ends(loss: GLMLoss, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Smallest and largest mean of the linear predictors within reach of eta."""
    ends = eta[:, None] + reach[:, None] * np.array([-1.0, 1.0])
    means = np.sort(possible_means(loss, ends), axis=1)
    around = (ends[:, 0] < 0) & (ends[:, 1] > 0)
    if loss.link.name == "sqrt":
        means[around, 0] = 0.0
    elif loss.link.name == "inverse" and not _never_negative(loss):
        means[around] = [-np.inf, np.inf]
    return means


# Logistic models --------------------------------------------------------------------------------


def probability_interval(model: Any, X: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends (n, K) of intervals for the probabilities; 0 for classes that are absent."""
    from pellucid.linear_model._inference.estimates import logistic_notes, why_no_errors

    check_level(level)
    kept = vars(model).get("inference_")
    if kept is None or len(model.separating_):
        why = why_no_errors(model) if kept is None else " ".join(logistic_notes(model))
        raise PellucidError(f"This {type(model).__name__} has no predict_interval. {why}")
    table = as_dense(X)
    table = np.column_stack([table, np.full(len(table), float(model.fit_intercept))])
    null, size = kept["null_space"], np.abs(table) + np.append(np.abs(model.means_), 0.0)
    check_span(table @ null, size @ np.abs(null), kept["slack"])
    L, gradient, root = _log_scores(model, kept, model._scores(X))
    table[:, :-1] -= kept["centre"]
    root = root.reshape(gradient.shape[2], table.shape[1], root.shape[1])
    errors = np.concatenate([
        np.linalg.norm(np.einsum("nak,ni,kir->nar", gradient[rows], table[rows], root, optimize=True),
                       axis=2)
        for rows in parallel.row_blocks(len(table), root.size)
    ])  # fmt: skip
    reach = ndtri((1 + level) / 2) * errors
    odds = _log_odds(L)
    ends = np.zeros((2, len(table), len(model.classes_)))
    ends[:, :, kept["present"]] = expit(odds - reach), expit(odds + reach)
    return ends[0], ends[1]


def _log_scores(
    model: Any, kept: dict[str, Any], scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L (n, K), the gradient (n, K, q) of the log-odds by the fitted scores, and a root of the
    covariance of the coefficients of these scores."""
    from pellucid.linear_model._inference.estimates import classes_of_fit

    if scores.ndim == 1:
        Z = np.column_stack([np.zeros(len(scores)), scores])
    else:
        Z = scores[:, kept["present"]]
    if classes_of_fit(model)[1]:
        L = -np.logaddexp(0.0, -Z)
        return L, _log_odds_gradient(softmax(L)) * expit(-Z)[:, None, :], kept["joint"]
    if model._separate():  # two classes that remain mirror each other
        Z[:, 0] = 0.0
    return Z, _log_odds_gradient(softmax(Z))[:, :, 1:], kept["root"]


def _log_odds_gradient(P: np.ndarray) -> np.ndarray:
    """Derivatives of the log-odds of class k by L_l, (n, K, K)."""
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
