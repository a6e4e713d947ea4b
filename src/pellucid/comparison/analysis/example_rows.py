"""Example rows: where the out-of-fold predictions of the recommended model were most wrong or least
certain, and a few at random; with the contribution of each column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.io import shared_tables

EACH = 8
MAX_CONTRIBUTIONS = 20


def pick(
    y: np.ndarray, predictions: dict[str, np.ndarray], n_classes: int, seed: int
) -> dict[str, list[int]]:
    """{group: rows of the dataset}; `predictions` are out-of-fold."""
    rows, labels = predictions["rows"], predictions["labels"]
    # Repeated cross-validation tests a row more than once.
    first = np.unique(rows, return_index=True)[1]
    rows, labels = rows[first], labels[first]
    truth = y[rows]
    rng = parallel.stream(parallel.seed_sequence(seed), "rows")
    drawn = rng.permutation(len(rows))[:EACH]
    groups = {}
    if not n_classes:
        wrong = np.abs(truth - labels)
        groups["worst mistakes"] = np.argsort(-wrong, kind="stable")[:EACH]
    else:
        proba = predictions.get("proba")
        sure = np.ones(len(rows)) if proba is None else proba[first].max(axis=1)
        missed = np.flatnonzero(labels != truth)
        groups["worst mistakes"] = missed[np.argsort(-sure[missed], kind="stable")][:EACH]
        if proba is not None:
            ordered = np.sort(proba[first], axis=1)
            groups["most uncertain"] = np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[
                :EACH
            ]
    groups["random"] = drawn
    return {name: [int(rows[k]) for k in found] for name, found in groups.items() if len(found)}


def explained(evaluator: Any, fitted: Any, rows: list[int]) -> list[dict[str, Any]] | None:
    """Contributions of the columns in the final model, by row; None if it has no contributions."""
    if not hasattr(fitted, "explain"):
        return None
    explanation = fitted.explain(evaluator.rows(np.array(rows)))
    if not hasattr(explanation, "contributions"):
        return None
    out = []
    for i in range(len(rows)):
        k = int(np.argmax(explanation.prediction[i]))
        about = None  # the class that the contributions refer to
        if explanation.classes is not None:
            about = str(explanation.classes[-1 if len(explanation.base) == 1 else k])
        amounts = explanation.contributions[i, :, k]
        order = np.argsort(-np.abs(amounts), kind="stable")[:MAX_CONTRIBUTIONS]
        out.append({
            "base": float(explanation.base[k]), "total": float(explanation.prediction[i, k]),
            "scale": explanation.called, "about": about,
            "contributions": [[str(explanation.columns[j]), float(amounts[j])] for j in order],
        })  # fmt: skip
    return out


def cells(table: Any, rows: list[int]) -> list[list[str | None]]:
    """The cells of some rows as text."""
    table = shared_tables.readable(table)
    return shared_tables.cells_as_text(shared_tables.take(table, np.array(rows, dtype=np.int64)))
