"""Why a model predicted what it predicted: contributions of the user's own columns.

Invariant: for every row and class `base + contributions.sum(axis=1) == prediction`, up to rounding,
on the scale that the record names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.records.fields import require, store, store_array, store_strings
from pellucid.records.frames import frame, unused
from pellucid.records.outcome import (
    ROWS_SHOWN,
    TERMS_SHOWN,
    Outcome,
    check_outcome,
    first_sentences,
    largest_gap,
    largest_size,
    lead,
)

BARS_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Contributions that add up to the prediction.

    Parameters
    ----------
    base : (K,), what the model predicts before it looks at the row; K = 1 for regression and two
        classes.
    contributions : (n, d, K), what each of the d columns adds.
    prediction : (n, K), on the scale named below.
    columns : names of the d columns.
    classes : the labels of a classifier (two of them if K = 1), else None.
    scale : "response"; "link"; "log-odds" (the logistic function, for K > 1 the softmax, turns
        the prediction into probabilities); "votes"; or "probability".
    method : how the contributions were found.
    values : the d columns of explained values, if they are to be shown.
    rows : names of the n rows; 0 .. n - 1 by default.

    Examples
    --------
    >>> print(Explanation([0.5], [[[1.0], [-0.25]]], [[1.25]], ["age", "income"], None,
    ...                   "response", "linear"))
    row 0 -> 1.25  baseline 0.5  age (+1)  income (-0.25)  0.5 + contributions = 1.25 (response)
    """

    base: np.ndarray
    contributions: np.ndarray
    prediction: np.ndarray
    columns: tuple[str, ...]
    classes: tuple[Any, ...] | None
    scale: str
    method: str
    values: Sequence[Sequence[Any]] | None = None
    rows: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        d = len(store_strings(self, "columns", self.columns))
        K = len(store_array(self, "base", (None,)))
        n = len(store_array(self, "contributions", (None, d, K)))
        store_array(self, "prediction", (n, K))
        check_outcome(self, K)
        if self.values is not None:
            fits = len(self.values) == d and all(len(column) == n for column in self.values)
            require(fits, self, "values", f"{d} columns of {n} values")
        store(self, "rows", range(n) if self.rows is None else tuple(self.rows))
        require(len(self.rows or ()) == n, self, "rows", f"{n} names")

    def with_offset(self, offset: np.ndarray, name: str = "(offset)") -> Explanation:
        """The same with one more part, the offsets (n,) of the rows, which no column holds."""
        own = np.broadcast_to(offset[:, None], self.prediction.shape)
        return replace(
            self, columns=(*self.columns, name), prediction=self.prediction + own,
            contributions=np.concatenate([self.contributions, own[:, None, :]], axis=1),
        )  # fmt: skip

    def gap(self) -> float:
        """Largest difference between the sum of the contributions and the prediction."""
        return largest_gap(self.base + self.contributions.sum(axis=1), self.prediction)

    def is_additive(self, tolerance: float = 1e-9) -> bool:
        """Whether the contributions add up, relative to the largest prediction."""
        return self.gap() <= tolerance * largest_size(self.prediction)

    def frame(self, backend: str | None = None) -> Any:
        """One line per row and class, one column per column of the table.

        `backend`: None for a dict of lists, or "pandas", "polars", "arrow".
        """
        n, _, K = self.contributions.shape
        taken = set(self.columns)
        row, which, base, prediction = (
            unused(name, taken) for name in ("row", "class", "baseline", "prediction")
        )
        result: dict[str, list[Any]] = {row: [name for name in self.rows or () for _ in range(K)]}
        if self.classes is not None:
            result[which] = list(self.classes[-K:]) * n
        elif K > 1:
            result[which] = list(range(K)) * n
        result[base] = self.base.tolist() * n
        for j, column in enumerate(self.columns):
            result[column] = self.contributions[:, j].ravel().tolist()
        result[prediction] = self.prediction.ravel().tolist()
        return frame(result, backend)

    @property
    def called(self) -> str:
        """The scale in words; scores of several classes are not log-odds before the softmax."""
        several = self.scale == "log-odds" and len(self.base) > 1
        return "score before softmax" if several else self.scale

    def called_of(self, outcome: Outcome) -> str:
        """The scale, with the name of the class that it describes if there are two."""
        from pellucid.draw.label_text import clean

        return f"{self.called} of {clean(outcome.of, 60)}" if outcome.kind else self.called

    def towards(self, i: int) -> tuple[Outcome, np.ndarray]:
        """The outcome of row `i`, and the contributions towards the class `outcome.of`.

        That is the second of two classes in every row, and the predicted one of more.
        """
        outcome = lead(self.base, self.prediction[i], self.classes, self.scale)
        return outcome, self.contributions[i, :, outcome.k]

    def _row(self, i: int) -> str:
        from pellucid.draw.label_text import clean

        assert self.rows is not None
        return clean(self.rows[i], 40)

    def _adds_up(self, i: int) -> bool:
        gap = largest_gap(self.base + self.contributions[i].sum(axis=0), self.prediction[i])
        return gap <= 1e-9 * largest_size(self.prediction[i])

    def _term(self, i: int, j: int, amount: float) -> str:
        from pellucid.draw import number
        from pellucid.draw.label_text import clean

        value = "" if self.values is None else f" {clean(number(self.values[j][i]), 40)}"
        return f"{clean(self.columns[j], 60)}{value} ({_signed(amount)})"

    def _sentence(self, i: int) -> str:
        from pellucid.draw import number

        outcome, amounts = self.towards(i)
        order = np.argsort(-np.abs(amounts), kind="stable")
        terms = [self._term(i, j, amounts[j]) for j in order[:TERMS_SHOWN]]
        if len(order) > TERMS_SHOWN:
            terms.append("...")
        parts = [f"row {self._row(i)} -> {outcome}"]
        parts += [f"baseline {number(outcome.baseline, 3)}", *terms]
        base, total = number(float(self.base[outcome.k]), 3), number(outcome.total, 3)
        sign = "=" if self._adds_up(i) else "differ from"
        parts.append(f"{base} + contributions {sign} {total} ({self.called_of(outcome)})")
        return "  ".join(parts)

    def __str__(self) -> str:
        return first_sentences(self._sentence, len(self.prediction))

    def __repr__(self) -> str:
        n, d, K = self.contributions.shape
        return f"<Explanation of {n} rows by {d} columns, K={K}, {self.scale}, {self.method}>"

    def _repr_html_(self) -> str:
        from pellucid.draw import html_table

        n = len(self.prediction)
        lines = []
        for i in range(min(n, ROWS_SHOWN)):
            outcome, amounts = self.towards(i)
            order = np.argsort(-np.abs(amounts), kind="stable")[:TERMS_SHOWN]
            terms = ", ".join(self._term(i, j, amounts[j]) for j in order)
            label = [] if outcome.label is None else [outcome.label]
            lines.append([self._row(i), *label, outcome.shown, outcome.baseline, terms])
        first = self.towards(0)[0] if n else None
        scale = self.called if first is None else self.called_of(first)
        note = f"Contributions to the {scale}, found by: {self.method}."
        more = [f"{n - ROWS_SHOWN} more rows."] if n > ROWS_SHOWN else []
        label = [] if self.classes is None else ["prediction"]
        value = "probability" if self.scale == "log-odds" and label else self.scale
        value = first.named if first is not None and first.kind else value
        heads = ["row", *label, value, "baseline", "strongest contributions"]
        table = html_table(heads, lines, title="Explanation", notes=[*more, note])
        return f"<div>{table}{self._chart() if n and self.columns else ''}</div>"

    def _chart(self) -> str:
        """The strongest contributions of the first row."""
        from pellucid.draw import bar

        outcome, amounts = self.towards(0)
        order = np.argsort(-np.abs(amounts), kind="stable")[:BARS_SHOWN]
        return bar(
            [self.columns[j] for j in order],
            {"contribution": amounts[order]},
            title=f"Row {self._row(0)}: {outcome}",
            x_label=f"contribution to the {self.called_of(outcome)}",
            style=False,
        )


def _signed(amount: float) -> str:
    from pellucid.draw import number

    text = number(float(amount), 3)
    return text if text.startswith("-") or text == "nan" else f"+{text}"
