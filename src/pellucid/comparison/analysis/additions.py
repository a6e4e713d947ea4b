"""What a comparison adds to a model that it saves, from the model's out-of-fold predictions.

Out-of-fold errors give prediction intervals and sets (`pellucid.conformal`); costs of false alarms
and misses give a threshold for the probability of the positive class. The coverage that is reported is
measured on rows that the bound has not seen: fold by fold with the errors of the other folds, and on
the test set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid import conformal
from pellucid.comparison.planning.plan import Plan

LEVEL = 0.9  # of the coverage that is reported
Found = Mapping[str, np.ndarray]  # out-of-fold predictions of a model


def additions(plan: Plan, found: Found | None) -> dict[str, Any]:
    """The attributes to set on the fitted model, by name; `threshold_` is that of class code 1."""
    errors = None if found is None else unseen_errors(plan, found)
    if found is None or errors is None:
        return {}
    kept, sizes = conformal.kept(*errors)
    out: dict[str, Any] = {"unseen_errors_": kept, "fold_sizes_": sizes, "fold_models_": []}
    if plan.dataset.classes is not None:
        out["adaptive_errors_"] = conformal.kept(*unseen_errors(plan, found, "adaptive"))[0]
    chosen = threshold(plan, found)
    return out if chosen is None else out | {"threshold_": chosen["threshold"]}


def unseen_errors(plan: Plan, found: Found, kind: str = "smallest") -> Any:
    """Errors, the fold of each and the number of folds; a row of weight k counts k times.

    None without probabilities.
    """
    rows, places = _once(found)
    errors = errors_of(plan.dataset.y[rows], found, places, kind)
    if errors is None:
        return None
    counts, fold = _counts(plan, rows), found["fold"][places]
    return np.repeat(errors, counts), np.repeat(fold, counts), int(fold.max()) + 1


def errors_of(
    y: np.ndarray, found: Mapping[str, Any], places: Any, kind: str = "smallest"
) -> np.ndarray | None:
    """The errors of some predictions; None without probabilities."""
    if y.dtype.kind == "f":
        return np.abs(y - found["labels"][places])
    if found.get("proba") is None:
        return None
    return conformal.class_scores(found["proba"][places], kind)[np.arange(len(y)), y]


def _once(found: Found) -> tuple[np.ndarray, np.ndarray]:
    """Each row once, with its place: repeated cross-validation predicts it several times.

    The first time counts, so that only the folds of the first repetition matter.
    """
    return np.unique(found["rows"], return_index=True)


def _counts(plan: Plan, rows: np.ndarray) -> np.ndarray:
    weights = plan.dataset.weights[rows]
    whole = (weights == np.floor(weights)).all() and weights.sum() < 1e7
    return weights.astype(np.int64) if whole else np.ones(len(rows), dtype=np.int64)


def describe_intervals(
    plan: Plan, found: Found | None, final_fit: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Size and coverage of the intervals or sets of the recommended model, for results.json.

    `accuracy` of the most probable class alone explains a coverage above the level: no set is empty.
    """
    errors = None if found is None else unseen_errors(plan, found)
    if found is None or errors is None:
        return None
    reach = conformal.bound(errors[0], LEVEL)
    out: dict[str, Any] = {"level": LEVEL, "method": final_fit.get("method", "plain")}
    out["coverage"] = coverage_by_folds(plan, found)
    if plan.dataset.classes is None:
        out["reach"] = reach
    else:
        proba = found["proba"]
        out["classes"] = float(in_set(proba, reach).sum(axis=1).mean())
        out["accuracy"] = float((proba.argmax(axis=1) == plan.dataset.y[found["rows"]]).mean())
    if final_fit.get("covered"):
        out["test_coverage"] = final_fit["covered"]["share"]
        out["test_size"] = final_fit["covered"]["size"]
    return out


def in_set(proba: np.ndarray, reach: float) -> np.ndarray:
    """(n, K), True for the classes of the prediction sets."""
    sets = 1.0 - proba <= reach
    sets[np.arange(len(proba)), proba.argmax(axis=1)] = True
    return sets


def coverage_by_folds(plan: Plan, found: Found) -> float:
    """Share of rows that are covered if the bound comes from the other folds."""
    rows, places = _once(found)
    errors = errors_of(plan.dataset.y[rows], found, places)
    assert errors is not None
    fold, counts = found["fold"][places], _counts(plan, rows)
    inside = np.zeros(len(rows))
    for k in np.unique(fold):
        others = np.repeat(errors[fold != k], counts[fold != k])
        reach = conformal.bound(np.sort(others), LEVEL)
        own = fold == k
        inside[own] = errors[own] <= reach
        if plan.dataset.classes is not None:
            sets = in_set(found["proba"][places][own], reach)
            inside[own] = sets[np.arange(own.sum()), plan.dataset.y[rows[own]]]
    return float(np.average(inside, weights=counts)) if counts.any() else float(inside.mean())


def threshold(plan: Plan, found: Found) -> dict[str, float] | None:
    """The threshold of class code 1 with the lowest total cost of the out-of-fold predictions.

    None without costs, probabilities or two classes. `cost` and `cost_at_half` are per row.
    """
    alarm, miss = plan.settings.cost_false_alarm, plan.settings.cost_miss
    classes = plan.dataset.classes
    if (alarm is None and miss is None) or classes is None or len(classes) != 2:
        return None
    if found.get("proba") is None:
        return None
    alarm, miss = 1.0 if alarm is None else alarm, 1.0 if miss is None else miss
    rows, places = _once(found)
    p, y, w = found["proba"][places, 1], plan.dataset.y[rows], plan.dataset.weights[rows]
    order = np.argsort(-p, kind="stable")
    p, y, w = p[order], y[order], w[order]
    # costs[k]: the first k rows are predicted positive.
    gain = np.where(y == 1, -miss, alarm) * w
    costs = np.concatenate([[miss * w[y == 1].sum()], miss * w[y == 1].sum() + np.cumsum(gain)])
    ends = np.concatenate([[1.0], (p[1:] + p[:-1]) / 2, [0.0]])
    possible = np.concatenate([[True], p[1:] < p[:-1], [True]])
    ideal = alarm / (alarm + miss)
    lowest = costs[possible].min()
    tied = ends[possible & (costs <= lowest + 1e-9 * (1 + abs(lowest)))]
    best = float(tied[np.abs(tied - ideal).argmin()])
    half = float(
        (w * np.where(p >= 0.5, np.where(y == 1, 0, alarm), np.where(y == 1, miss, 0))).sum()
    )
    total = float(w.sum())
    return {
        "threshold": best, "cost_false_alarm": alarm, "cost_miss": miss,
        "cost": float(lowest) / total, "cost_at_half": half / total,
    }  # fmt: skip
