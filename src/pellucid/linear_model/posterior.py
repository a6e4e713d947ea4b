"""The posterior of a linear regression with known variances, and its table.

Invariant: rows are centred before anything is summed; `centred` is the covariance of the
coefficients and the prediction at the means, `covariance` that of coefficients and intercept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.linear_model.inference import missing_notes
from pellucid.linear_model.intervals import check_level, normal_reach
from pellucid.linear_model.spectrum import make_spectrum
from pellucid.numerics.linalg import cholesky_factor
from pellucid.records import SummaryTable


@dataclass(frozen=True)
class Posterior:
    """Mean and covariance of (coef, intercept); `mean` holds those of the columns."""

    coef: np.ndarray
    intercept: float
    covariance: np.ndarray
    centred: np.ndarray
    mean: np.ndarray


def known_variances(
    X: Any, y: np.ndarray, weights: np.ndarray, noise: float, prior: float, prior_b0: float,
    constant: bool,
) -> Posterior:  # fmt: skip
    """1. Directions and means. 2. Curvature in the directions, and of a = b0 + mean . b, to which
    a prior of b0 ties them. 3. Its inverse; back to coefficients and intercept."""
    made = make_spectrum(X, y[:, None], weights, constant)
    V, p, r = made.vectors, X.shape[1], len(made.values)
    if r < p:  # directions that no row shows keep their prior
        rest = np.linalg.svd(V.T, full_matrices=True)[2][r:].T if r else np.eye(p)
        V = np.column_stack([V, rest])
    values = np.append(made.values, np.zeros(p - r)) / noise + 1.0 / prior
    pull = np.append(made.pull[:, 0], np.zeros(p - r)) / noise
    mean, middle = made.mean, float(made.mean_y[0])
    c = int(constant)
    H, g = np.diag(np.append(values, np.zeros(c))), np.append(pull, np.zeros(c))
    if constant:
        # unknowns: u (b = V u) and a; the data see a alone, the prior of b0 = a - mean . V u
        tie = np.append(-(V.T @ mean), 1.0)
        H += np.outer(tie, tie) / prior_b0
        H[-1, -1] += made.total / noise
        g[-1] = made.total / noise * middle
    C, x = _solve(H, g)
    T = np.zeros((p + 1, p + c))
    T[:p, :p] = V
    centred = np.zeros((p + c, p + c))
    basis = np.eye(p + c)
    basis[:p, :p] = V
    centred = basis @ C @ basis.T
    if constant:
        T[-1] = tie
    lift = int(made.lift[0])
    solution = T @ x
    return Posterior(
        np.ldexp(solution[:p], lift), float(np.ldexp(solution[-1], lift)), T @ C @ T.T,
        centred, mean,
    )  # fmt: skip


def _solve(H: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H^-1 and H^-1 g; not finite if H has no inverse."""
    factor = cholesky_factor(H) if len(H) else None
    if factor is None:
        if len(H) and np.isfinite(H).all():
            values, vectors = np.linalg.eigh(H)
            if values[0] > len(H) * 2.0**-52 * values[-1]:
                C = (vectors / values) @ vectors.T
                return C, C @ g
        return np.full_like(H, np.nan) if len(H) else H, np.full_like(g, np.nan)
    rows = factor.inverse_rows()
    x = factor.solve(g)
    return rows @ rows.T, x + factor.solve(g - H @ x)


def posterior_summary(model: Any, level: float) -> SummaryTable:
    """Posterior mean, sd and the interval that holds the coefficient with probability `level`."""
    check_level(level)
    sd = np.sqrt(np.maximum(np.diagonal(model.covariance_), 0.0))
    names, estimate, errors = list(model.terms_), model.coef_, sd[:-1]
    if model.fit_intercept:
        names, errors = ["intercept", *names], np.roll(sd, 1)
        estimate = np.append(model.intercept_, estimate)
    reach = normal_reach(level) * errors
    lines = np.column_stack([estimate, errors, estimate - reach, estimate + reach]).tolist()
    header = (
        ("noise variance", float(model.noise_variance)),
        ("prior variance", float(model.prior_variance)),
    )
    rows = tuple((name, *line) for name, line in zip(names, lines))
    columns = ("term", "mean", "sd", "low", "high")
    notes = tuple(missing_notes(model.schema_))
    return SummaryTable("Posterior of a Bayesian linear regression", header, columns, rows, notes)
