"""Standard errors, tests and intervals of logistic models, from what the fit kept.

Invariant: nothing is shown where theory gives no answer: penalised fits have no standard errors,
coefficients that separation sends to infinity have none either.
"""

from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtri, xlogy

from pellucid.data import Problem
from pellucid.errors import PellucidError
from pellucid.linear_model.inference import (
    COLUMNS,
    estimate_lines,
    missing_notes,
    penalised_summary,
)
from pellucid.linear_model.intervals import check_level, check_span
from pellucid.numerics.aliases import as_if_absent
from pellucid.numerics.links import expit
from pellucid.numerics.losses import softmax
from pellucid.records import SummaryTable

LINES = tuple("z" if name == "t" else name for name in COLUMNS)


def facts(known: list[dict[str, Any]], problem: Problem, w: np.ndarray, intercept: bool) -> dict:
    """What `summary()` needs: one softmax fit, or one fit per class against the others."""
    assert problem.classes is not None
    K = len(problem.classes)
    counts = np.bincount(problem.y, w, minlength=K)
    sizes = [counts] if len(known) == 1 else [np.array([counts.sum() - c, c]) for c in counts]
    if intercept:
        null = sum(-float(xlogy(n, n / n.sum()).sum()) for n in sizes)
    else:
        null = sum(float(n.sum() * np.log(len(n))) for n in sizes)
    blocks = [one["covariance"] for one in known]
    m = len(blocks[0])
    covariance = np.zeros((m * len(blocks),) * 2)
    for k, block in enumerate(blocks):
        covariance[k * m : (k + 1) * m, k * m : (k + 1) * m] = block
    # Of one table: fits differ only in whether their curvature gave a reason to ask.
    table = max(known, key=lambda one: len(one["aliased"]))
    return {
        "aliased": table["aliased"], "null_space": table["null"],
        "flat": np.unique(np.concatenate([one["flat"] for one in known])).astype(np.int64),
        "covariance": covariance, "rank": int(sum(one["rank"] for one in known)),
        "log_likelihood": -float(sum(one["loss"] for one in known)),
        "null": -null, "rows": float(problem.total),
    }  # fmt: skip


def logistic_summary(model: Any, level: float) -> SummaryTable:
    """The table of a fitted logistic model."""
    check_level(level)
    kept = vars(model).get("inference_")
    if kept is None:
        labels = [str(label) for label in model.classes_.tolist()]
        return penalised_summary(model, {"C": _strength(model)}, _why_no_errors(model), labels)
    title, B = type(model).__name__, np.column_stack([model.intercept_, model.coef_])
    prefixes, estimates = _differences(model, B)
    errors = _errors(kept["covariance"], len(estimates))
    estimates = _without_aliases(estimates, kept)
    # Errors have the intercept first, positions of columns have it last.
    unknown = {*kept["flat"].tolist(), *model.separating_}
    errors[:, [(j + 1) % errors.shape[1] for j in unknown]] = np.nan
    errors[np.isnan(estimates)] = np.nan
    names = ["intercept", *model.terms_]
    rows: list[tuple] = []
    for prefix, estimate, error in zip(prefixes, estimates, errors):
        first = 0 if model.fit_intercept else 1
        with np.errstate(invalid="ignore"):
            lines = estimate_lines(estimate[first:], error[first:], np.inf, level)
        rows += [(prefix + name, *line) for name, line in zip(names[first:], lines)]
    return SummaryTable(title, _header(model, kept), LINES, tuple(rows), _notes(model, kept))


