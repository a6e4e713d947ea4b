"""Estimates with standard errors and fit statistics, from what fits without a penalty kept.

One producer of the record `Estimates` for least squares, one for generalised linear models and one
for logistic models. In all arrays the intercept comes last.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from pellucid.errors import PellucidError
from pellucid.linear_model._inference.summary_table import (
    SHRUNK,
    Estimates,
    Request,
    missing_notes,
    penalised_summary,
)
from pellucid.numerics.collinearity import as_if_absent
from pellucid.numerics.objectives.families import NORMAL, GLMLoss
from pellucid.numerics.objectives.links import LINKS
from pellucid.records import SummaryTable

BOOTSTRAP = "pellucid.inspection.bootstrap gives intervals for any model."
NO_INTERCEPT = "Without an intercept, R2 and F compare the model with 0, not with the mean of y."
CONSTANT_Y = "y is constant: there is nothing to explain, and the tests have no meaning."
PERFECT = "The fit is perfect, so there are no residuals to estimate standard errors from."


def user_root(root: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """A root of the covariance of (b, b0), from one (q, p + 1, .) of b and of scores at `centre`."""
    root = root.copy()
    root[:, -1] -= centre @ root[:, :-1]
    return root


def alias_note(names: Sequence[str], aliased: np.ndarray) -> list[str]:
    """Which columns are combinations of others."""
    if not len(aliased):
        return []
    named = ", ".join(names[j] for j in aliased)
    return [
        f"Combinations of other terms: {named}. The other terms are shown as if these were absent; "
        "predictions are not affected (coef_ is another of the equally good solutions)."
    ]


# Least squares ----------------------------------------------------------------------------------


def least_squares_facts(model: Any) -> dict[str, Any]:
    """What the fit of a `LinearRegression` kept for inference."""
    kept = vars(model).get("inference_")
    if kept is None:
        raise PellucidError(
            "This LinearRegression has no standard errors: positive=True has no simple theory, and "
            f"very wide sparse tables are solved without them. {BOOTSTRAP}"
        )
    return kept


def least_squares(model: Any, request: Request) -> Estimates:
    """The estimates of a fitted `LinearRegression`."""
    kept, slopes = least_squares_facts(model), model.rank_
    n = request.n_rows(kept["total"], kept["rows"])
    coef = np.atleast_2d(model.coef_)
    targets, dof = range(len(coef)), n - slopes - int(model.fit_intercept)
    coef = np.column_stack([coef, np.broadcast_to(model.intercept_, len(coef))])
    errors = np.empty_like(coef)
    for k in targets:
        noise = np.sqrt(kept["residual_ss"][k] / dof) if dof > 0 else np.nan
        with np.errstate(over="ignore", invalid="ignore"):
            errors[k] = kept["unit_error"] * np.ldexp(noise, kept["exponent"][k])
    return Estimates(
        "Least squares", [f"target {k}: " if len(coef) > 1 else "" for k in targets], coef, coef,
        errors, slopes + int(model.fit_intercept), dof, GLMLoss(NORMAL, LINKS["identity"]),
        [("rows", n), ("terms", coef.shape[1] - 1), ("rank", slopes),
         ("standard errors", request.errors)],
        [_target_facts(kept, k, slopes, dof, n, request) for k in targets],
        [("condition number", float(kept["condition"]))], _least_squares_notes(model, dof),
    )  # fmt: skip


def _target_facts(
    kept: dict[str, Any], k: int, slopes: int, dof: float, n: float, request: Request
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
        if request.weights == "precision" or not _were_copies(kept):
            likelihood += 0.5 * kept["log_weights"]
        k_all = slopes + int(constant) + 1  # the variance is estimated too, as R counts
        return {
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


def _were_copies(kept: dict[str, Any]) -> bool:
    """Whether the weights were whole: then their sum is the total, and all are 1 if it is n."""
    ones = kept["log_weights"] == 0
    return bool(kept["total"] == kept["mass"] and (kept["total"] > kept["rows"] or ones))


def _least_squares_notes(model: Any, dof: float) -> list[str]:
    notes, kept = [], model.inference_
    if len(model.aliased_):
        named = ", ".join(model.terms_[j] for j in model.aliased_)
        notes.append(
            f"Combinations of other terms: {named}. The coefficients involved are not unique; the "
            "shortest solution is shown, without standard errors."
        )
    if not np.all(kept["total_ss"]):
        notes.append(CONSTANT_Y)
    elif not np.all(kept["residual_ss"]):
        notes.append(PERFECT)
    if not kept["constant"]:
        notes.append(NO_INTERCEPT)
    if dof <= 0:
        notes.append("No degrees of freedom are left for standard errors.")
    return [*notes, *missing_notes(model.schema_)]


# Generalised linear models ----------------------------------------------------------------------


def glm(model: Any, request: Request) -> Estimates | SummaryTable:
    """The estimates of a fitted GLM."""
    kept = vars(model).get("inference_")
    if kept is None:
        return _glm_without_errors(model)
    n = request.n_rows(kept["total"], kept["rows"])
    residual = n - kept["rank"]
    dispersion = dispersion_of(kept, residual)
    coef = np.append(model.coef_, model.intercept_)
    values = as_if_absent(coef, kept["aliased"], kept["null"])
    root = user_root(kept["root"][None], kept["centre"])[0]
    errors = _row_norms(root) * np.sqrt(dispersion)
    values[kept["aliased"]] = errors[kept["aliased"]] = np.nan
    errors[kept["endless"].any(axis=1)] = np.nan
    facts = _glm_facts(model, kept, n, dispersion, request) | {"condition number": _condition(root)}
    return Estimates(
        type(model).__name__, [""], coef[None], values[None], errors[None], kept["rank"],
        np.inf if kept["known"] else residual, model._loss(), [], [facts], [], _glm_notes(model),
    )  # fmt: skip


def _glm_without_errors(model: Any) -> SummaryTable:
    if model.solver == "gd":
        raise PellucidError("solver='gd' is for watching: fit with solver='auto' for a summary.")
    facts = {"alpha": float(model.alpha)}
    if model.l1_ratio > 0:
        facts["l1_ratio"] = float(model.l1_ratio)
    return penalised_summary(model, facts, SHRUNK if model.alpha > 0 else too_wide())


def too_wide() -> str:
    """Why an unpenalised GLM has no standard errors."""
    from pellucid.linear_model._logistic.solver import INFERENCE_SIZE

    return (
        f"Models with {INFERENCE_SIZE} or more columns keep no covariance, so there are no standard "
        f"errors. {BOOTSTRAP}"
    )


def dispersion_of(kept: dict[str, Any], residual: float) -> float:
    """1 if the family has no dispersion to estimate, else Pearson's estimate."""
    if kept["known"]:
        return 1.0
    return kept["pearson"] / residual if residual > 0 else np.nan


