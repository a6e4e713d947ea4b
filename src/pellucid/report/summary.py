"""`summarise(result)`: a comparison as plain data, from which every report is drawn.

Invariant: a Summary consists of dicts, lists, strings, numbers, bools and None (`json.dumps` accepts
it), and the renderers compute no numbers, they only round them. Texts from the table (column names,
labels, cells) are untrusted. What could not be computed is None or absent, never 0. Scores keep their
sign: `plan.greater_is_better` tells whether higher is better. `schema` increases when a key changes.

    schema: 2                                            that of results.json
    title: "penguins"                                    name of the table
    answer: [sentence, ...]                              for the top of the report
    data:                                                as in results.json, plus `columns`
      name, sha256, rows, features [names], kinds {kind: count}, target, task, task_why, notes [str]
      classes: [{label, rows}] | target_range: [min, median, max]
      target_histogram: {edges: [..], counts: [..], beyond} | None   numeric target, training rows;
                                                         beyond: rows outside the edges
      columns: [{name, kind, missing, distinct,
                 low, median, high                       numbers and dates (days since 1970)
                 levels: [{label, rows}]                 at most 12, most frequent first
                 rest                                    rows of further levels
                 by_target: {"kind": "histogram", "edges": [..], "counts": {class label: [..]}, "beyond"}
                          | {"kind": "levels", "labels": [..], "counts": {class label: [..]}}
                          | {"kind": "means", "labels": [..], "means": [..], "rows": [..]}   regression
                 alone: score of this column alone (AUC, or R2 for regression) | None}]
    checks: [{code, level ("error", "warning", "note"), text, action, columns [names], leak}]
    fine: "no missing values, no duplicate rows, ..."    the checks that passed
    plan: metric, metric_why, greater_is_better, metrics [names], folds, n_folds, inner_folds,
          train_rows, test_rows, test_why, models, fits
    leaderboard: [{model, title, status, reason, place, baseline, recommended, rank, class, params,
          notes,
          mean, ci [low, high], p, p_holm, p_baseline, lost, as_good, why, metrics {name: mean},
          folds {metric: [score by fold]}, recall {class: share} where a class is rare,
          fit_seconds, predict_seconds}]                 best first; rows without place have no mean
    intervals: {level, method, coverage, test_coverage, test_size, reach | classes, accuracy} | None
        of the recommended model
    threshold: {threshold, cost_false_alarm, cost_miss, cost, cost_at_half} | None
    verdict: {best, as_good [models], scored, recommended, margin, prefer, beats_baseline}
    pairwise: {models: [..], better: [[share | None]],   P(row better than column)
          rope: [widths], within: {width: [[share]]}}    P(difference within +- width)
    cards: {model: card}                                 models with out-of-fold predictions
      card:
        says (how it works), class, params, rank
        confusion: {labels: [..], counts: [[true x predicted]]}               classification
        roc: [{class: label, mean: {x, y}, folds: [{x: [..], y: [..]}], auc}]  one entry for two classes
        pr:  [{class, mean: {x, y}, folds: [...], ap, share}]
        calibration: [{class, bins: [{low, high, predicted, observed, rows}], brier, ece,
                       points: bins merged until each has ten rows}]
        histogram: {class: label | None, edges: [..], counts: {actual: [..]}} predicted probability of
                   the second of two classes, or of the actual one of several (class None)
        thresholds: {class, rows: [[threshold, tp, fp, fn, tn]]}              two classes, 200 rows
        residuals: {predicted: [..], actual: [..], row: [..], shown, rows}    regression, at most 500
        search: {params: [names], rounds: n,
                 candidates: [{params, mean, low, high, failed: why | None, chosen: n}], edge: [names]}
        learning: {rows: [n], train: [score], test: [score]} | None           recommended only
    learned: {model: {                                   fitted on all training rows
        coefficients: {terms: [..], classes: [..], values: [[class x term]], scaled: [[..]],
                       intercept: [..], low/high, scaled_low/scaled_high: [[..]] | None,
                       method: how the limits were computed} | None
        importances: {columns: [..], values: [..], low: [..], high: [..], method} | None
        tree: {nodes: [{id, column, test, left, right, rows, value: [..], label}], depth,
               row, way: [ids of the nodes on the path of this row]} | None
        history: {iteration: [..], objective: [..], ...} | None
        path: {param, x: [..], chosen, terms: [..], y: [[term x value]], classes} | None
        dependence: {rows, columns: [{name, kind, x: [values], y: [[class or 1 x value]]}]} | None
        projection: {x: [..], y: [..], codes: [class index]}                    discriminants
                  | {edges: [..], counts: [[class x bin]]} | None               of two classes
        support: {vectors: [by class], rows: [by class]} | None                 support vectors
        neighbours: [{row, actual, near: [{row, distance, actual}]}] | None     nearest rows
        groups: [[columns that correlate above 0.9]]}}
    regions: {x: column, y: column, x_edges: [..], y_edges: [..], others: "at their median or ...",
        points: [{x, y, label}], models: {model: {grid: [[class index | number]], classes: [..],
                         certainty: [[probability of that class]] | None}}} | None
    rows: {columns: [names], all: {row: [..], actual: [..], predicted: [..], p: [..] | None, rows},
        groups: [{name: "worst mistakes" | "most uncertain" | "random",
                  rows: [{row, cells: [text], actual, predicted, p: {label: share} | None,
                          base, total, scale, contributions: [[column, amount]],
                          changes: {before, threshold (regression), found: [{prediction,
                                    columns: [[column, old, new]]}]} | None}]}]}
    replay: number of steps of replay.html beside the report | None
    test: {model, rows, metrics, intervals {name: [low, high]}, baseline {name: score}, agrees,
           confusion, openings} | {failed: why} | None
    reproduce: {command, config (TOML), seed, sha256, versions {package: version}, total_seconds,
                seconds {model: {search, fit, predict}}, failures [{model, why}], limits [str]}
    recommended, complete, stopped ("", "Ctrl-C", "time limit"), timings {models, total, openings}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.comparison.analysis.evidence import Difference
from pellucid.comparison.execution.journal import plain
from pellucid.comparison.planning.dataset import IN_MEMORY
from pellucid.comparison.planning.metric_bounds import BOUNDED
from pellucid.comparison.planning.settings import BY_NAME
from pellucid.comparison.result import SCHEMA, Result
from pellucid.draw.region_chart import MOST_CLASSES
from pellucid.report import conclusion
from pellucid.report.cards import card, confusion
from pellucid.report.searchable_rows import searchable
from pellucid.versions import versions

Summary = dict[str, Any]
LIMITS = (
    "Scores estimate how well the whole procedure (search and fit) predicts new rows of the same kind. "
    "Data from another source may give other scores.",
    "Intervals and tests are computed from rows and corrected for shared training rows (Nadeau and "
    "Bengio, 2003). They are approximate, in particular for few rows.",
    "Importances and contributions describe the model, not causes.",
)
MANY = f"Decision regions are shown for at most {MOST_CLASSES} classes."


def summarise(result: Result) -> Summary:
    """The summary of a result."""
    data, details, times = result.data, result.details, result.timings.get("models", {})
    classes, profile = details["classes"], details["profile"]
    summary = {
        "schema": SCHEMA,
        "title": data["data"]["name"],
        "answer": conclusion.answer(data),
        "data": {
            **data["data"],
            "columns": profile["columns"],
            "columns_left_out": profile["columns_left_out"],
            "target_histogram": profile["target"],
        },
        "checks": data["checks"],
        "fine": details["fine"],
        "plan": data["plan"],
        "leaderboard": [
            {
                **row,
                "fit_seconds": times.get(row["model"], {}).get("fit"),
                "predict_seconds": times.get(row["model"], {}).get("predict"),
            }
            for row in data["leaderboard"]
        ],
        "verdict": data["verdict"],
        "pairwise": pairwise(data),
        "cards": {
            row["model"]: _card(result, row)
            for row in data["leaderboard"]
            if row["model"] in result.predictions
        },
        "learned": {
            m: learned(p, classes, details["numbers"]) for m, p in portraits(result).items()
        },
        "regions": regions(result),
        "rows": single_rows(result),
        "replay": result.finish.get("replay"),
        "test": test_set(result),
        "intervals": data["intervals"],
        "threshold": data["threshold"],
        "reproduce": reproduce(result),
        "complete": data["complete"],
        "stopped": data["stopped"],
        "recommended": data["recommended"],
        "timings": result.timings,
    }
    return plain(summary)


def pairwise(data: dict[str, Any]) -> dict[str, Any]:
    """The probabilities that one model is better than another, and that they differ by little."""
    found, bounded = data["pairs"], data["plan"]["metric"] in BOUNDED
    widths = [0.0, 0.005, 0.01, 0.02, 0.05] if bounded else [0.0]
    n = range(len(found["models"]))
    pairs = [[None if i == j else _pair(found, i, j) for j in n] for i in n]
    return {
        "models": found["models"],
        "better": [[d and d.better for d in row] for row in pairs],
        "rope": widths,
        "within": {str(w): [[d and d.within(w) for d in row] for row in pairs] for w in widths},
    }


def _pair(found: dict[str, Any], i: int, j: int) -> Difference | None:
    numbers = [found[part][i][j] for part in ("difference", "error", "p")]
    if None in numbers:  # NaN in a running program, None in a file
        return None
    mean, error, p = numbers
    return Difference(mean, error, found["df"], p, found["ratios"])


def _card(result: Result, row: dict[str, Any]) -> dict[str, Any]:
    model, details, seed = row["model"], result.details, result.data["settings"]["seed"]
    answers, classes = result.predictions[model], details["classes"]
    own = card(answers, details["y"], details["weights"], classes, seed)
    search = details["search"].get(model, [])
    names = sorted({name for entry in search for name in entry["params"]})
    return {
        "says": details["says"].get(model, ""), "class": row["class"], "params": row["params"],
        "rank": row["rank"], **own,
        "search": {
            "params": names, "rounds": result.data["plan"]["n_folds"] + 1,
            "candidates": [_candidate(entry) for entry in search],
            "edge": [note.split("=")[0] for note in row["notes"] if "edge of the searched" in note],
        },
        "learning": result.finish.get("learning") if row["recommended"] else None,
    }  # fmt: skip


def _candidate(entry: dict[str, Any]) -> dict[str, Any]:
    scores = [score for score in entry["scores"] if score == score]
    mean = float(np.mean(scores)) if scores else None
    return {
        "params": entry["params"], "mean": mean, "low": min(scores, default=None),
        "high": max(scores, default=None), "failed": entry["failed"], "chosen": entry["chosen"],
    }  # fmt: skip


def portraits(result: Result) -> dict[str, dict[str, Any]]:
    """What each model learned; the recommended model with the importances of its final fit."""
    found, best = dict(result.model_details), result.recommended
    if best in found and result.finish.get("importances"):
        found[best] = {**found[best], "importances": result.finish["importances"]}
    return found


SHOWN = (
    "coefficients", "importances", "tree", "history", "path", "dependence", "projection", "support",
    "neighbours",
)  # fmt: skip


def learned(
    portrait: dict[str, Any], classes: list[str] | None, numbers: np.ndarray
) -> dict[str, Any]:
    """What a model learned, with class names instead of codes and row numbers of the table."""
    out = {name: portrait.get(name) for name in SHOWN}

    def named(code: Any) -> Any:
        return classes[int(code)] if classes is not None else code

    if out["coefficients"] is not None:
        out["coefficients"] = {
            **out["coefficients"],
            "classes": [named(code) for code in out["coefficients"]["classes"]],
        }
    if out["tree"] is not None:
        nodes = [{**node, "label": named(node["label"])} for node in out["tree"]["nodes"]]
        out["tree"] = {**out["tree"], "nodes": nodes, "row": int(numbers[out["tree"]["row"]])}
    if out["neighbours"] is not None:
        out["neighbours"] = [_near(row, classes, numbers) for row in out["neighbours"]]
    return out


def _near(found: dict[str, Any], classes: list[str] | None, numbers: np.ndarray) -> dict[str, Any]:
    """A row and its nearest rows, with class names and row numbers of the table."""
    actual = found["actual"] if classes is None else classes[int(found["actual"])]
    out = {**found, "row": int(numbers[found["row"]]), "actual": actual}
    if "near" in found:
        out["near"] = [_near(other, classes, numbers) for other in found["near"]]
    return out


def regions(result: Result) -> dict[str, Any] | None:
    """Predictions of every model over two columns."""
    plane, classes = result.details["profile"]["plane"], result.details["classes"]
    found = {m: p["region"] for m, p in result.model_details.items() if p.get("region")}
    if plane is None or not found or len(classes or ()) > MOST_CLASSES:
        return None
    return {
        "x": plane["x"], "y": plane["y"], "x_edges": plane["xs"], "y_edges": plane["ys"],
        "others": "at their median or most frequent value", "classes": classes,
        "points": [
            {"x": x, "y": y, "label": classes[int(k)] if classes is not None else k}
            for x, y, k in plane["points"]
        ],
        "models": {model: {**own, "classes": classes} for model, own in found.items()},
    }  # fmt: skip


def single_rows(result: Result) -> dict[str, Any] | None:
    """Example rows with their predictions and contributions."""
    details, best = result.details, result.recommended
    if not details["picked"] or best is None:
        return None
    answers, classes = result.predictions[best], details["classes"]
    where = {int(row): k for k, row in reversed(list(enumerate(answers["rows"])))}
    groups = []
    for name, rows in details["picked"].items():
        reasons = (result.finish.get("rows") or {}).get(name) or [{} for _ in rows]
        changes = (result.finish.get("changes") or {}).get(name) or [None for _ in rows]
        groups.append({"name": name, "rows": [
            {
                "row": int(details["numbers"][row]), "cells": cells,
                **_prediction(answers, where[row], details["y"][row], classes), **why,
                "changes": change,
            }
            for row, cells, why, change in zip(rows, details["cells"][name], reasons, changes)
        ]})  # fmt: skip
    known = searchable(answers, details["y"], details["weights"], details["numbers"], classes)
    return {"columns": result.data["data"]["features"], "groups": groups, "all": known}


def _prediction(answers: Any, k: int, truth: Any, classes: list[str] | None) -> dict[str, Any]:
    if classes is None:
        return {"actual": float(truth), "predicted": float(answers["labels"][k]), "p": None}
    p = None
    if "proba" in answers:
        p = {label: float(share) for label, share in zip(classes, answers["proba"][k])}
    predicted = classes[int(answers["labels"][k])]
    return {"actual": classes[int(truth)], "predicted": predicted, "p": p}


def test_set(result: Result) -> dict[str, Any] | None:
    """The score on the test set, and how often the test set was used."""
    test = result.data["test"]
    if test is None or "failed" in test:
        return test
    out = {**test, "openings": result.timings.get("openings", 1)}
    classes = result.details["classes"]
    labels = (result.finish.get("test") or {}).get("labels")
    if classes is not None and labels is not None:
        truth, w = (np.asarray(result.finish["test"][name]) for name in ("truth", "weights"))
        out["confusion"] = confusion(truth, np.asarray(labels), w, classes)
    return out


def reproduce(result: Result) -> dict[str, Any]:
    """Everything that is needed to repeat the run."""
    data, timings, classes = result.data, result.timings, result.details["classes"]
    failures = [
        {"model": row["model"], "why": f"{row['status']}: {row['reason']}"}
        for row in data["leaderboard"]
        if row["status"] != "ok"
    ]
    return {
        "command": _command(result.details["source"], data),
        "config": result.details["config"],
        "seed": data["settings"]["seed"],
        "sha256": data["data"]["sha256"],
        "versions": {k: v for k, v in versions().items() if v != "absent"},
        "total_seconds": timings.get("total"),
        "seconds": timings.get("models", {}),
        "failures": failures,
        "limits": [*LIMITS, MANY] if len(classes or ()) > MOST_CLASSES else [*LIMITS],
    }


def _command(source: str, data: dict[str, Any]) -> str:
    """The command for a shell, or the call in Python if the table exists only there."""
    given = {k: v for k, v in sorted(data["settings"].items()) if v not in ([], None)}
    if source == IN_MEMORY:
        foreign = [r["model"] for r in data["leaderboard"] if not r["class"].startswith("pellucid")]
        arguments = [f"{name}={value!r}" for name, value in given.items()]
        extra = ", ".join(f"{name!r}: ..." for name in sorted(foreign))
        parts = ["table", *([] if "target" in given else ["target=..."]), *arguments]
        return f"pellucid.compare({', '.join(parts + ([f'extra={{{extra}}}'] if extra else []))})"
    flags = " ".join(
        f"--{name.replace('_', '-')} {_flag(value)}"
        for name, values in given.items()
        for value in (values if BY_NAME[name].kind == "columns" else [values])
    )
    return f"pellucid compare {_flag(source)} {flags}"


def _flag(value: Any) -> str:
    import shlex

    return shlex.quote(",".join(map(str, value)) if isinstance(value, list) else str(value))
