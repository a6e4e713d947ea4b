"""The posterior of a linear regression with known variances, and its table.

Invariant: what is kept is a root of the covariance (of the coefficients and of the prediction at
`mean`), made without products of columns that lie far from 0; `covariance` is that of coefficients
and intercept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pellucid.linear_model._inference.intervals import check_level, normal_reach
from pellucid.linear_model._inference.summary_table import missing_notes
from pellucid.linear_model._ridge.eigen import complete, make_spectrum
from pellucid.numerics.linalg import EPS, block_qr
from pellucid.numerics.row_blocks import Rows, exponents
from pellucid.records import SummaryTable


@dataclass(frozen=True)
class Posterior:
    """Mean and covariance of (coef, intercept); root root' is the covariance of the coefficients
    and, with an intercept, of the prediction at `mean` (p,); without one that is 0."""

    coef: np.ndarray
    intercept: float
    covariance: np.ndarray
    root: np.ndarray
    mean: np.ndarray


@dataclass(frozen=True)
class Variances:
    """Of the noise, of each coefficient, and of the intercept (None without one)."""

    noise: float
    prior: float
    intercept: float | None


def known_variances(X: Any, y: np.ndarray, weights: np.ndarray, known: Variances) -> Posterior:
    """An intercept without prior leaves the centred columns alone; one with a prior, or none at
    all, ties the coefficients to the origin."""
    free = known.intercept is not None and np.isinf(known.intercept)
    return (_centred if free else _tied)(X, y, weights, known)


def _centred(X: Any, y: np.ndarray, weights: np.ndarray, known: Variances) -> Posterior:
    """In the principal directions of the centred columns, each with its own curvature."""
    made = make_spectrum(X, y[:, None], weights, True)
    V, p, r = complete(made.vectors), X.shape[1], len(made.values)
    values = np.append(made.values, np.zeros(p - r)) / known.noise + 1.0 / known.prior
    b = V[:, :r] @ (made.projections[:, 0] / known.noise / values[:r])
    root = np.zeros((p + 1, p + 1))
    root[:p, :p] = V / np.sqrt(values)
    root[p, p] = np.sqrt(known.noise / made.total)
    return _made(b, float(made.mean_y[0]), root, made.mean, int(made.lift[0]), True)


def _tied(X: Any, y: np.ndarray, weights: np.ndarray, known: Variances) -> Posterior:
    """By a QR decomposition of the rows and of the priors, the largest rows first.

    The unknowns are b and, with an intercept, a = b0 + mean . b; the prior concerns a - mean . b.
    """
    table, p, c = Rows(X), X.shape[1], int(known.intercept is not None)
    lift = int(exponents(np.abs(y).max(initial=0.0)))
    size = np.sqrt(weights / known.noise)
    mean = weights / weights.sum() @ X if c else np.zeros(p)

    def block(rows: slice) -> np.ndarray:
        own = np.empty((rows.stop - rows.start, p + c + 1))
        own[:, :p], own[:, p:] = table.dense(rows) - mean, 1.0
        own[:, -1] = np.ldexp(y[rows], -lift)
        return own * size[rows, None]

    prior = np.zeros((p + c, p + c + 1))
    prior[np.arange(p), np.arange(p)] = 1 / np.sqrt(known.prior)
    if known.intercept is not None:
        prior[p, : p + 1] = np.append(-mean, 1.0) / np.sqrt(known.intercept)
    rows = np.concatenate([block_qr(block, table.blocks), prior])
    rows = rows[np.argsort(-np.abs(rows[:, :-1]).max(axis=1, initial=0.0), kind="stable")]
    if not np.isfinite(rows).all():
        R = np.zeros((p + c, p + c + 1))
    else:
        R = np.asarray(np.linalg.qr(rows, mode="r"))[: p + c]
    T, lengths = R[:, :-1], np.linalg.norm(R[:, :-1], axis=0)
    if np.any(np.abs(np.diagonal(T)) <= max(X.shape) * EPS * lengths):
        nothing = np.full(p + c, np.nan)
        return _made(nothing[:p], np.nan, np.diag(nothing), mean, lift, bool(c))
    root = solve_triangular(T, np.eye(p + c))
    x = solve_triangular(T, R[:, -1])
    return _made(x[:p], float(x[p]) if c else 0.0, root, mean, lift, bool(c))


def _made(
    b: np.ndarray, at_mean: float, root: np.ndarray, mean: np.ndarray, lift: int, constant: bool
) -> Posterior:
    """From b, a = b0 + mean . b (both in units of 2**lift) and a root of their covariance."""
    p = len(b)
    of_both = np.zeros((p + 1, root.shape[1]))
    of_both[:p] = root[:p]
    if constant:
        of_both[p] = root[p] - mean @ root[:p]
    b0 = at_mean - mean @ b if constant else 0.0
    return Posterior(np.ldexp(b, lift), float(np.ldexp(b0, lift)), of_both @ of_both.T, root, mean)


def posterior_summary(
    model: Any, sd: np.ndarray, facts: dict[str, float], level: float
) -> SummaryTable:
    """Posterior mean, sd and the interval that holds the coefficient with probability `level`.

    `sd` (p + 1,) are those of the coefficients and the intercept.
    """
    check_level(level)
    names, estimate, errors = list(model.terms_), model.coef_, sd[:-1]
    if model.fit_intercept:
        names, errors = ["intercept", *names], np.roll(sd, 1)
        estimate = np.append(model.intercept_, estimate)
    reach = normal_reach(level) * errors
    lines = np.column_stack([estimate, errors, estimate - reach, estimate + reach]).tolist()
    rows = tuple((name, *line) for name, line in zip(names, lines))
    columns, notes = ("term", "mean", "sd", "low", "high"), missing_notes(model.schema_)
    if not model.status_.ok:
        notes = [str(model.status_), *notes]
    title = "Posterior of a Bayesian linear regression"
    return SummaryTable(title, tuple(facts.items()), columns, rows, tuple(notes))
