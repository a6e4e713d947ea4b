"""Standard errors and fit statistics of unpenalised generalised linear models.

Invariant: what `summary()` shows was summed up during the fit; no data are needed, and nothing is
shown where theory gives no answer.
"""

from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc, gammaln, xlogy

from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model.glm_solver import Task, information
from pellucid.linear_model.inference import COLUMNS, estimate_lines, missing_notes
from pellucid.numerics.families import GLMLoss
from pellucid.records import SummaryTable

# Families whose variance is a known function of the mean: nothing else is estimated.
KNOWN_DISPERSION = ("binomial", "poisson", "negative_binomial")


def facts(task: Task, x: np.ndarray, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
    """Covariance (for dispersion 1), deviances, dispersion, log-likelihood, counts."""
    family = loss.family
    covariance, rank, aliased = information(task, x)
    y, w = problem.y, problem.weights
    task.objective.evaluate(x)
    mu = loss.link.inverse(task.objective.last["eta"])
    with np.errstate(all="ignore"):
        deviance = 2 * float(w @ family.half_deviance(y, mu))
        null = 2 * float(w @ family.half_deviance(y, np.full_like(y, w @ y / w.sum())))
        pearson = float(w @ ((y - mu) ** 2 / family.variance(mu)))
        likelihood = log_likelihood(family.name, y, mu, w, deviance, problem.total)
    n = problem.total
    known = family.name in KNOWN_DISPERSION
    dispersion = 1.0 if known else (pearson / (n - rank) if n > rank else np.nan)
    return {
        "covariance": covariance, "aliased": aliased, "rank": rank, "rows": n,
        "deviance": deviance, "null_deviance": null if problem.offset is None else np.nan,
        "pearson": pearson, "dispersion": dispersion, "log_likelihood": likelihood,
        "known": known, "family": family.name, "link": loss.link.name,
    }  # fmt: skip


def log_likelihood(
    name: str, y: np.ndarray, mu: np.ndarray, w: np.ndarray, deviance: float, n: float
) -> float:
    """At the fitted means; an estimated dispersion is deviance / n, as in R. NaN if unknown."""
    scale = deviance / n
    if name == "poisson":
        return float(w @ (xlogy(y, mu) - mu - gammaln(y + 1)))
    if name == "binomial":
        return float(w @ (xlogy(y, mu) + xlogy(1 - y, 1 - mu)))
    if name == "normal":
        return -0.5 * n * (np.log(2 * np.pi * scale) + 1)
    if name == "gamma":
        shape = 1 / scale
        each = shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)
        return float(w @ each)
    if name == "inverse_gaussian":
        return -0.5 * float(w @ (np.log(2 * np.pi * scale) + 3 * np.log(y) + 1))
    return float("nan")


def check_facts(kept: Any, p: int) -> None:
    """Refuse what a forged model file put in place of the facts."""
    covariance = kept.get("covariance") if isinstance(kept, dict) else None
    right = isinstance(covariance, np.ndarray) and covariance.shape == (p + 1, p + 1)
    aliased = np.asarray(kept["aliased"]) if right else np.zeros(0)
    if not right or aliased.ndim != 1 or np.any((aliased < 0) | (aliased >= p + 1)):
        raise DataError("the facts for inference belong to other columns")


def glm_summary(model: Any, level: float) -> SummaryTable:
    """The table of a fitted GLM."""
    if not 0 < level < 1:
        raise ParameterError(f"level must be in (0, 1). Got {level!r} instead.")
    kept = vars(model).get("inference_")
    title = f"{type(model).__name__}"
    if kept is None:
        return penalised_summary(model, title)
    errors = np.sqrt(np.diagonal(kept["covariance"]) * kept["dispersion"])
    estimate, names = model.coef_, list(model.terms_)
    used = errors[:-1]
    if model.fit_intercept:
        names = ["intercept", *names]
        estimate, used = np.append(model.intercept_, estimate), np.append(errors[-1], used)
    residual = kept["rows"] - kept["rank"]
    dof = np.inf if kept["known"] else residual
    with np.errstate(invalid="ignore"):
        lines = estimate_lines(estimate, used, dof, level)
    rows = tuple((name, *line) for name, line in zip(names, lines))
    columns = tuple("z" if kept["known"] and c == "t" else c for c in COLUMNS)
    return SummaryTable(title, tuple(_header(model, kept, residual)), columns, rows, _notes(model))


def _header(model: Any, kept: dict[str, Any], residual: float) -> list[tuple[str, Any]]:
    extra = 0 if kept["known"] else 1
    k, n = kept["rank"] + extra, kept["rows"]
    slopes = kept["rank"] - int(model.fit_intercept)
    gain = kept["null_deviance"] - kept["deviance"]
    test: list[tuple[str, Any]] = []
    if model.fit_intercept and slopes > 0 and np.isfinite(gain):
        if kept["known"]:
            test = [("LR chi2", gain), ("p of LR", float(chdtrc(slopes, max(gain, 0.0))))]
        elif residual > 0:
            F = gain / slopes / kept["dispersion"]
            test = [("F", F), ("p of F", float(fdtrc(slopes, residual, max(F, 0.0))))]
    return [
        ("family", kept["family"]), ("link", kept["link"]), ("rows", n), ("rank", kept["rank"]),
        ("degrees of freedom", residual), ("deviance", kept["deviance"]),
        ("null deviance", kept["null_deviance"]), ("dispersion", kept["dispersion"]),
        ("log-likelihood", kept["log_likelihood"]), ("AIC", 2 * k - 2 * kept["log_likelihood"]),
        ("BIC", k * np.log(n) - 2 * kept["log_likelihood"]), *test,
    ]  # fmt: skip


def _notes(model: Any) -> tuple[str, ...]:
    aliased, notes = model.inference_["aliased"], []
    if len(aliased):
        names = [*model.terms_, "intercept"]
        named = ", ".join(names[j] for j in aliased)
        notes.append(
            f"Spanned by the other terms: {named}. Coefficients are not unique, and standard errors "
            "are not shown; predictions are not affected."
        )
    if not model.status_.ok:
        notes.append(str(model.status_))
    return (*notes, *missing_notes(model.schema_))


def penalised_summary(model: Any, title: str) -> SummaryTable:
    """Estimates alone: with a penalty theory gives no standard errors."""
    if model.solver == "gd":
        raise PellucidError("solver='gd' is for watching: fit with solver='auto' for a summary.")
    names = ["intercept", *model.terms_]
    rows = tuple(zip(names, [float(model.intercept_), *model.coef_.tolist()]))
    note = (
        "Coefficients are shrunk by a penalty (or solved as least squares): theory gives no "
        "standard errors or p-values here. Fit with alpha=0, or LinearRegression, for them."
    )
    notes = (note, *missing_notes(model.schema_))
    return SummaryTable(title, (("alpha", float(model.alpha)),), ("term", "coef"), rows, notes)
