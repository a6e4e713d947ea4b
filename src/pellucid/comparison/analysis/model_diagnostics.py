"""Parts of a model's description that refit the model or belong to one kind of model.

`model_details.describe_model` calls them: limits of coefficients and their path along the penalty (by
refits), partial dependence, the discriminant plane of LDA, support vectors, nearest neighbours.
Each function returns plain data of bounded size, or None if the model has no such part or the time is
over. Invariant: nothing here changes a score; classes are codes, not labels.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.execution.worker_data import Evaluator
from pellucid.data.io import shared_tables

N_BOOTSTRAP = 30  # bootstrap refits for the limits of coefficients
ENOUGH = 20  # refits that must contain a term
LINES = 8  # coefficients shown along the penalty
DEPENDENCES = 4
GRID = 15
ROWS = 60  # rows over which a dependence is averaged
POINTS = 300
BINS = 24
SHOWN = 4  # rows whose neighbours are listed
NEAR = 7
PENALTIES = {"alpha", "C"}


def _rng(evaluator: Evaluator, *what: Any) -> np.random.Generator:
    return parallel.stream(parallel.seed_sequence(evaluator.shared.seed), "insight", *what)


def coefficients_of(fitted: Any) -> np.ndarray | None:
    """Coefficients as (classes or 1, terms); None for a model without them."""
    coef = vars(fitted).get("coef_")
    if coef is None or not hasattr(fitted, "terms_"):
        return None
    values = np.atleast_2d(np.asarray(coef, dtype=float))
    return values if values.shape[1] == len(fitted.terms_) else None


def spread_of(evaluator: Evaluator, fitted: Any, task: Any) -> np.ndarray:
    """Standard deviation of each encoded column on the training rows."""
    X = fitted._encoded(evaluator.rows(task.train))
    if isinstance(X, np.ndarray):
        return X.std(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return np.sqrt(np.maximum(square - mean**2, 0.0))


# Limits of coefficients -------------------------------------------------------------------------


def coefficient_limits(
    evaluator: Evaluator, fitted: Any, task: Any, seconds: float
) -> dict[str, Any] | None:
    """95 % limits of all coefficients: by theory for least squares, else from bootstrap refits."""
    values = coefficients_of(fitted)
    if values is None:
        return None
    known = _wald(fitted) if type(fitted).__name__ == "LinearRegression" else None
    if known is not None:
        return known
    spread = _bootstrap_spread(evaluator, fitted, task, values.shape, seconds)
    if spread is None:
        return None
    half = 1.96 * spread
    return {"low": values - half, "high": values + half,
            "method": f"{N_BOOTSTRAP} bootstrap refits"}  # fmt: skip


def _wald(fitted: Any) -> dict[str, Any] | None:
    table = fitted.summary()
    if "low" not in table.columns:
        return None
    low, high = table.columns.index("low"), table.columns.index("high")
    of = {row[0]: (row[low], row[high]) for row in table.rows}
    ends = np.array([of.get(str(term), (None, None)) for term in fitted.terms_], dtype=float)
    return {"low": ends[None, :, 0], "high": ends[None, :, 1], "method": "the t distribution"}


def _bootstrap_spread(
    evaluator: Evaluator, fitted: Any, task: Any, shape: tuple[int, int], seconds: float
) -> np.ndarray | None:
    """Standard deviation of each coefficient over bootstrap refits; NaN for terms in few of them."""
    began, rng, n = time.process_time(), _rng(evaluator, "redrawn", evaluator.name), len(task.train)
    place = {str(term): j for j, term in enumerate(fitted.terms_)}
    found = np.full((N_BOOTSTRAP, *shape), np.nan)
    for b in range(N_BOOTSTRAP):
        rows = task.train[rng.integers(0, n, n)]
        model = evaluator.unfitted(task.params, "redrawn", str(b))
        again = coefficients_of(other := evaluator.fit(model, evaluator.rows(rows), rows))
        if again is not None and len(again) == shape[0]:
            pairs = [(place[str(t)], j) for j, t in enumerate(other.terms_) if str(t) in place]
            ours, theirs = zip(*pairs)
            found[b][:, list(ours)] = again[:, list(theirs)]
        if (time.process_time() - began) / (b + 1) * N_BOOTSTRAP > seconds:
            return None
    known = np.isfinite(found).sum(axis=0)
    mean = np.nansum(found, axis=0) / np.maximum(known, 1)
    square = np.nansum((found - mean) ** 2, axis=0)
    return np.where(known >= ENOUGH, np.sqrt(square / np.maximum(known - 1, 1)), np.nan)


# Path -----------------------------------------------------------------------------------------


def path(evaluator: Evaluator, fitted: Any, task: Any, seconds: float) -> Any:
    """Standardised coefficients along the penalty, with the other parameters as chosen."""
    values, chosen = coefficients_of(fitted), task.params
    name = next((key for key in chosen if key in PENALTIES), None)
    if values is None or name is None:
        return None
    others = {key: value for key, value in chosen.items() if key != name}
    along = sorted({c[name] for c in task.candidates if c == others | {name: c.get(name)}})
    if len(along) < 3:
        return None
    spread = spread_of(evaluator, fitted, task)
    sizes = np.abs(values * spread)
    top = np.argsort(-sizes.max(axis=0), kind="stable")[:LINES]
    which = sizes[:, top].argmax(axis=0)  # the class where each term is largest
    began, X, lines = time.process_time(), evaluator.rows_again(task.train), []
    terms = fitted.terms_
    for k, value in enumerate(along):
        model = evaluator.unfitted({**others, name: value}, "path", str(k))
        again = coefficients_of(evaluator.fit(model, X, task.train))
        if again is None or again.shape != values.shape:
            return None
        lines.append(again[which, top] * spread[top])
        if (time.process_time() - began) / (k + 1) * len(along) > seconds:
            return None
    return {
        "param": name, "x": [float(v) for v in along], "chosen": float(chosen[name]),
        "terms": [str(terms[j])[:200] for j in top],
        "y": np.transpose(lines).tolist(), "classes": len(values),
    }  # fmt: skip


# Dependence -----------------------------------------------------------------------------------


def dependence(evaluator: Evaluator, fitted: Any, task: Any, columns: list[str]) -> Any:
    """Partial dependence: the mean prediction if every row had the same value in one column."""
    rows = task.train[_rng(evaluator, "dependence").permutation(len(task.train))[:ROWS]]
    found = [
        _dependence(evaluator, fitted, task.train, rows, name) for name in columns[:DEPENDENCES]
    ]
    kept = [part for part in found if part is not None]
    return {"rows": len(rows), "columns": kept} if kept else None


def _dependence(
    evaluator: Evaluator, fitted: Any, train: np.ndarray, rows: np.ndarray, name: str
) -> dict[str, Any] | None:
    from pellucid.data.arrow import arrow_column

    raw = arrow_column(name, evaluator.table.column(name))
    values = raw.values[train]
    if raw.kind in ("number", "datetime"):
        shown = values[~np.isnan(values)]
        ends = np.linspace(0.02, 0.98, GRID)
        labels: list[Any] = np.unique(np.quantile(shown, ends)).tolist() if len(shown) else []
        where = None
    elif raw.kind == "categorical" and name not in evaluator.text:
        codes, first, counts = np.unique(values, return_index=True, return_counts=True)
        order = [k for k in np.argsort(-counts, kind="stable") if codes[k] >= 0][:GRID]
        where = train[first[order]]
        column = shared_tables.take(evaluator.table.select([name]), where)
        labels = [text or "" for (text,) in shared_tables.cells_as_text(column, 60)]
    else:
        return None
    if len(labels) < 2:
        return None
    table = shared_tables.take(evaluator.table, np.tile(rows, len(labels)))
    if where is None:
        table = shared_tables.with_column(table, name, np.repeat(labels, len(rows)))
    else:
        cells = shared_tables.take(evaluator.table.select([name]), np.repeat(where, len(rows)))
        table = table.set_column(table.column_names.index(name), name, cells.column(0))
    kind = raw.kind if where is None else "levels"
    means = _means(evaluator, fitted, table, len(labels))
    return {"name": name, "kind": kind, "x": labels, "y": means.T.tolist()}


def _means(evaluator: Evaluator, fitted: Any, table: Any, n: int) -> np.ndarray:
    """(values, classes or 1): mean prediction, mean probability, or share of the predicted labels."""
    predictions, K = evaluator.predict(fitted, table), evaluator.shared.n_classes
    if not K:
        return predictions.labels.reshape(n, -1).mean(axis=1)[:, None]
    shares = predictions.proba if predictions.proba is not None else np.eye(K)[predictions.labels]
    return shares.reshape(n, -1, K).mean(axis=1)


# Models of one kind ---------------------------------------------------------------------------


def projection(evaluator: Evaluator, fitted: Any, task: Any) -> dict[str, Any] | None:
    """Rows in the plane of the linear discriminants; for two classes, on the line."""
    if type(fitted).__name__ != "LinearDiscriminantAnalysis":
        return None
    rows = task.train[np.sort(_rng(evaluator, "projection").permutation(len(task.train))[:POINTS])]
    scores = np.asarray(fitted.decision_function(evaluator.rows(rows)), dtype=float)
    if scores.ndim == 1:
        scores = scores if evaluator.codes(fitted.classes_)[1] == 1 else -scores
        edges = np.linspace(scores.min(), scores.max(), BINS + 1)
        counts = [np.histogram(scores[evaluator.y[rows] == k], edges)[0].tolist() for k in (0, 1)]
        return {"edges": edges.tolist(), "counts": counts}
    # Differences of scores span the discriminant space; its main axes are the plane.
    centred = scores - scores.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    x, y = (centred @ axes.T).T
    return {"x": x.tolist(), "y": y.tolist(), "codes": evaluator.y[rows].tolist()}


def support(evaluator: Evaluator, fitted: Any, task: Any) -> dict[str, Any] | None:
    """Number of support vectors by class."""
    where = vars(fitted).get("support_")
    if where is None or "dual_coef_" not in vars(fitted):
        return None
    y, size = evaluator.y[task.train], max(1, evaluator.shared.n_classes)
    codes = y if size > 1 else np.zeros(len(y), dtype=int)
    return {
        "vectors": np.bincount(codes[np.asarray(where)], minlength=size).tolist(),
        "rows": np.bincount(codes, minlength=size).tolist(),
    }


def neighbours(evaluator: Evaluator, fitted: Any, task: Any) -> list[dict[str, Any]] | None:
    """Some rows with their nearest neighbours, distances and targets."""
    if not type(fitted).__name__.startswith("KNeighbors"):
        return None
    rows = np.sort(_rng(evaluator, "neighbours").permutation(task.train)[:SHOWN])
    explanation = fitted.explain(evaluator.rows(rows))
    out = []
    for i, row in enumerate(rows):
        pairs = zip(explanation.rows[i], explanation.distances[i])
        known = [
            (int(task.train[k]), float(d)) for k, d in pairs if k >= 0 and task.train[k] != row
        ]
        near = [{"row": r, "distance": d, "actual": float(evaluator.y[r])} for r, d in known]
        if near:
            out.append({"row": int(row), "actual": float(evaluator.y[row]), "near": near[:NEAR]})
    return out or None
