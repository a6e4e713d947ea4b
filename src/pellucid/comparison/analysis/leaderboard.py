"""From the journal to the leaderboard: every model, with its score or the reason why it has none.

Invariant: there is one row per model of the plan. Numbers come from the journal alone, in the order of
the plan, so they do not depend on the order in which workers finished.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from pellucid.comparison.analysis.out_of_fold import params_of
from pellucid.comparison.analysis.pairs import Comparison, compare_models
from pellucid.comparison.analysis.verdict import Board, Verdict, baseline_alpha, judge
from pellucid.comparison.execution.fold_task import CALIBRATION, FINAL
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.registry import BASELINES
from pellucid.model_selection.grids import edges

ORDINARY = {"UnseenLevelWarning"}  # a rare level is absent from some fold: shown in log.txt only
LONGEST = 160  # characters of a note
STOPPED = re.compile(r"\(max_iter\)|Maximum iterations")  # a solver ran out of iterations
# The metric that decides between equally simple classifiers; for regression it is the score itself.
TIE_BREAK = {"classification": "log_loss"}
NO_MARK = dict.fromkeys(("p", "p_holm", "p_baseline", "lost")) | {"as_good": False, "why": ""}


def fold_scores(plan: Plan, state: RunState, model: str) -> dict[str, list[float]] | None:
    """{metric: one score per outer fold}; None unless all folds are done."""
    if not state.completed(model, len(plan.folds)):
        return None
    found = [state.done[model, str(k)]["metrics"] for k in range(len(plan.folds))]
    return {
        name: [float("nan") if own[name] is None else float(own[name]) for own in found]
        for name in plan.metrics
    }


def status(plan: Plan, state: RunState, contender: Contender) -> tuple[str, str]:
    """Status of a model (ok, failed, timed out, skipped or stopped), and the reason."""
    if contender.skipped:
        return "skipped", contender.skipped
    failure = state.failed.get(contender.id)
    if failure is not None:
        return failure["how"], failure["why"]
    done = sum((contender.id, str(k)) in state.done for k in range(len(plan.folds)))
    if done < len(plan.folds):
        return "stopped", f"{done} of {len(plan.folds)} folds done"
    return "ok", ""


def compare_scored(
    plan: Plan, state: RunState, predictions: Mapping[str, Mapping[str, np.ndarray]]
) -> Comparison:
    """Compare all models whose folds are done; `predictions` are out-of-fold."""
    scores = {c.id: fold_scores(plan, state, c.id) for c in plan.contenders if c.id in predictions}
    return compare_models(plan, {name: s for name, s in scores.items() if s}, predictions)


def leaderboard(
    plan: Plan, state: RunState, found: Comparison
) -> tuple[list[dict[str, Any]], Verdict]:
    """The rows, best first and without a score last, and the conclusion."""
    reached = apply_rules(plan, found)
    rows = [_row(plan, state, c, found, reached) for c in plan.contenders]
    return sorted(rows, key=lambda row: row["place"] or 10**6), reached


def apply_rules(plan: Plan, found: Comparison) -> Verdict:
    """The verdict: the rules of `verdict` applied to the models that have a score."""
    task, sign = plan.dataset.task, plan.metric.sign
    board = Board(
        {name: sign * score for name, score in found.means.items()},
        lambda one, other: found.difference(one, other).p,
        BASELINES[task],
        plan.settings.margin,
        baseline_alpha(plan.metric),
    )
    loss = TIE_BREAK.get(task)
    losses = {
        name: float(np.mean(scores[loss])) if loss else -board.scores[name]
        for name, scores in found.folds.items()
        if name in found.means
    }
    ranks = {c.id: c.rank for c in plan.contenders}
    return judge(board, ranks, losses, plan.settings.prefer)


def _row(
    plan: Plan, state: RunState, contender: Contender, found: Comparison, reached: Verdict
) -> dict[str, Any]:
    order = list(reached.marks)
    status_name, why = status(plan, state, contender)
    scores, mark = found.folds.get(contender.id), reached.marks.get(contender.id)
    if scores is not None and mark is None:
        why = undefined(plan, state, contender, scores[plan.metric.name])
    last = state.done.get((contender.id, FINAL))
    row: dict[str, Any] = {
        "model": contender.id,
        "title": contender.entry.title if contender.entry else contender.id,
        "status": status_name,
        "reason": why,
        "place": order.index(contender.id) + 1 if contender.id in order else None,
        "baseline": contender.id == BASELINES[plan.dataset.task],
        "recommended": contender.id == reached.recommended,
        "rank": contender.rank,
        "class": f"pellucid.{contender.entry.path}"
        if contender.entry
        else type(contender.estimator).__name__,
        "params": shown_params(plan, state, contender.id) if last else None,
        "notes": notes(plan, state, contender),
    }
    if scores is not None:
        row |= {
            "mean": float(np.mean(scores[plan.metric.name])),
            "ci": list(found.interval(contender.id)),
            "metrics": {name: float(np.mean(values)) for name, values in scores.items()},
            "folds": scores,
            **(asdict(mark) if mark is not None else NO_MARK),
        }
    if contender.id in found.recalls:
        row["recall"] = found.recalls[contender.id]
    return row


def shown_params(plan: Plan, state: RunState, model: str) -> dict[str, Any]:
    """The parameters that a search chose, without what belongs to the fitted model."""
    return {n: v for n, v in params_of(plan, state, model).items() if n != CALIBRATION}


def undefined(plan: Plan, state: RunState, contender: Contender, scores: list[float]) -> str:
    """Why a model has no score although all its folds are done."""
    metric, without = plan.metric, [k for k, score in enumerate(scores) if not np.isfinite(score)]
    if not without:
        return f"{metric.name} is not finite for some rows"
    first = plan.folds[without[0]][1]
    if plan.dataset.classes is not None and len(np.unique(plan.dataset.y[first])) < 2:
        return f"{metric.name} needs two classes, but the test rows of a fold have only one; reduce --cv"
    lacks = metric.needs in ("probabilities", "scores")
    hint = f" (the model has no {metric.needs})" if lacks else ""
    return f"{metric.name} is undefined in {len(without)} of {len(scores)} folds{hint}"


def notes(plan: Plan, state: RunState, contender: Contender) -> list[str]:
    """Notes on the row of a model, each once."""
    rounds = [(contender.id, fold) for fold in (*map(str, range(len(plan.folds))), FINAL)]
    records = [state.done[key] for key in rounds if key in state.done]
    tried = [c for key in rounds for _, c in sorted(state.candidates.get(key, {}).items())]
    out = [contender.note] if contender.note else []
    if contender.blends and records and records[-1]["fold"] == FINAL:
        out.append(blend_note(params_of(plan, state, contender.id)["weights"]))
    searched = [record for record in records if record["fold"] != FINAL]
    cut = sum(bool(record["cut"]) for record in searched)
    if cut:
        out.append(f"the time limit cut the search short in {cut} of {len(searched)} folds")
    if any(record["cut"] for record in records if record["fold"] == FINAL):
        out.append("the time limit ended the fit on all training rows")
    out += warning_notes(_warnings(records), _warnings(tried))
    return out + at_edge(contender, records, plan.settings.effort)


def blend_note(weights: Mapping[str, float]) -> str:
    """`0.6 forest + 0.4 svm_rbf`, the largest weight first."""
    order = sorted(weights, key=lambda name: -weights[name])
    return " + ".join(f"{weights[name]:.2g} {name}" for name in order)


def _warnings(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = [w for record in records for w in record["warnings"]]
    return [w for w in found if w["category"] not in ORDINARY]


def warning_notes(fits: list[dict[str, Any]], searched: list[dict[str, Any]]) -> list[str]:
    """Warnings of many fits, one line per kind, with the number of fits.

    Warnings from the search alone are marked, because another candidate may have been chosen.
    """
    same_kind: dict[str, list[dict[str, Any]]] = {}
    for warning in (*fits, *searched):
        # Warnings that differ only in names and numbers are of the same kind.
        kind = re.sub(r"'[^']*'|\([^)]*\)|[\d.]+", "", warning["text"])[:60]
        kind = "stopped" if STOPPED.search(warning["text"]) else kind
        same_kind.setdefault(kind, []).append(warning)
    return [_warning_note(kind, found, found[0] not in fits) for kind, found in same_kind.items()]


def _warning_note(kind: str, same_kind: list[dict[str, Any]], only_searched: bool) -> str:
    count = sum(w["count"] for w in same_kind)
    fits = "1 fit" if count == 1 else f"{count} fits"
    fits += " of the search" if only_searched else ""
    if kind == "stopped":
        return f"{fits} stopped at max_iter before converging"
    return f"{_shortly(same_kind[0]['text'])} ({fits})"


def _shortly(text: str) -> str:
    """The first sentence, without the name of the class and long lists."""
    text = re.sub(r"^\w+: ", "", text)
    first = text.split(". ")[0].rstrip(".")
    if len(first) > LONGEST:
        first = re.sub(r" \([^)]*(\)|$)", "", first)
    return first if len(first) <= LONGEST else first[: LONGEST - 3].rstrip() + "..."


def at_edge(contender: Contender, records: list[dict[str, Any]], effort: str) -> list[str]:
    """Notes on chosen values at the end of their range: a wider range might be better."""
    if contender.entry is None or not records or records[-1]["fold"] != FINAL:
        return []
    best, entry = records[-1]["best"], contender.entry
    params = contender.candidates[best]
    found = edges(entry.axes(effort), entry.candidates(effort)[best])
    return [f"{name}={params[name]:g} lies at the edge of the searched range" for name in found]
