"""Scores of several models, or of several settings, side by side: mean, interval and folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pellucid.draw.number import beside_marks
from pellucid.errors import ParameterError
from pellucid.inspection.bootstrap import taken
from pellucid.model_selection.search import fresh
from pellucid.plot.display import Display, as_function
from pellucid.plot.evaluation.score_curves import score_function
from pellucid.plot.given_predictions import is_classifier, splits, table
from pellucid.plot.picture import Area, Axis, Intervals, Mark, Panel, Picture, Segments

MOST_ROWS = 60


class ScoresDisplay(Display):
    """The score of each model: its mean, an interval, and the scores of the single folds.

    Parameters
    ----------
    names : the models or settings, from top to bottom.
    mean : mean score of each; NaN if there is none.
    low, high : ends of the intervals; NaN without one, infinite ones reach the edge of the plot.
    folds : scores of the folds of each, drawn as short strokes.
    shaded : range of scores that is shaded, such as that of the models as good as the best.
    score : name of the score.
    label : what the rows are.
    title, note : texts of the picture.

    Examples
    --------
    >>> from pellucid.dummy import DummyClassifier
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X, y = [[float(i)] for i in range(8)], [0] * 4 + [1] * 4
    >>> models = {"tree": DecisionTreeClassifier(), "majority": DummyClassifier()}
    >>> frame = ScoresDisplay.from_cv(models, X, y, cv=2).frame()
    >>> frame["model"], frame["mean"]
    (['tree', 'majority'], [0.875, 0.5])
    """

    def __init__(
        self, names: Sequence[str], mean: Any, low: Any, high: Any, *, folds: Sequence[Any] = (),
        shaded: tuple[float, float] | None = None, score: str = "score", label: str = "model",
        title: str = "", note: str = "",
    ) -> None:  # fmt: skip
        self.names, self.score, self.label = list(names), score, label
        self.mean, self.low, self.high = (np.asarray(v, dtype=float) for v in (mean, low, high))
        self.folds = [np.asarray(part, dtype=float) for part in folds]
        self.shaded, self.title, self.note = shaded, title, note

    @classmethod
    def from_cv(
        cls, models: Any, X: Any, y: Any, *, cv: Any = 5, scoring: Any = None
    ) -> Self:  # fmt: skip
        """Scores of the test rows of each fold.

        Parameters
        ----------
        models : estimators, or a mapping from names to estimators; clones are fitted.
        cv : a number of folds, an object with `split`, or pairs of training and test rows. All models
            see the same folds.
        scoring : name of a metric, a function of (model, X, y), or "error".
        """
        named = _named(models)
        X, y = table(X, y)
        first = next(iter(named.values()))
        name, measure = score_function(first, scoring)
        folds = splits(cv, X, y, is_classifier(first))
        found = np.array([
            [measure(fresh(model, {}).fit(taken(X, a), y[a]), taken(X, b), y[b]) for a, b in folds]
            for model in named.values()
        ])  # fmt: skip
        note = "Dot: mean over the folds. Line: lowest to highest. Ticks: folds."
        return cls(
            list(named), found.mean(axis=1), found.min(axis=1), found.max(axis=1), folds=list(found),
            score=name, title=f"{name.capitalize()} of each model", note=note,
        )  # fmt: skip

    def columns(self) -> dict[str, Any]:
        data = {self.label: self.names, "mean": self.mean, "low": self.low, "high": self.high}
        most = max(map(len, self.folds), default=0)
        for f in range(most):
            own = [part[f] if f < len(part) else np.nan for part in self.folds]
            data[f"fold {f + 1}"] = np.array(own)
        return data

    def picture(self) -> Picture:
        n = min(len(self.names), MOST_ROWS)
        cut = f"Showing the first {n} of {len(self.names)} rows." if n < len(self.names) else ""
        at, marks = np.arange(n, dtype=float), list[Mark]()
        if self.shaded is not None:
            a, b = self.shaded
            marks.append(Area([a, b, b, a], [-0.5, -0.5, n - 0.5, n - 0.5], opacity=0.1))
        single = [(v, i) for i, part in enumerate(self.folds[:n]) for v in part if v == v]
        if single:
            x, rows = np.array(single, dtype=float).T
            marks.append(Segments(x, rows - 0.3, x, rows + 0.3, widths=[1.0] * len(x)))
        marks.append(Intervals(at, self.mean[:n], self.low[:n], self.high[:n]))
        texts = ["n/a" if t == "nan" else t for t in beside_marks(self.mean[:n].tolist())]
        panel = Panel(
            tuple(marks), Axis(self.score), Axis(self.label, names=tuple(self.names[:n])),
            note=f"{self.note} {cut}".strip(), height=max(30, 24 * n), right_texts=tuple(texts),
        )  # fmt: skip
        return Picture((panel,), f"{self.score} by {self.label}", self.title)


def _named(models: Any) -> dict[str, Any]:
    """Estimators by name; equal classes are counted."""
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        named = {}
        for model in models if isinstance(models, list | tuple) else [models]:
            base = name = type(model).__name__
            while name in named:
                name = f"{base} {1 + sum(key.startswith(base) for key in named)}"
            named[name] = model
    if not named:
        raise ParameterError("plot.scores needs at least one model.")
    return named


scores = as_function("scores", ScoresDisplay.from_cv)
