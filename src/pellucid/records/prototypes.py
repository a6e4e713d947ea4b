"""Training rows that explain a prediction: neighbours, or support vectors.

Invariant: `base + votes.sum(axis=1) + others == prediction`, up to rounding, for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.records.fields import require, store, store_array
from pellucid.records.frames import frame
from pellucid.records.outcome import (
    ROWS_SHOWN,
    TERMS_SHOWN,
    check_outcome,
    first_sentences,
    largest_gap,
    largest_size,
    lead,
)


@dataclass(frozen=True, eq=False, repr=False)
class Prototypes:
    """Training rows with their distances and votes.

    Parameters
    ----------
    rows : (n, k), positions of training rows; -1 where a row has fewer than k prototypes.
    distances : (n, k), from the explained row; NaN where there is none.
    votes : (n, k, K), what each prototype adds; 0 where there is none.
    prediction : (n, K).
    classes : the labels of a classifier (two of them if K = 1), else None.
    scale : as in `Explanation`, mostly "votes", "probability" or "response".
    method : who votes, for instance "5 nearest neighbours".
    base : (K,), what is predicted without any vote, such as the intercept; 0 by default.
    others : (n, K), votes of the prototypes that are not listed; 0 by default.
    explained : names of the n explained rows; 0 .. n - 1 by default.
    """

    rows: np.ndarray
    distances: np.ndarray
    votes: np.ndarray
    prediction: np.ndarray
    classes: tuple[Any, ...] | None
    scale: str
    method: str
    base: np.ndarray | None = None
    others: np.ndarray | None = None
    explained: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        n, k = store_array(self, "rows", (None, None), np.int64).shape
        require(bool(np.all(self.rows >= -1)), self, "rows", "positions, or -1 for none")
        store_array(self, "distances", (n, k))
        K = store_array(self, "votes", (n, k, None)).shape[2]
        store_array(self, "prediction", (n, K))
        for field, shape in (("base", (K,)), ("others", (n, K))):
            if getattr(self, field) is None:
                store(self, field, np.zeros(shape))
            store_array(self, field, shape)
        store(self, "explained", range(n) if self.explained is None else tuple(self.explained))
        require(len(self.explained or ()) == n, self, "explained", f"{n} names")
        check_outcome(self, K)

    def gap(self) -> float:
        """Largest difference between the sum of the votes and the prediction."""
        return largest_gap(self.base + self.votes.sum(axis=1) + self.others, self.prediction)

    def is_additive(self, tolerance: float = 1e-9) -> bool:
        """Whether the votes add up, relative to the largest prediction."""
        return self.gap() <= tolerance * largest_size(self.prediction)

    def frame(self, backend: str | None = None) -> Any:
        """One line per explained row and prototype.

        `backend`: None for a dict of lists, or "pandas", "polars", "arrow".
        """
        i, j = np.nonzero(self.rows >= 0)
        names = self.explained or ()
        result: dict[str, list[Any]] = {
            "row": [names[place] for place in i.tolist()],
            "prototype": self.rows[i, j].tolist(),
            "distance": self.distances[i, j].tolist(),
        }
        K = self.votes.shape[2]
        labels: list[Any] = list(range(K)) if self.classes is None else list(self.classes[-K:])
        for k, label in enumerate(labels):
            name = "vote" if K == 1 else f"vote for {label}"
            result[name] = self.votes[i, j, k].tolist()
        return frame(result, backend)

    def _sentence(self, i: int) -> str:
        from pellucid.draw import number
        from pellucid.draw.label_text import clean

        assert self.base is not None and self.explained is not None
        outcome = lead(self.base, self.prediction[i], self.classes, self.scale)
        votes = self.votes[i, :, outcome.k]
        order = np.lexsort((np.arange(len(votes)), self.distances[i], -np.abs(votes)))
        present = [j for j in order if self.rows[i, j] >= 0]
        terms = [
            f"training row {self.rows[i, j]} at {number(float(self.distances[i, j]), 3)}"
            f" ({number(float(votes[j]), 3)})"
            for j in present[:TERMS_SHOWN]
        ]
        if len(present) > TERMS_SHOWN:
            terms.append("...")
        total = f"{self.scale} {number(outcome.total, 3)} by {len(present)} rows"
        return "  ".join([f"row {clean(self.explained[i], 40)} -> {outcome}", *terms, total])

    def __str__(self) -> str:
        return first_sentences(self._sentence, len(self.rows))

    def __repr__(self) -> str:
        n, k = self.rows.shape
        return f"<Prototypes of {n} rows, up to {k} each, {self.scale}, {self.method}>"

    def _repr_html_(self) -> str:
        from pellucid.draw import html_table

        whole = self.frame()
        limit = 5 * ROWS_SHOWN
        lines = list(zip(*(values[:limit] for values in whole.values())))
        n = len(whole["row"])
        more = [f"{n - limit} more lines."] if n > limit else []
        notes = [*more, f"Votes on the scale {self.scale}, found by: {self.method}."]
        return html_table(list(whole), lines, title="Prototypes", notes=notes)
