"""From the journal to tables: out-of-fold predictions, searches, times, the log.

Invariant: the order is that of the plan, not that in which workers finished.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.execution.candidate_choice import best_of, pooled
from pellucid.comparison.execution.fold_task import CALIBRATION, FINAL
from pellucid.comparison.execution.inner_search import part_path
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.planning.plan import Plan


def searches(plan: Plan, state: RunState) -> dict[str, list[dict[str, Any]]]:
    """By model: its candidates with their inner scores in all rounds, and how often each was chosen."""
    rounds = [*map(str, range(len(plan.folds))), FINAL]
    out = {}
    for contender in plan.running:
        rows = []
        for c, params in enumerate(contender.candidates):
            records = [state.candidates.get((contender.id, r), {}).get(c) for r in rounds]
            known = [record for record in records if record is not None]
            whole = [r["scores"] for r in known if r["scores"] and None not in r["scores"]]
            scores = [float(np.mean(own)) for own in whole]
            chosen = sum(state.done.get((contender.id, r), {}).get("best") == c for r in rounds)
            failed = next((r["why"] for r in known if not r["scores"]), None)
            rows.append({"params": params, "scores": scores, "chosen": chosen, "failed": failed})
        out[contender.id] = rows
    return out


def chosen_by(plan: Plan, state: RunState, model: str) -> int:
    """The candidate of a model's final fit."""
    last = state.done.get((model, FINAL))
    return final_choice(plan, state, model)[0] if last is None else last["best"]


def params_of(plan: Plan, state: RunState, model: str, fold: str = FINAL) -> dict[str, Any]:
    """The parameters that a model's search chose in a round, with those that were tuned on the way."""
    contender = next(c for c in plan.contenders if c.id == model)
    record = state.done.get((model, fold))
    if record is None:
        best, tuned = final_choice(plan, state, model)
        return contender.candidates[best] | tuned
    return contender.candidates[record["best"]] | (record.get("tuned") or {})


def final_choice(plan: Plan, state: RunState, model: str) -> tuple[int, dict[str, Any]]:
    """The candidate of a model's final fit, and what is tuned: by the searches of all folds together."""
    rounds = [(model, str(k)) for k in range(len(plan.folds))]
    best = best_of(pooled([state.candidates.get(r, {}) for r in rounds], plan.metric), plan.metric)
    done = [state.done[r] for r in rounds if r in state.done]
    chosen = [record["best"] for record in done] or [0]
    calibrated = any(CALIBRATION in (record.get("tuned") or {}) for record in done)
    if best is None or (calibrated and best not in chosen):  # not searched, or no sigmoid is known
        best = min(set(chosen), key=lambda c: (-chosen.count(c), c))
    scored = [state.candidates.get(r, {}).get(best, {}) for r in rounds]
    fitted = [count for record in scored for count in record.get("rounds", ())]
    # A sigmoid belongs to the scores of one candidate: other penalties give scores of another size.
    own = [record for record in done if record["best"] == best] or done
    tuned = _typical([record.get("tuned") or {} for record in own])
    contender = next(c for c in plan.contenders if c.id == model)
    if contender.entry is not None and fitted and "early_stopping" not in tuned:
        count, params = int(np.median(fitted)), contender.candidates[best]
        tuned |= contender.entry.refitted(params, count, plan.settings.effort)
    return best, tuned