def _glm_facts(
    model: Any, kept: dict[str, Any], n: float, dispersion: float, request: Request
) -> dict[str, Any]:
    k, residual = kept["rank"] + (not kept["known"]), n - kept["rank"]
    likelihood = kept[
        "log_likelihood" if request.weights == "frequency" else "log_likelihood_precision"
    ]
    facts = {
        "family": kept["family"], "link": kept["link"], "rows": n, "rank": kept["rank"],
        "standard errors": request.errors, "degrees of freedom": residual,
        "deviance": kept["deviance"], "null deviance": kept["null_deviance"],
        "dispersion": dispersion, "log-likelihood": likelihood, "AIC": 2 * k - 2 * likelihood,
        "BIC": k * np.log(n) - 2 * likelihood,
    }  # fmt: skip
    slopes = kept["rank"] - int(model.fit_intercept)
    gain = kept["null_deviance"] - kept["deviance"]
    if model.fit_intercept and slopes > 0 and np.isfinite(gain):
        if kept["known"]:
            facts |= {"LR chi2": gain, "p of LR": float(chdtrc(slopes, max(gain, 0.0)))}
        elif residual > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                F = float(np.divide(gain / slopes, dispersion))
            facts |= {"F": F, "p of F": float(fdtrc(slopes, residual, max(F, 0.0)))}
    return facts


def _condition(root: np.ndarray) -> float:
    """Condition of the coefficients, scaled to equal size: its square root, as for X."""
    used = root.any(axis=1)
    if not used.any() or not np.isfinite(root).all():
        return float("inf")
    rows = np.ldexp(root[used], -_sizes(root[used])[:, None])
    return float(np.linalg.cond(rows / np.linalg.norm(rows, axis=1)[:, None]))


def _row_norms(root: np.ndarray) -> np.ndarray:
    """Lengths of the rows; their squares neither overflow nor vanish."""
    sizes = _sizes(root)
    with np.errstate(over="ignore"):
        return np.ldexp(np.linalg.norm(np.ldexp(root, -sizes[:, None]), axis=1), sizes)


def _sizes(root: np.ndarray) -> np.ndarray:
    """The binary exponent of the largest entry of each row."""
    return np.frexp(np.abs(root).max(axis=1, initial=0.0))[1]


def _glm_notes(model: Any) -> list[str]:
    kept = model.inference_
    notes = alias_note([*model.terms_, "intercept"], kept["aliased"])
    if kept.get("constant"):
        notes.append(CONSTANT_Y)
    elif not (kept["known"] or kept["pearson"] > 0):
        notes.append(PERFECT)
    if not model.status_.ok:
        notes.append(str(model.status_))
    return [*notes, *missing_notes(model.schema_)]


# Logistic models --------------------------------------------------------------------------------


