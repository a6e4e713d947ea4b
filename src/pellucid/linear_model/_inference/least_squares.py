"""Standard errors, tests and intervals of linear models, from what `fit` kept.

Invariant: classical errors need no data, robust ones the rows of the fit; nothing is computed where
theory gives no answer (NaN, and a note that says why).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from pellucid.errors import PellucidError
from pellucid.linear_model._inference.robust import Wanted
from pellucid.records import SummaryTable

SHRUNK = (
    "Coefficients are shrunk by a penalty: theory gives no standard errors or p-values for them. "
    "pellucid.inspection.bootstrap(model, X, y, 'coef_') shows how much they vary from sample "
    "to sample (it does not remove the bias); an unpenalised model has standard errors."
)
NO_INTERCEPT = "Without an intercept R2 and F compare with 0, not with the mean of y."
FEW_GROUPS = (
    "There are too few groups to test all terms together: the Wald test has no value. The lines of "
    "single terms hold."
)
NO_SPREAD = 1e-7  # a share of the errors that is rounding: the root of that of their squares
COLUMNS = ("term", "coef", "std error", "t", "p", "low", "high")


def least_squares_summary(model: Any, wanted: Wanted) -> SummaryTable:
    """The table of a fitted `LinearRegression`."""
    wanted.check()
    kept = kept_facts(model)
    n = kept["total"] if wanted.weights == "frequency" else kept["rows"]
    coef, slopes = np.atleast_2d(model.coef_), model.rank_
    dof = n - slopes - int(model.fit_intercept)
    rows: list[tuple] = []
    wald: dict[str, float] = {}
    header: dict[str, Any] = {
        "rows": n, "terms": coef.shape[1], "rank": slopes, "standard errors": wanted.errors,
    }  # fmt: skip
    robust = _robust(model, wanted)
    for k in range(len(coef)):
        prefix = f"target {k}: " if len(coef) > 1 else ""
        header.update(_fit_facts(prefix, kept, k, slopes, dof, n, wanted))
        names, estimate, errors = _estimates(model, kept, k, dof)
        free = dof
        if robust is not None:
            errors, free, wald = robust(k, errors)
            header.update({f"{prefix}{name}": value for name, value in wald.items()})
        rows += [
            (prefix + name, *line)
            for name, line in zip(names, estimate_lines(estimate, errors, free, wanted.level))
        ]
    header["condition number"] = float(kept["condition"])
    facts = tuple(header.items())
    notes = (*_notes(model, dof), *few_groups_note(wald))
    return SummaryTable("Least squares", facts, COLUMNS, tuple(rows), notes)


def kept_facts(model: Any) -> dict[str, Any]:
    """What the fit of a `LinearRegression` left for inference."""
    kept = vars(model).get("inference_")
    if kept is None:
        raise PellucidError(
            "This LinearRegression has no standard errors: they have no simple theory with "
            "positive=True, and very wide sparse tables are solved without them. "
            "pellucid.inspection.bootstrap gives intervals for any model."
        )
    return kept


def _estimates(
    model: Any, kept: dict[str, Any], k: int, dof: float
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, estimates and classical standard errors of target k, the intercept first."""
    names, estimate = list(model.terms_), np.atleast_2d(model.coef_)[k]
    noise = np.sqrt(kept["residual_ss"][k] / dof) if dof > 0 else np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        errors = kept["unit_error"] * np.ldexp(noise, kept["exponent"][k])
    if not model.fit_intercept:
        return names, estimate, errors[:-1]
    intercept = np.atleast_1d(model.intercept_)[k]
    return ["intercept", *names], np.append(intercept, estimate), np.roll(errors, 1)


def _robust(model: Any, wanted: Wanted) -> Any:
    """(target, classical errors) -> robust errors, degrees of freedom, Wald test; None if classical."""
    if wanted.errors == "classical":
        return None
    from pellucid.linear_model._inference.robust import robust_root, training_rows
    from pellucid.numerics.objectives.families import NORMAL, GLMLoss
    from pellucid.numerics.objectives.links import LINKS

    problem, groups = training_rows(model, wanted)
    loss, rank = GLMLoss(NORMAL, LINKS["identity"]), model.rank_ + int(model.fit_intercept)
    n = problem.total if wanted.weights == "frequency" else problem.n

    def of_target(k: int, classical: np.ndarray) -> tuple[np.ndarray, float, dict[str, float]]:
        Y = problem.y.reshape(problem.n, -1)
        b0 = float(np.atleast_1d(model.intercept_)[min(k, np.size(model.intercept_) - 1)])
        coef = np.atleast_2d(model.coef_)[k]
        root = robust_root(
            model, loss, problem, groups, wanted, coef, b0, np.ascontiguousarray(Y[:, k]), rank
        )
        dof = float(groups.max()) if groups is not None else n - rank
        return robust_lines(root, coef, classical, model, dof, groups)

    return of_target


def robust_lines(
    root: np.ndarray, coef: np.ndarray, classical: np.ndarray, model: Any, dof: float,
    groups: np.ndarray | None,
) -> tuple[np.ndarray, float, dict[str, float]]:  # fmt: skip
    """Errors in the order of the lines (NaN where the classical ones are), dof, the Wald test."""
    lengths = np.linalg.norm(root, axis=1)
    errors = np.roll(lengths, 1) if model.fit_intercept else lengths[:-1]
    errors = np.where(np.isnan(classical), np.nan, errors)
    slopes = len(coef)
    if not slopes or np.isnan(errors).any():
        return errors, dof, {}
    F = wald_chi2(root[:-1], coef, groups) / slopes
    return errors, dof, {"Wald F": F, "p of Wald F": float(fdtrc(slopes, dof, F))}


