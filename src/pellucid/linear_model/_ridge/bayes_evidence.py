"""The evidence of Bayesian ridge regression, maximised in the principal directions of the table.

    b ~ N(0, 1/lambda),  y ~ N(b0 + X b, 1/alpha),  alpha ~ Gamma(alpha_1, alpha_2), the same for lambda

Invariant: the cost of an iteration grows with the number of directions; the rows are not read again.
Targets are divided by 2**lift, so alpha and lambda are in units of 4**-lift.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid.linear_model._ridge.eigen import Spectrum
from pellucid.records import Recorder, Status

EPS = float(np.finfo(float).eps)
SETTLED = 1e-10  # relative change of alpha and lambda that counts as converged


@dataclass(frozen=True)
class Priors:
    """Shapes (_1) and rates (_2) of the gamma priors; alpha and lambda to start with, or None."""

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: float
    alpha_init: float | None
    lambda_init: float | None


@dataclass(frozen=True)
class Evidence:
    """alpha and lambda on the original scale, coefficients (p,) in units of 2**lift, and the history."""

    alpha: float
    lamb: float
    coef: np.ndarray
    scores: np.ndarray
    n_iter: int
    history: dict[str, np.ndarray]
    status: Status


def maximise(
    made: Spectrum, p: int, priors: Priors, tol: float, max_iter: int, variance: float
) -> Evidence:
    """MacKay's fixed point.

    1. gamma = sum_j alpha L_j / (lambda + alpha L_j): directions that the rows decide.
    2. lambda = gamma / |b|^2, alpha = (N - gamma) / sum of squared residuals (plus the priors).
    `variance` is that of y, in units of 4**lift: the noise to start with.
    """
    unit = np.ldexp(1.0, -2 * int(made.lift[0]))  # of squares of y
    rate_a, rate_l = priors.alpha_2 * unit, priors.lambda_2 * unit
    L, z, N = made.values, made.projections[:, 0], made.total
    rss = made.residual_ss()
    alpha = 1.0 / (variance + EPS * unit) if priors.alpha_init is None else priors.alpha_init / unit
    lamb = (1.0 if priors.lambda_init is None else priors.lambda_init) / unit
    recorder, scores = Recorder("evidence", max_iter), []
    old, met = None, False
    for step in range(1, max_iter + 1):
        c = z * alpha / (lamb + alpha * L)
        sse = rss + float(np.sum(z**2 / L * (lamb / (lamb + alpha * L)) ** 2))
        size = float(c @ c)
        score = _score(made, p, alpha, lamb, size, sse, rate_a, rate_l, priors, unit)
        scores.append(score)
        recorder.add(
            iteration=step, objective=-score, alpha=alpha * unit,
            state=partial(_state, made, alpha * unit, lamb * unit, c), **{"lambda": lamb * unit},
        )  # fmt: skip
        gamma = float(np.sum(alpha * L / (lamb + alpha * L)))
        before = alpha, lamb
        lamb = (gamma + 2 * priors.lambda_1) / max(size + 2 * rate_l, 1e-300)
        alpha = max(N - gamma + 2 * priors.alpha_1, 1e-300) / max(sse + 2 * rate_a, 1e-300)
        if old is not None and not met:
            moved = float(np.abs(made.vectors @ (c - old)).sum())
            met = np.ldexp(moved, int(made.lift[0])) < tol
        change = max(abs(alpha / before[0] - 1), abs(lamb / before[1] - 1))
        old = c
        if met and change < SETTLED:
            break
    coef = made.vectors @ (z * alpha / (lamb + alpha * L))
    status = Status("converged", f"The evidence stopped growing at iteration {step}.")
    if not met:
        status = Status(
            "max_iter", f"The evidence still grew at iteration {step}.", "Increase max_iter."
        )
    return Evidence(
        alpha * unit, lamb * unit, coef, np.array(scores), step, recorder.history(), status
    )


def _state(made: Spectrum, alpha: float, lamb: float, c: np.ndarray) -> dict[str, Any]:
    """alpha and lambda on the original scale, coefficients in units of 2**lift."""
    return {"alpha": alpha, "lambda": lamb, "coef": made.vectors @ c}


def _score(
    made: Spectrum, p: int, alpha: float, lamb: float, size: float, sse: float, rate_a: float,
    rate_l: float, priors: Priors, unit: float,
) -> float:  # fmt: skip
    """The logarithm of the evidence, on the original scale."""
    alpha_user, lamb_user = np.log(alpha) + np.log(unit), np.log(lamb) + np.log(unit)
    L, N = made.values, made.total
    logdet = np.sum(np.log(lamb + alpha * L)) + (p - len(L)) * np.log(lamb) + p * np.log(unit)
    score = priors.lambda_1 * lamb_user - rate_l * lamb
    score += priors.alpha_1 * alpha_user - rate_a * alpha
    score += 0.5 * (p * lamb_user + N * alpha_user - alpha * sse - lamb * size - logdet)
    return float(score - 0.5 * N * np.log(2 * np.pi))
