"""Example rows: where the out-of-fold predictions of the recommended model were most wrong or least
certain, and a few at random; with the contribution of each column, and what would change the prediction.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.io import shared_tables
from pellucid.draw.label_text import clean
from pellucid.draw.number import number
from pellucid.inspection import counterfactuals
from pellucid.records import Explanation

EACH = 8
MAX_CONTRIBUTIONS = 20
MOST_DONORS = 500  # training rows whose cells are tried as new values of a row
MOST_CHANGES = 8  # rows for which changes are searched
EACH_CHANGES, MOST_CHANGED = 2, 2  # counterfactuals of a row, and columns that each changes


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
    if not isinstance(explanation, Explanation):
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


def changed(
    evaluator: Any, fitted: Any, rows: list[int], train: np.ndarray, seconds: float
) -> list[dict[str, Any] | None]:
    """What would change the final model's prediction of each row; None for the others.

    The new values are cells of at most `MOST_DONORS` training rows. A class must become another one; a
    number must cross the median of the training rows. Columns of text do not change.
    """
    end = time.monotonic() + seconds
    places = np.linspace(0, len(train) - 1, min(len(train), MOST_DONORS)).round().astype(int)
    donors = evaluator.rows(train[places])
    middle = None if evaluator.labels is not None else float(np.median(evaluator.y[train]))
    known: dict[int, dict[str, Any]] = {}
    for row in list(dict.fromkeys(rows))[:MOST_CHANGES]:
        if time.monotonic() > end:
            break
        found = counterfactuals(
            fitted, evaluator.rows(np.array([row])), donors, target=middle, n=EACH_CHANGES,
            max_columns=MOST_CHANGED, fixed=evaluator.text,
        )  # fmt: skip
        known[row] = {
            "before": _plain(found.before[0]), "threshold": middle,
            "found": [
                {"prediction": _plain(one.prediction),
                 "columns": [[name, *map(_text, cells)] for name, cells in one.changes.items()]}
                for one in found
            ],
        }  # fmt: skip
    return [known.get(row) for row in rows]


def _plain(prediction: Any) -> str | float:
    return float(prediction) if isinstance(prediction, float) else str(prediction)


def _text(cell: Any) -> str | None:
    return None if cell is None else clean(number(cell), 60)


def cells(table: Any, rows: list[int]) -> list[list[str | None]]:
    """The cells of some rows as text."""
    table = shared_tables.readable(table)
    return shared_tables.cells_as_text(shared_tables.take(table, np.array(rows, dtype=np.int64)))
