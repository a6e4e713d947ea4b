"""`summarise(result)`: a comparison as plain data, from which every report is drawn.

Invariant: a Summary holds only dicts, lists, strings, numbers, bools and None (`json.dumps` takes
it); nothing right of it computes a number. Every number is ready to be shown; rounding is the
renderer's. Texts that came from the table (column names, labels, cells) are untrusted. Whatever
could not be computed is None or absent, never 0. Scores are as measured (higher may be worse:
`plan.greater_is_better`). `schema` grows when a key changes its meaning.

    schema: 1
    title: "penguins"                                    name of the table
    answer: [sentence, ...]                              four sentences for the top of the report
    data:                                                as in results.json, plus `columns`
      name, sha256, rows, features [names], kinds {kind: count}, target, task, task_why, notes [str]
      classes: [{label, rows}] | target_range: [min, median, max]
      columns: [{name, kind, missing, distinct,
                 low, median, high                       numbers and dates (days since 1970)
                 levels: [{label, rows}]                 at most 12, most frequent first
                 rest                                    rows of further levels
                 by_target: {"kind": "histogram", "edges": [..], "counts": {class label: [..]}}
                          | {"kind": "levels", "labels": [..], "counts": {class label: [..]}}
                          | {"kind": "means", "labels": [..], "means": [..], "rows": [..]}   regression
                 alone: score of this column alone (AUC, or R2 for regression) | None}]
    checks: [{code, level ("error", "warning", "note"), text, action, columns [names]}]
    fine: "no missing values, no duplicate rows, ..."    what the checks found in order
    plan: metric, metric_why, greater_is_better, metrics [names], folds, n_folds, inner_folds,
          train_rows, test_rows, test_why, models, fits
    leaderboard: [{model, status, reason, place, baseline, recommended, rank, class, params, notes,
          mean, ci [low, high], p, p_holm, tied, metrics {name: mean}, folds {metric: [score by fold]},
          fit_seconds, predict_seconds}]                 best first; rows without place have no mean
    verdict: {tied [models], scored, recommended, beats_baseline}
    pairwise: {models: [..], better: [[share | None]]}   P(row better than column), by corrected t;
          rope: [widths]; within: {width: [[share]]}     P(difference within +- width)
    cards: {model: card}                                 models with out-of-fold answers
      card:
        says, class, params, rank
        confusion: {labels: [..], counts: [[true x predicted]]}               classification
        roc: [{class: label, mean: {x, y}, folds: [{x: [..], y: [..]}], auc}]  one entry for two classes
        pr:  [{class, mean: {x, y}, folds: [...], ap, share}]
        calibration: [{class, bins: [{low, high, predicted, observed, rows}], brier, ece}]
        histogram: [{class, edges: [..], counts: {label: [..]}}]              predicted probability
        thresholds: {class, rows: [[threshold, tp, fp, fn, tn]]}              two classes, 200 rows
        residuals: {predicted: [..], actual: [..], row: [..], shown, rows}    regression, at most 500
        search: {params: [names], rounds: n,
                 candidates: [{params, mean, low, high, failed: why | None, chosen: n}], edge: [names]}
        learning: {rows: [n], train: [score], test: [score]} | None           recommended only
    learned: {model: {                                   fitted on all training rows
        coefficients: {terms: [..], classes: [..], values: [[class x term]], scaled: [[..]],
                       intercept: [..], low/high: [[..]] | None} | None
        importances: {columns: [..], values: [..], low: [..], high: [..], method} | None
        tree: {nodes: [{id, column, test, left, right, rows, value: [..], label}], depth} | None
        history: {iteration: [..], objective: [..], ...} | None
        groups: [[columns that correlate above 0.9]]}}
    regions: {x: column, y: column, x_edges: [..], y_edges: [..], others: "at their middle values",
        points: [{x, y, label}], models: {model: {grid: [[class index | number]], classes: [..]}}} | None
    rows: {columns: [names],
        groups: [{name: "worst mistakes" | "most uncertain" | "random",
                  rows: [{row, cells: [text], actual, predicted, p: {label: share} | None,
                          base, total, scale, contributions: [[column, amount]]}]}]}
    test: {model, rows, metrics, intervals {name: [low, high]}, baseline {name: score}, foretold,
           confusion, openings} | {failed: why} | None
    reproduce: {command, config (TOML), seed, sha256, versions {package: version}, total_seconds,
                seconds {model: {search, fit, predict}}, failures [{model, why}], limits [str]}
"""

from __future__ import annotations

from typing import Any

SCHEMA = 1
Summary = dict[str, Any]


def summarise(result: Any, rows: bool = True) -> Summary:
    """The summary of a result; `rows=False` leaves out every single row of the table."""
    data = dict(result.data)
    return {"schema": SCHEMA, "title": data["data"]["name"], **data}