def wald_chi2(root: np.ndarray, coef: np.ndarray, groups: np.ndarray | None) -> float:
    """coef' (root root')^-1 coef; NaN if there are too few groups for an inverse.

    The scores of all groups sum to 0, so G groups tell G - 1 directions.
    """
    unit = np.maximum(np.linalg.norm(root, axis=1), 1e-300)
    table = root / unit[:, None]
    if groups is not None:
        told = np.linalg.matrix_rank(table, tol=NO_SPREAD)
        if min(told, groups.max()) < len(coef):
            return np.nan
    z = np.linalg.lstsq(table, coef / unit, rcond=None)[0]
    return float(z @ z)


def few_groups_note(wald: dict[str, float]) -> tuple[str, ...]:
    """Why the test of all terms together has no value, if it has none."""
    return (FEW_GROUPS,) if any(map(np.isnan, wald.values())) else ()


def estimate_lines(
    estimate: np.ndarray, errors: np.ndarray, dof: float, level: float
) -> list[tuple[float, ...]]:
    """(coef, standard error, t, p, low, high) of each coefficient; dof may be inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors == 0, np.nan, estimate / errors)  # a perfect fit is no evidence
        p = 2 * stdtr(dof, -np.abs(t)) if dof > 0 else np.full_like(t, np.nan)
        reach = stdtrit(dof, (1 + level) / 2) * errors if dof > 0 else np.full_like(t, np.nan)
    lines = np.column_stack([estimate, errors, t, p, estimate - reach, estimate + reach])
    return [tuple(line) for line in lines.tolist()]


def _fit_facts(
    prefix: str, kept: dict[str, Any], k: int, slopes: int, dof: float, n: float, wanted: Wanted
) -> dict[str, float]:
    residual, total, lift = (kept[name][k] for name in ("residual_ss", "total_ss", "exponent"))
    constant = kept["constant"]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        r2 = 1 - residual / total if total > 0 else np.nan
        noise = residual / dof if dof > 0 else np.nan
        adjusted = 1 - (1 - r2) * (n - int(constant)) / dof if dof > 0 else np.nan
        F = np.float64(total - residual) / slopes / noise if slopes else np.nan
        p = float(fdtrc(slopes, dof, F)) if slopes and dof > 0 else np.nan
        likelihood = -0.5 * n * (np.log(2 * np.pi * residual / n) + 2 * lift * np.log(2) + 1)
        if wanted.weights == "precision" or not _are_copies(kept):
            likelihood += 0.5 * kept["log_weights"]
        k_all = slopes + int(constant) + 1  # the variance is estimated too, as R counts
        facts = {
            "R2": float(r2),
            "adjusted R2": float(adjusted),
            "residual sd": float(np.ldexp(np.sqrt(noise), lift)),
            "degrees of freedom": float(dof),
            "F": float(F),
            "p of F": p,
            "log-likelihood": float(likelihood),
            "AIC": float(2 * k_all - 2 * likelihood),
            "BIC": float(k_all * np.log(n) - 2 * likelihood),
        }
    return {prefix + name: value for name, value in facts.items()}


def _are_copies(kept: dict[str, Any]) -> bool:
    """Whether the weights were whole: then their sum is the total, and all are 1 if it is n."""
    ones = kept["log_weights"] == 0
    return bool(kept["total"] == kept["mass"] and (kept["total"] > kept["rows"] or ones))


def _notes(model: Any, dof: float) -> tuple[str, ...]:
    notes = []
    if len(model.aliased_):
        named = ", ".join(model.terms_[j] for j in model.aliased_)
        notes.append(
            f"Spanned by the other terms: {named}. Coefficients involved are not unique; the "
            "shortest solution is shown, without standard errors."
        )
    kept = model.inference_
    if not np.all(kept["total_ss"]):
        notes.append("y is constant: there is nothing to explain, and tests mean nothing.")
    elif not np.all(kept["residual_ss"]):
        notes.append("The fit is perfect: nothing is left over to judge it by.")
    if not kept["constant"]:
        notes.append(NO_INTERCEPT)
    if dof <= 0:
        notes.append("No degrees of freedom are left for standard errors.")
    return (*notes, *missing_notes(model.schema_))


def missing_notes(schema: Any) -> list[str]:
    """What was missing in training, by column."""
    found = [
        f"{schema.name(j)}: {count:g}" for j, count in enumerate(schema.n_missing) if count > 0
    ]
    notes = [f"Missing in training ({'; '.join(found)})."] if found else []
    if schema.left_out:
        notes.append(f"Left out for a missing value: {schema.left_out:g} row(s).")
    return notes


def penalised_summary(
    model: Any, facts: dict[str, Any], note: str = SHRUNK, parts: Sequence[str] = ()
) -> SummaryTable:
    """Estimates alone, and why: with a penalty theory gives no standard errors.

    `parts` are the names of the rows of `coef_`, if there are several; else they are numbered.
    """
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    parts = parts or [f"target {k}" for k in range(len(coef))]
    rows = []
    for k, line in enumerate(coef):
        prefix = f"{parts[k]}: " if len(coef) > 1 else ""
        b0 = float(intercept[min(k, len(intercept) - 1)])
        names = ["intercept", *model.terms_] if model.fit_intercept else list(model.terms_)
        values = [b0, *line.tolist()] if model.fit_intercept else line.tolist()
        rows += [(prefix + name, value) for name, value in zip(names, values)]
    notes = (note, *missing_notes(model.schema_))
    status = vars(model).get("status_")
    if status is not None and not status.ok:
        notes = (str(status), *notes)
    return SummaryTable(
        type(model).__name__, tuple(facts.items()), ("term", "coef"), tuple(rows), notes
    )
