"""Out-of-fold predictions of many rows in compact lists, for the search of the report.

Invariant: rows are sorted by error, largest first; the target is the only column in the lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 5000


def searchable(
    answers: dict[str, np.ndarray],
    y: np.ndarray,
    weights: np.ndarray,
    numbers: np.ndarray,
    classes: list[str] | None,
) -> dict[str, Any]:
    """The out-of-fold predictions of a model; of repeated folds the first counts.

    row : row numbers in the table; actual, predicted : class indices, or numbers; p : probability of
    the second of two classes, of the predicted one of several, or None; rows : the total number.
    """
    rows, first = np.unique(answers["rows"], return_index=True)
    first = first[weights[rows] > 0]
    rows, predicted = answers["rows"][first], answers["labels"][first]
    truth = y[rows]
    proba = answers["proba"][first] if classes is not None and "proba" in answers else None
    order = np.argsort(-_error(truth, predicted, proba, classes), kind="stable")[:MOST]
    p = None
    if proba is not None:
        which = 1 if proba.shape[1] == 2 else predicted.astype(int)
        p = np.round(proba[np.arange(len(rows)), which][order], 5).tolist()
    return {
        "row": numbers[rows[order]].tolist(), "actual": _plain(truth[order], classes),
        "predicted": _plain(predicted[order], classes),
        "p": p, "rows": len(rows),
    }  # fmt: skip


def _error(
    truth: np.ndarray, predicted: np.ndarray, proba: np.ndarray | None, classes: list[str] | None
) -> np.ndarray:
    if classes is None:
        return np.abs(truth - predicted)
    if proba is None:
        return (truth != predicted).astype(float)
    return 1.0 - proba[np.arange(len(truth)), truth.astype(int)]


def _plain(values: np.ndarray, classes: list[str] | None) -> list[Any]:
    """Class indices, or numbers with five digits."""
    if classes is not None:
        return values.astype(int).tolist()
    return [float(f"{value:.5g}") for value in values.tolist()]