def _typical(known: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of whole numbers and of the numbers of a calibration; means of weights."""
    out: dict[str, Any] = {}
    for name in known[0] if known else ():
        values = [own[name] for own in known if name in own]
        if isinstance(values[0], dict):
            models = sorted({model for own in values for model in own})
            means = {m: sum(own.get(m, 0.0) for own in values) / len(values) for m in models}
            out[name] = {m: w for m, w in means.items() if w}
        elif isinstance(values[0], list):
            out[name] = np.median(values, axis=0).tolist()
        elif isinstance(values[0], int) and not isinstance(values[0], bool):
            out[name] = int(np.median(values))
        else:
            out[name] = values[0]
    return out


def timings_of(state: RunState) -> dict[str, Any]:
    """Seconds by model: search, one fit, one prediction."""
    models: dict[str, dict[str, float]] = {}
    for (model, fold), record in state.done.items():
        own = models.setdefault(model, {"search": 0.0, "fit": 0.0, "predict": 0.0, "folds": 0.0})
        own["search"] += sum(r["seconds"] for r in state.candidates.get((model, fold), {}).values())
        if fold != FINAL:
            own["fit"] += record["fit_seconds"]
            own["predict"] += record["predict_seconds"]
            own["folds"] += 1
    for own in models.values():
        folds = own.pop("folds") or 1
        own["fit"], own["predict"] = own["fit"] / folds, own["predict"] / folds
    return {"models": models}


def collect(plan: Plan, state: RunState, parts: Path) -> dict[str, dict[str, np.ndarray]]:
    """Out-of-fold predictions of every model whose folds are all done, in the order of the folds."""
    out = {}
    for contender in plan.running:
        paths = [part_path(parts, contender.id, str(k)) for k in range(len(plan.folds))]
        if not state.completed(contender.id, len(paths)) or not all(p.exists() for p in paths):
            continue
        loaded = [dict(np.load(p)) for p in paths]
        joined = {k: np.concatenate([part[k] for part in loaded]) for k in loaded[0]}
        joined["fold"] = np.repeat(np.arange(len(loaded)), [len(p["rows"]) for p in loaded])
        out[contender.id] = joined
    return out


def wide(plan: Plan, predictions: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
    """Columns of predictions.parquet: one line per (model, tested row)."""
    classes, rows = plan.dataset.classes, plan.dataset.rows

    def joined(parts: list[np.ndarray], dtype: type = int) -> np.ndarray:
        return np.concatenate(parts or [np.empty(0, dtype)])

    where = joined([p["rows"] for p in predictions.values()])
    columns: dict[str, Any] = {
        "model": [name for name, part in predictions.items() for _ in part["rows"]],
        "fold": joined([p["fold"] for p in predictions.values()]),
        "row": rows[where],
    }
    predicted = joined([p["labels"] for p in predictions.values()], float)
    if classes is None:
        return {**columns, "target": plan.dataset.y[where], "prediction": predicted}
    # Booleans are written as in CSV and in the column names of `pellucid predict`.
    names = [str(c).lower() if isinstance(c, bool) else str(c) for c in classes]
    columns["target"] = [names[k] for k in plan.dataset.y[where]]
    columns["prediction"] = [names[int(k)] for k in predicted]
    for k, name in enumerate(names):
        shares = [
            p["proba"][:, k] if "proba" in p else np.full(len(p["rows"]), np.nan)
            for p in predictions.values()
        ]
        columns[f"p_{name}"] = joined(shares, float)
    return columns


def log_text(state: RunState, kept: str | None, final_fit: dict[str, Any]) -> str:
    """All warnings and failures, in full; `final_fit` has those of the final model."""
    lines = []
    for (model, fold), record in state.done.items():
        lines += _warning_lines(f"{model}, fold {fold}", record["warnings"])
    for (model, fold), tried in state.candidates.items():
        for c, record in tried.items():
            lines += _warning_lines(f"{model}, fold {fold}, candidate {c + 1}", record["warnings"])
    lines += _warning_lines(f"{kept}, final model", final_fit.get("warnings", []))
    lines += [f"{m}: {r['how']}: {r['why']}" for m, r in state.failed.items()]
    return "\n".join(sorted(lines)) + "\n" if lines else "nothing to report\n"


def _warning_lines(where: str, warnings: list[dict[str, Any]]) -> list[str]:
    return [f"{where}: {w['count']} x {w['category']}: {w['text']}" for w in warnings]
