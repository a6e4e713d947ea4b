"""Out-of-fold predictions of many rows in compact lists, for the search of the report.

Invariant: rows are in the order of their error, largest first, so the first n of them are the n worst;
the lists hold no cell but the target's.
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
    """The rows that a model predicted out of fold; of repeated folds the first counts.

    row : numbers in the table; actual, predicted : class indices, or numbers; p : probability of the
    second of two classes, of the predicted one of several, or None; rows : how many there are in all.
    """
    rows, first = np.unique(answers["rows"], return_index=True)
    first = first[weights[rows] > 0]
    rows, said = answers["rows"][first], answers["labels"][first]
    truth = y[rows]
    proba = answers["proba"][first] if classes is not None and "proba" in answers else None
    order = np.argsort(-_error(truth, said, proba, classes), kind="stable")[:MOST]
    p = None if proba is None else _told(proba, said)[order]
    return {
        "row": numbers[rows[order]].tolist(), "actual": _plain(truth[order], classes),
        "predicted": _plain(said[order], classes),
        "p": None if p is None else np.round(p, 5).tolist(), "rows": len(rows),
    }  # fmt: skip


def _error(
    truth: np.ndarray, said: np.ndarray, proba: np.ndarray | None, classes: list[str] | None
) -> np.ndarray:
    if classes is None:
        return np.abs(truth - said)
    if proba is None:
        return (truth != said).astype(float)
    return 1.0 - proba[np.arange(len(truth)), truth.astype(int)]


def _told(proba: np.ndarray, said: np.ndarray) -> np.ndarray:
    if proba.shape[1] == 2:
        return proba[:, 1]
    return proba[np.arange(len(said)), said.astype(int)]


def _plain(values: np.ndarray, classes: list[str] | None) -> list[Any]:
    """Class indices as they are; five digits of a number."""
    if classes is not None:
        return values.astype(int).tolist()
    return [float(f"{value:.5g}") for value in values.tolist()]
