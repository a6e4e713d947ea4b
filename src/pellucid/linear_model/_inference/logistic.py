"""Standard errors and tests of logistic models, from what the fit kept.

Invariant: nothing is shown where theory gives no answer: penalised fits have no standard errors,
coefficients that separation sends to infinity have none either.
"""

from typing import Any

import numpy as np
from scipy.special import chdtrc, xlogy

from pellucid.data import Problem
from pellucid.linear_model._inference.intervals import slack
from pellucid.linear_model._inference.least_squares import (
    COLUMNS,
    estimate_lines,
    few_groups_note,
    missing_notes,
    penalised_summary,
)
from pellucid.linear_model._inference.logistic_information import joint_root
from pellucid.linear_model._inference.robust import Wanted
from pellucid.linear_model._logistic.solver import INFERENCE_SIZE
from pellucid.numerics.collinearity import as_if_absent
from pellucid.records import SummaryTable

LINES = tuple("z" if name == "t" else name for name in COLUMNS)


def facts(known: list[dict[str, Any]], problem: Problem, w: np.ndarray, intercept: bool) -> dict:
    """What `summary()` needs: one softmax fit, or one fit per class against the others.

    present : positions of the classes that are told apart; root : root root' is the covariance of
    coefficients and of scores at `centre`, class by class; joint : that of fits against the others,
    of all together; slack : see `intervals.check_span`. Nothing if there are too many of them.
    """
    K = problem.n_classes
    if len(known) * len(known[0]["root"]) > INFERENCE_SIZE:
        return {}
    counts = np.bincount(problem.y, w, minlength=K)
    sizes = [counts] if len(known) == 1 else [np.array([counts.sum() - c, c]) for c in counts]
    if intercept:
        null = sum(-float(xlogy(n, n / n.sum()).sum()) for n in sizes)
    else:
        null = sum(float(n.sum() * np.log(len(n))) for n in sizes)
    # Of one table: fits differ only in whether their curvature gave a reason to ask.
    table = max(known, key=lambda one: len(one["aliased"]))
    centre = known[0]["prepared"].centre
    found = {
        "aliased": table["aliased"], "null_space": table["null"],
        "flat": np.concatenate(
            [one["flat"] + k * len(one["root"]) for k, one in enumerate(known)]
        ).astype(np.int64),
        "root": _apart([one["prepared"].root(one["root"], centre) for one in known]),
        "centre": centre, "slack": slack(problem.X, table["null"][:-1], table["null"][-1]),
        "rank": int(sum(one["rank"] for one in known)),
        "log_likelihood": -float(sum(one["loss"] for one in known)),
        "null": -null, "rows": float(problem.total), "n": float(problem.n), "present": np.arange(K),
    }  # fmt: skip
    if len(known) > 1:
        found["joint"] = known[0]["prepared"].root(joint_root(known), centre)
    return {"inference_": found}


def _apart(blocks: list[np.ndarray]) -> np.ndarray:
    """Roots of separate fits along the diagonal."""
    m, ends = len(blocks[0]), np.cumsum([0] + [block.shape[1] for block in blocks])
    out = np.zeros((m * len(blocks), ends[-1]))
    for k, block in enumerate(blocks):
        out[k * m : (k + 1) * m, ends[k] : ends[k + 1]] = block
    return out


def told_apart(model: Any, kept: dict[str, Any]) -> tuple[list[str], bool]:
    """Labels of the classes of the fit, and whether each has a fit of its own."""
    labels = [str(label) for label in model.classes_[kept["present"]].tolist()]
    return labels, model._separate() and len(labels) > 2


def logistic_summary(model: Any, wanted: Wanted) -> SummaryTable:
    """The table of a fitted logistic model."""
    wanted.check()
    kept = vars(model).get("inference_")
    if kept is None:
        labels = [str(label) for label in model.classes_.tolist()]
        return penalised_summary(model, {"C": _strength(model)}, why_no_errors(model), labels)
    title, B = type(model).__name__, np.column_stack([model.intercept_, model.coef_])
    prefixes, estimates = differences(model, kept, B)
    errors = _errors(kept, len(estimates))
    estimates = _without_aliases(estimates, kept)
    # Errors have the intercept first, positions have it last.
    last = np.roll(errors, -1, axis=1)
    last.ravel()[kept["flat"]] = np.nan
    last[:, list(model.separating_)] = np.nan
    errors = np.roll(last, 1, axis=1)
    errors[np.isnan(estimates)] = np.nan
    wald: dict[str, float] = {}
    if wanted.errors != "classical":
        from pellucid.linear_model._inference.logistic_robust import robust_errors

        errors, wald = robust_errors(model, kept, wanted, errors)
    names = ["intercept", *model.terms_]
    rows: list[tuple] = []
    for prefix, estimate, error in zip(prefixes, estimates, errors):
        first = 0 if model.fit_intercept else 1
        with np.errstate(invalid="ignore"):
            lines = estimate_lines(estimate[first:], error[first:], np.inf, wanted.level)
        rows += [(prefix + name, *line) for name, line in zip(names[first:], lines)]
    header = (*_header(model, kept, wanted), *wald.items())
    notes = (*notes_of(model, kept), *few_groups_note(wald))
    return SummaryTable(title, header, LINES, tuple(rows), notes)


def differences(model: Any, kept: dict[str, Any], B: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names and values of the coefficients that have standard errors."""
    labels, separate = told_apart(model, kept)
    B = B[kept["present"]] if len(B) > 1 else B
    if len(labels) == 2:
        # Fits against the rest are each other's mirror image; scores of a softmax are not.
        return [""], B[-1:] if model._separate() or len(B) == 1 else B[1:] - B[:1]
    if separate:
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


def _errors(kept: dict[str, Any], q: int) -> np.ndarray:
    """Standard errors (q, p + 1), the intercept first."""
    flat = kept["root"]
    root = flat.reshape(q, len(flat) // q, flat.shape[1])
    intercept = root[:, -1] - kept["centre"] @ root[:, :-1]
    return np.linalg.norm(np.concatenate([intercept[:, None], root[:, :-1]], axis=1), axis=2)


def _header(model: Any, kept: dict[str, Any], wanted: Wanted) -> tuple[tuple[str, Any], ...]:
    rows = kept["rows" if wanted.weights == "frequency" else "n"]
    rank, value = kept["rank"], kept["log_likelihood"]
    labels, separate = told_apart(model, kept)
    K = len(labels)
    facts: list[tuple[str, Any]] = [("rows", rows), ("standard errors", wanted.errors)]
    if separate:
        return tuple(facts)
    free = (K - 1) * int(model.fit_intercept)
    facts.append(("class", labels[1]) if K == 2 else ("compared with", labels[0]))
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


def notes_of(model: Any, kept: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    names = [*model.terms_, "intercept"]
    labels, separate = told_apart(model, kept)
    if len(labels) < len(model.classes_):
        without = ", ".join(map(str, np.delete(model.classes_, kept["present"]).tolist()))
        notes.append(f"Not in the fit, by their weight of 0: {without}.")
    if separate:
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


def why_no_errors(model: Any) -> str:
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
