"""The description of a fitted model for the report, as plain data: `describe_model` and its main parts.

This file has the parts that most models share: coefficients, permutation importances, solver history,
tree, decision regions. `model_diagnostics` has the parts of single kinds of models and the refits.
It runs in the worker of the final round, on the model fitted on all training rows. All parts are bounded
in size; a part that a model does not have is None. Invariant: nothing here changes a score.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.analysis import model_diagnostics
from pellucid.comparison.execution.worker_data import Evaluator
from pellucid.comparison.planning.registry import BASELINES
from pellucid.data.io import shared_tables
from pellucid.draw.dates import date
from pellucid.model_selection.metrics import Metric, metric

MAX_TERMS = 200
MAX_NODES = 127
MAX_COLUMNS = 60
MAX_ROWS = 500  # rows on which importances are measured
REPEATS = 5
BATCH = 10_000  # rows predicted at once
POINTS = 200  # points of a solver history
QUICKLY = 0.5  # seconds of CPU time that any part may use
DEPTH = 6
NO_TIME = "no time was left"


def describe_model(evaluator: Evaluator, fitted: Any, task: Any, spent: float) -> dict[str, Any]:
    """All parts of the description; no part uses more CPU time than the round has used (`spent`)."""
    seconds, out = min(task.deadline, max(QUICKLY, spent)), dict[str, Any]()
    end = time.monotonic() + task.deadline  # wall-clock limit for all parts
    parts = {  # the fastest first
        "history": lambda: history(fitted),
        "tree": lambda: tree(evaluator, fitted, task),
        "support": lambda: model_diagnostics.support(evaluator, fitted, task),
        "projection": lambda: model_diagnostics.projection(evaluator, fitted, task),
        "neighbours": lambda: model_diagnostics.neighbours(evaluator, fitted, task),
        "region": lambda: region(evaluator, fitted, task),
        "coefficients": lambda: coefficients(evaluator, fitted, task, seconds),
        "importances": lambda: importances(evaluator, task, seconds),
        "dependence": lambda: model_diagnostics.dependence(
            evaluator, fitted, task, _strongest(out, task)
        ),
        "path": lambda: model_diagnostics.path(evaluator, fitted, task, seconds),
    }
    # Foreign models may need tables of another kind, and baselines do not use the columns.
    if evaluator.foreign or evaluator.name in BASELINES.values():
        parts = {name: make for name, make in parts.items() if name in ("history", "region")}
    for name, make in parts.items():
        if time.monotonic() > end:
            out[name], out[f"{name}_why"] = None, NO_TIME
            continue
        try:
            out[name] = make()
        except Exception as error:  # a missing part does not affect the comparison
            out[name], out[f"{name}_why"] = None, f"{type(error).__name__}: {error}"[:200]
    return out


def _strongest(out: dict[str, Any], task: Any) -> list[str]:
    """The most important columns, or those of the plane if importances are missing."""
    found = out.get("importances")
    if found is None:
        return [task.plane["x"], task.plane["y"]] if task.plane else []
    order = np.argsort(-np.array(found["values"]), kind="stable")
    return [found["columns"][j] for j in order if found["values"][j] > 0]


def coefficients(
    evaluator: Evaluator, fitted: Any, task: Any, seconds: float
) -> dict[str, Any] | None:
    """Coefficients of the strongest terms, on the original scale and per standard deviation."""
    values = model_diagnostics.coefficients_of(fitted)
    if values is None:
        return None
    spread = model_diagnostics.spread_of(evaluator, fitted, task)
    scaled, limits = values * spread, None
    with suppress(Exception):  # coefficients without limits are still useful
        limits = model_diagnostics.coefficient_limits(evaluator, fitted, task, seconds)
    top = np.argsort(-np.abs(scaled).max(axis=0), kind="stable")[:MAX_TERMS]
    classes, terms = _codes(evaluator, fitted), fitted.terms_
    return {
        "terms": [str(terms[j])[:200] for j in top],
        "classes": classes[-len(values) :] if classes else [],
        "values": values[:, top].tolist(),
        "scaled": scaled[:, top].tolist(),
        "intercept": np.ravel(vars(fitted).get("intercept_", 0.0)).tolist(),
        "left_out": values.shape[1] - len(top),
        **_limited(limits, spread, top),
    }


def _codes(evaluator: Evaluator, fitted: Any) -> list[int]:
    """Codes of the model's classes, in its order."""
    return evaluator.codes(fitted.classes_).tolist() if evaluator.shared.n_classes else []