def logistic(model: Any, request: Request) -> Estimates | SummaryTable:
    """The estimates of a fitted logistic model: differences between classes."""
    kept = vars(model).get("inference_")
    if kept is None:
        labels = [str(label) for label in model.classes_.tolist()]
        return penalised_summary(model, {"C": _strength(model)}, why_no_errors(model), labels)
    prefixes, coef = _differences(model, np.column_stack([model.coef_, model.intercept_]))
    flat = kept["root"]
    root = flat.reshape(len(coef), len(flat) // len(coef), flat.shape[1])
    errors = np.linalg.norm(user_root(root, kept["centre"]), axis=2)
    errors.ravel()[kept["flat"]] = np.nan
    errors[:, list(model.separating_)] = np.nan
    values = coef
    if len(kept["aliased"]):
        values = as_if_absent(coef.T, kept["aliased"], kept["null_space"]).T
        values[:, kept["aliased"]] = np.nan
    errors[np.isnan(values)] = np.nan
    return Estimates(
        type(model).__name__, prefixes, coef, values, errors, kept["rank"], np.inf, None,
        [], [_logistic_facts(model, kept, request)], [], logistic_notes(model),
    )  # fmt: skip


def classes_of_fit(model: Any) -> tuple[list[str], bool]:
    """Labels of the classes of the fit, and whether each has a fit of its own."""
    present = model.inference_["present"]
    labels = [str(label) for label in model.classes_[present].tolist()]
    return labels, model._separate() and len(labels) > 2


def _differences(model: Any, B: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values (q, p + 1) of the coefficients that have standard errors."""
    labels, separate = classes_of_fit(model)
    B = B[model.inference_["present"]] if len(B) > 1 else B
    if len(labels) == 2:
        # One-vs-rest fits of two classes mirror each other; scores of a softmax do not.
        return [""], B[-1:] if model._separate() or len(B) == 1 else B[1:] - B[:1]
    if separate:
        return [f"{label}: " for label in labels], B
    return [f"{label}: " for label in labels[1:]], B[1:] - B[0]


def _logistic_facts(model: Any, kept: dict[str, Any], request: Request) -> dict[str, Any]:
    rows = request.n_rows(kept["rows"], kept["n"])
    rank, value = kept["rank"], kept["log_likelihood"]
    labels, separate = classes_of_fit(model)
    K = len(labels)
    facts: dict[str, Any] = {"rows": rows, "standard errors": request.errors}
    if separate:
        return facts
    free = (K - 1) * int(model.fit_intercept)
    facts |= {"class": labels[1]} if K == 2 else {"compared with": labels[0]}
    facts |= {
        "rank": rank, "log-likelihood": value, "deviance": -2 * value,
        "null deviance": -2 * kept["null"], "AIC": 2 * rank - 2 * value,
        "BIC": rank * float(np.log(rows)) - 2 * value,
    }  # fmt: skip
    gain = 2 * (value - kept["null"])
    if rank > free:
        facts |= {"LR chi2": gain, "p of LR": float(chdtrc(rank - free, max(gain, 0.0)))}
        if kept["null"] < 0:
            facts["McFadden R2"] = 1 - value / kept["null"]
    return facts


def logistic_notes(model: Any) -> list[str]:
    """Remarks below the table of a logistic model."""
    notes, kept = [], model.inference_
    labels, separate = classes_of_fit(model)
    if len(labels) < len(model.classes_):
        without = ", ".join(map(str, np.delete(model.classes_, kept["present"]).tolist()))
        notes.append(f"Not in the fit, because their weight is 0: {without}.")
    if separate:
        notes.append(
            "Each class has its own fit against the others. All fits use the same rows, so there is "
            "no common likelihood, AIC or test."
        )
    notes += alias_note([*model.terms_, "intercept"], kept["aliased"])
    if getattr(model, "firth", False):
        notes.append("Firth's bias-reduced estimates; the log-likelihood is without his penalty.")
    if len(model.separating_):
        notes.append("Standard errors of columns that separate the classes are not shown.")
    elif len(kept["flat"]):
        notes.append("Coefficients without a standard error are not determined by the rows.")
    if not model.status_.ok:
        notes.append(str(model.status_))
    return [*notes, *missing_notes(model.schema_)]


def _strength(model: Any) -> float:
    return float(np.max(vars(model).get("C_", getattr(model, "C", np.nan))))


def why_no_errors(model: Any) -> str:
    """Why a logistic model has no standard errors."""
    if np.isfinite(_strength(model)):
        return (
            "The coefficients are shrunk by a penalty, so theory gives no standard errors or "
            "p-values. Fit with C=np.inf for them."
        )
    if "C_" in vars(model):
        return (
            "The penalty was chosen with the same rows, so theory gives no standard errors. Fit "
            "LogisticRegression(C=np.inf) for them."
        )
    return (
        "No standard errors were kept. solver='auto' keeps them, unless the table is very wide or the "
        "weights are extreme."
    )