def _differences(model: Any, B: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the coefficients that have standard errors."""
    labels = [str(label) for label in model.classes_.tolist()]
    if len(labels) == 2:
        return [""], B
    if model._separate():
        return [f"{label}: " for label in labels], B
    return [f"{label}: " for label in labels[1:]], B[1:] - B[0]


def _without_aliases(estimates: np.ndarray, kept: dict[str, Any]) -> np.ndarray:
    """As if aliased columns were not there: NaN for them, the same scores by the others."""
    if not len(kept["aliased"]):
        return estimates
    x = np.roll(estimates, -1, axis=1)  # intercepts last
    x = as_if_absent(x.T, kept["aliased"], kept["null_space"]).T
    x[:, kept["aliased"]] = np.nan
    return np.roll(x, 1, axis=1)


def _errors(covariance: np.ndarray, q: int) -> np.ndarray:
    """Standard errors (q, p + 1), the intercept first."""
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.diagonal(covariance)).reshape(q, -1)
    return np.column_stack([errors[:, -1], errors[:, :-1]])


def _header(model: Any, kept: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    rows, rank, value = kept["rows"], kept["rank"], kept["log_likelihood"]
    K = len(model.classes_)
    facts: list[tuple[str, Any]] = [("rows", rows)]
    if model._separate():
        return tuple(facts)
    free = (K - 1) * int(model.fit_intercept)
    if K == 2:
        facts.append(("class", str(model.classes_.tolist()[1])))
    else:
        facts.append(("compared with", str(model.classes_.tolist()[0])))
    facts += [
        ("rank", rank), ("log-likelihood", value), ("deviance", -2 * value),
        ("null deviance", -2 * kept["null"]), ("AIC", 2 * rank - 2 * value),
        ("BIC", rank * float(np.log(rows)) - 2 * value),
    ]  # fmt: skip
    gain = 2 * (value - kept["null"])
    if rank > free:
        facts += [("LR chi2", gain), ("p of LR", float(chdtrc(rank - free, max(gain, 0.0))))]
        if kept["null"] < 0:
            facts.append(("McFadden R2", 1 - value / kept["null"]))
    return tuple(facts)


def _notes(model: Any, kept: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    names = [*model.terms_, "intercept"]
    if model._separate():
        notes.append(
            "Every class has a fit of its own against the others: the same rows count in all of "
            "them, so there is no common likelihood, AIC or test."
        )
    if len(kept["aliased"]):
        named = ", ".join(names[j] for j in kept["aliased"])
        notes.append(
            f"Spanned by the other terms: {named}. The others are shown as if these were not there; "
            "predictions are not affected (coef_ is another of the equally good answers)."
        )
    if getattr(model, "firth", False):
        notes.append("Firth's bias-reduced estimates; the log-likelihood is without his term.")
    if len(model.separating_):
        notes.append("Standard errors of columns that separate the classes are not shown.")
    elif len(kept["flat"]):
        notes.append("Coefficients without a standard error are not told by rows that have weight.")
    if not model.status_.ok:
        notes.append(str(model.status_))
    return (*notes, *missing_notes(model.schema_))


def _strength(model: Any) -> float:
    return float(np.max(vars(model).get("C_", getattr(model, "C", np.nan))))


def _why_no_errors(model: Any) -> str:
    if np.isfinite(_strength(model)):
        return (
            "Coefficients are shrunk by a penalty: theory gives no standard errors or p-values "
            "here. Fit with C=np.inf for them."
        )
    if "C_" in vars(model):
        return (
            "The penalty was chosen by the same rows: theory gives no standard errors after that. "
            "Fit LogisticRegression(C=np.inf) for them."
        )
    return (
        "No standard errors were kept: solver='auto' keeps them, for tables that are not very wide and "
        "weights of ordinary size."
    )


def probability_interval(model: Any, X: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Ends (n, K) of intervals for the probabilities, on the scale of each class's log-odds.

    The log-odds of class k, z_k - log sum of exp(z_l) over the others, have the slopes
    (1 for k, -p_l / (1 - p_k) for l) by the scores.
    """
    check_level(level)
    kept = vars(model).get("inference_")
    if kept is None or model._separate():
        what = "one-vs-rest fits have no joint intervals" if kept else _why_no_errors(model)
        raise PellucidError(f"{type(model).__name__} has no predict_interval here: {what}")
    if len(model.separating_):
        raise PellucidError(
            f"{type(model).__name__} has no predict_interval here: " + " ".join(_notes(model, kept))
        )
    table = X if isinstance(X, np.ndarray) else X.toarray()
    table = np.column_stack([table, np.full(len(table), float(model.fit_intercept))])
    null, size = kept["null_space"], np.abs(table) + np.append(np.abs(model.means_), 0.0)
    check_span(table @ null, size @ np.abs(null))
    K = len(model.classes_)
    scores = model._scores(X)
    Z = np.column_stack([np.zeros(len(table)), scores]) if K == 2 else scores
    P = softmax(Z)
    slopes = _slopes(P)  # (n, K, q)
    blocks = kept["covariance"].reshape(K - 1, table.shape[1], K - 1, table.shape[1])
    V = np.einsum("ni,kilj,nj->nkl", table, blocks, table, optimize=True)
    errors = np.sqrt(np.maximum(np.einsum("nak,nkl,nal->na", slopes, V, slopes), 0.0))
    reach = ndtri((1 + level) / 2) * errors
    odds = _log_odds(Z)
    return expit(odds - reach), expit(odds + reach)


def _slopes(P: np.ndarray) -> np.ndarray:
    """Slopes of the log-odds of class k by the scores of the classes 1..q, (n, K, q)."""
    K = P.shape[1]
    others = np.where(np.eye(K, dtype=bool), 0.0, P[:, None, :])  # (n, k, l)
    total = others.sum(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(total > 0, others / total, 0.0)
    return (np.eye(K) - shares)[:, :, 1:]


def _log_odds(Z: np.ndarray) -> np.ndarray:
    """z_k - log sum_{l != k} exp(z_l), (n, K)."""
    K = Z.shape[1]
    out = np.empty_like(Z)
    for k in range(K):
        rest = np.delete(Z, k, axis=1)
        top = rest.max(axis=1)
        out[:, k] = Z[:, k] - top - np.log(np.exp(rest - top[:, None]).sum(axis=1))
    return out