def _limited(limits: Any, spread: np.ndarray, top: np.ndarray) -> dict[str, Any]:
    """95 % limits on the original scale and per standard deviation."""
    if limits is None:
        return {"low": None, "high": None, "scaled_low": None, "scaled_high": None, "method": ""}
    ends = {end: limits[end][:, top] for end in ("low", "high")}
    scaled = {f"scaled_{end}": (values * spread[top]).tolist() for end, values in ends.items()}
    raw = {end: values.tolist() for end, values in ends.items()}
    return {**raw, **scaled, "method": limits["method"]}


def importances(evaluator: Evaluator, task: Any, seconds: float) -> dict[str, Any] | None:
    """Permutation importance: loss of score on held-out rows when one column is shuffled.

    None if it would use more than `seconds` of CPU time.
    """
    columns = evaluator.table.column_names
    if len(columns) > MAX_COLUMNS or evaluator.foreign:
        return None
    began = time.process_time()
    train, test = evaluator.inner_splits(task.train, "importance", task.metrics[0])[0]
    test = test[:MAX_ROWS]
    model = evaluator.unfitted(task.params, "importance")
    fitted = evaluator.fit(model, evaluator.rows(train), train)
    X, found = evaluator.rows(test), metric(task.metrics[0])
    rng = parallel.stream(parallel.seed_sequence(evaluator.shared.seed), "importance")
    orders = [rng.permutation(len(test)) for _ in range(REPEATS)]

    whole = float(_scores(evaluator, fitted, X, test, found, 1)[0])
    moved = [(name, order) for name in columns for order in orders]
    scores, begun = list[float](), time.process_time()
    for start, end in _batches(len(moved), max(1, BATCH // max(1, len(test)))):
        each = (time.process_time() - begun) / max(1, start)
        if begun - began + each * len(moved) > seconds:
            return None
        part = moved[start:end]
        copies = shared_tables.with_each_permuted(X, part)
        scores += _scores(evaluator, fitted, copies, test, found, len(part)).tolist()
    drops = found.sign * (whole - np.reshape(scores, (len(columns), REPEATS)))
    mean, error = np.mean(drops, axis=1), np.std(drops, axis=1, ddof=1) / np.sqrt(REPEATS)
    half = 2.776 * error  # t quantile, 4 degrees of freedom
    return {
        "columns": list(columns), "values": mean.tolist(), "low": (mean - half).tolist(),
        "high": (mean + half).tolist(),
        "method": f"loss in {found.name} when the column is shuffled (mean of {REPEATS} shuffles)",
    }  # fmt: skip


def _batches(n: int, most: int) -> list[tuple[int, int]]:
    """Batches of increasing size: the first ones show how long the rest would take."""
    out, start, size = [], 0, 1
    while start < n:
        out.append((start, min(n, start + size)))
        start, size = start + size, min(most, 4 * size)
    return out


def _scores(
    evaluator: Evaluator, fitted: Any, table: Any, rows: np.ndarray, found: Metric, copies: int
) -> np.ndarray:
    """Scores of stacked copies of some rows, predicted at once."""
    n, out = len(rows), np.empty(copies)
    predictions = evaluator.predict(fitted, table)
    for k in range(copies):
        own = slice(k * n, (k + 1) * n)
        X = table.slice(k * n, n) if found.needs == "model" else None
        measured = evaluator.score((found.name,), fitted, X, rows, predictions.part(own))
        out[k] = measured[found.name]
    return out


def history(fitted: Any) -> dict[str, list[float]] | None:
    """The iterations of the solver, thinned out."""
    recorded = vars(fitted).get("history_")
    if not recorded or len(recorded.get("iteration", ())) < 2:
        return None
    n = len(recorded["iteration"])
    kept = np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(int))
    return {
        name: np.asarray(values, dtype=float)[kept].tolist()
        for name, values in recorded.items()
        if len(values) == n and np.asarray(values).dtype.kind in "fiu"
    }


def tree(evaluator: Evaluator, fitted: Any, task: Any) -> dict[str, Any] | None:
    """Nodes of a single tree, from the root; `cut` marks nodes whose children are left out.

    Values are in the order of class codes; `way` is the path of one training row.
    """
    from pellucid.tree.nodes import Nodes

    nodes = vars(fitted).get("tree_")
    if not isinstance(nodes, Nodes):
        return None
    codes, K = _codes(evaluator, fitted), max(1, evaluator.shared.n_classes)
    out: list[dict[str, Any]] = []
    queue, depth = [(0, 0)], 0
    while queue and len(out) < MAX_NODES:
        i, level = queue.pop(0)
        depth = max(depth, level)
        leaf = int(nodes.feature[i]) < 0
        cut = not leaf and level >= DEPTH
        value = np.zeros(K)
        value[codes or [0]] = nodes.value[i]
        node = {
            "id": i, "rows": int(nodes.n_samples[i]), "value": value.tolist(),
            "label": int(value.argmax()) if codes else f"{value[0]:.6g}",
            "column": None, "test": None, "left": None, "right": None, "cut": cut,
        }  # fmt: skip
        if not leaf and not cut:
            column = fitted.schema_.name(int(nodes.feature[i]))
            node |= {"column": column, "test": _condition(nodes, fitted.schema_, i, column),
                     "left": int(nodes.left[i]), "right": int(nodes.right[i])}  # fmt: skip
            queue += [(int(nodes.left[i]), level + 1), (int(nodes.right[i]), level + 1)]
        out.append(node)
    row = task.train[:1]
    way = fitted.decision_path(evaluator.rows(row)).indices.tolist()
    leaves = int((nodes.feature < 0).sum())
    return {"nodes": out, "depth": depth, "leaves": leaves, "row": int(row[0]), "way": way}


def _condition(nodes: Any, schema: Any, i: int, column: str) -> str:
    """The condition for the left branch."""
    j = int(nodes.feature[i])
    missing = " or missing" if schema.n_missing[j] > 0 and nodes.missing_left[i] else ""
    if nodes.has_set[i]:
        levels = [str(schema.levels[j][k])[:40] for k in nodes.levels_left(i)]
        more = f", ... {len(levels)} levels" if len(levels) > 6 else ""
        return f"{column[:80]} in {{{', '.join(levels[:6])}{more}}}{missing}"
    if np.isinf(nodes.threshold[i]):
        return f"{column[:80]} is present"
    threshold = float(nodes.threshold[i])
    shown = date(threshold) if schema.kinds[j] == "datetime" else f"{threshold:.6g}"
    return f"{column[:80]} <= {shown}{missing}"


def region(evaluator: Evaluator, fitted: Any, task: Any) -> dict[str, Any] | None:
    """Predictions on a grid over two columns, with the others at typical values; rows from the bottom.

    `certainty` is the probability of the predicted class, if the model has probabilities.
    """
    spec = task.plane
    columns = evaluator.table.column_names
    if not spec or spec["x"] not in columns or spec["y"] not in columns:
        return None
    xs, ys = np.array(spec["xs"]), np.array(spec["ys"])
    middle = {name: row for name, row in spec["middle"].items() if name in columns}
    grid = shared_tables.repeated(evaluator.table, middle, len(xs) * len(ys))
    grid = shared_tables.with_column(grid, spec["x"], np.tile(xs, len(ys)))
    grid = shared_tables.with_column(grid, spec["y"], np.repeat(ys, len(xs)))
    native = shared_tables.native(grid, evaluator.shared.container) if evaluator.foreign else grid
    predicted = evaluator.predict(fitted, native)
    shape = (len(ys), len(xs))
    sure = None if predicted.proba is None else np.round(predicted.proba.max(axis=1), 2)
    return {
        "grid": np.asarray(predicted.labels).reshape(shape).tolist(),
        "certainty": None if sure is None else sure.reshape(shape).tolist(),
    }
