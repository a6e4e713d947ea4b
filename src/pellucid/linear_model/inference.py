"""Standard errors, tests and intervals of linear models, from what `fit` kept.

Invariant: no data are needed, and nothing is computed where theory gives no answer (NaN, and a
note that says why).
"""

from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from pellucid.errors import ParameterError, PellucidError
from pellucid.records import SummaryTable

COLUMNS = ("term", "coef", "std error", "t", "p", "low", "high")


def least_squares_summary(model: Any, weights: str, level: float) -> SummaryTable:
    """The table of a fitted `LinearRegression`."""
    if weights not in ("frequency", "precision"):
        raise ParameterError(
            f"weights must be 'frequency' or 'precision'. Got {weights!r} instead."
        )
    if not 0 < level < 1:
        raise ParameterError(f"level must be in (0, 1). Got {level!r} instead.")
    kept = model.__dict__.get("inference_")
    if kept is None:
        raise PellucidError(
            "This LinearRegression has no standard errors: they have no simple theory with "
            "positive=True, and very wide sparse tables are solved without them."
        )
    n = kept["total"] if weights == "frequency" else kept["rows"]
    slopes = model.rank_
    dof = n - slopes - int(model.fit_intercept)
    coef = np.atleast_2d(model.coef_)
    intercept = np.atleast_1d(model.intercept_)
    several = len(coef) > 1
    rows: list[tuple] = []
    header: dict[str, Any] = {"rows": n, "terms": coef.shape[1], "rank": slopes}
    for k in range(len(coef)):
        prefix = f"target {k}: " if several else ""
        residual, total, lift = (kept[name][k] for name in ("residual_ss", "total_ss", "exponent"))
        header.update(_fit_facts(prefix, residual, total, slopes, dof, lift))
        names, estimate = list(model.terms_), coef[k]
        errors = kept["unit_error"][:-1]
        if model.fit_intercept:
            names = ["intercept", *names]
            estimate = np.append(intercept[k], estimate)
            errors = np.append(kept["unit_error"][-1], errors)
        noise = np.ldexp(np.sqrt(residual / dof) if dof > 0 else np.nan, lift)
        errors = errors * noise
        rows += [
            (prefix + name, *line)
            for name, line in zip(names, estimate_lines(estimate, errors, dof, level))
        ]
    facts = tuple(header.items())
    return SummaryTable("Least squares", facts, COLUMNS, tuple(rows), _notes(model, dof))


def estimate_lines(
    estimate: np.ndarray, errors: np.ndarray, dof: float, level: float
) -> list[tuple[float, ...]]:
    """(coef, standard error, t, p, low, high) of each coefficient; dof may be inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = estimate / errors
        p = 2 * stdtr(dof, -np.abs(t)) if dof > 0 else np.full_like(t, np.nan)
        reach = stdtrit(dof, (1 + level) / 2) * errors if dof > 0 else np.full_like(t, np.nan)
    lines = np.column_stack([estimate, errors, t, p, estimate - reach, estimate + reach])
    return [tuple(line) for line in lines.tolist()]


def _fit_facts(
    prefix: str, residual: float, total: float, slopes: int, dof: float, lift: int
) -> dict[str, float]:
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1 - residual / total if total > 0 else np.nan
        noise = residual / dof if dof > 0 else np.nan
        F = np.float64(total - residual) / slopes / noise if slopes else np.nan
        p = float(fdtrc(slopes, dof, F)) if slopes and dof > 0 else np.nan
    return {
        f"{prefix}R2": float(r2),
        f"{prefix}residual sd": float(np.ldexp(np.sqrt(noise), lift)),
        f"{prefix}degrees of freedom": float(dof),
        f"{prefix}F": float(F),
        f"{prefix}p of F": p,
    }


def _notes(model: Any, dof: float) -> tuple[str, ...]:
    notes = []
    if len(model.aliased_):
        named = ", ".join(model.terms_[j] for j in model.aliased_)
        notes.append(
            f"Spanned by the other terms: {named}. Coefficients involved are not unique; the "
            "shortest solution is shown, without standard errors."
        )
    if dof <= 0:
        notes.append("No degrees of freedom are left for standard errors.")
    return (*notes, *missing_notes(model.schema_))


def missing_notes(schema: Any) -> list[str]:
    """What was missing in training, by column."""
    found = [
        f"{schema.name(j)}: {count:g}" for j, count in enumerate(schema.n_missing) if count > 0
    ]
    return [f"Missing in training ({'; '.join(found)})."] if found else []
