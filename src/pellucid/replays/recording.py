"""`Recording`: the steps of one watched fit beside the rows that it learned from.

Everything that scenes draw comes from here: the models of the steps, their predictions and errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data.intake import RawTable
from pellucid.draw import number
from pellucid.draw.label_text import distinct
from pellucid.plot.models.plane import NUMERIC, Source
from pellucid.records import Step, WatchedFit

# What a step is, where it is no iteration over all rows.
UNITS = {
    "BayesianRegression": "rows seen",
    "KNeighborsClassifier": "neighbours k",
    "KNeighborsRegressor": "neighbours k",
    "Perceptron": "update",
    "SGDClassifier": "step",
    "SGDRegressor": "step",
}
# What the objective of a step is, where "objective" says too little.
OBJECTIVES = {
    "GaussianMixture": "negative mean log-likelihood",
    "KMeans": "sum of squared distances",
    "OneClassSVM": "dual objective",
    "SVC": "dual objective",
    "SVR": "dual objective",
    "TSNE": "Kullback-Leibler divergence",
}
SCORED = 2000  # rows on which the error of each step is computed


@dataclass(frozen=True, eq=False)
class Recording:
    """A watched fit with its training rows.

    fit : the watched fit; its estimator is the fitted model
    steps : the steps that are shown
    table : the training table
    y : their target as an array, None without one
    columns : positions of the columns that the user chose, empty if none
    test : further rows and their target, or None
    target : name of the target
    """

    fit: WatchedFit
    steps: list[Step]
    table: Source
    y: Any
    columns: tuple[int, ...]
    test: tuple[RawTable, np.ndarray] | None
    target: str = "y"

    @property
    def rows(self) -> RawTable:
        """The training rows."""
        return self.table.raw

    @property
    def final(self) -> Any:
        """The fitted model."""
        return self.fit.estimator

    @property
    def is_classifier(self) -> bool:
        return self.final._kind == "classifier" and self.y is not None

    @property
    def is_regressor(self) -> bool:
        """Whether one number is predicted."""
        return self.final._kind == "regressor" and self.y is not None and self.y.ndim == 1

    @cached_property
    def classes(self) -> list[str]:
        """Names of the classes; without a classifier, those of y if it has few values."""
        if self.is_classifier:
            return distinct(self.final.classes_, 30)
        return distinct(np.unique(self.y), 30) if self._grouped else []

    @property
    def _grouped(self) -> bool:
        return self.y is not None and self.y.ndim == 1 and len(np.unique(self.y)) <= 30

    @cached_property
    def codes(self) -> Any:
        """Class of each row as a position in `classes`; None without classes."""
        if self.is_classifier:
            return self.codes_of(self.y)
        return np.unique(self.y, return_inverse=True)[1] if self._grouped else None

    def codes_of(self, labels: Any) -> np.ndarray:
        """Positions of labels in the classes of the model; -1 for others."""
        place = {label: k for k, label in enumerate(self.final.classes_.tolist())}
        found, where = np.unique(np.asarray(labels), return_inverse=True)
        return np.array([place.get(label, -1) for label in found.tolist()], dtype=int)[where]

    @cached_property
    def models(self) -> list[Any]:
        """The model of each step."""
        return [*(self.final._at_step(dict(s.state)) for s in self.steps[:-1]), self.final]

    @cached_property
    def numeric(self) -> list[int]:
        """Positions of the columns that the model uses as numbers and that have several values."""
        schema = self.final.schema_
        kinds = dict(zip((schema.name(j) for j in range(schema.n_columns)), schema.kinds))
        found = []
        for j in self.table.numeric:
            column = self.table.columns[j]
            if (
                kinds.get(column.name, column.kind) in NUMERIC
                and len(np.unique(column.values[np.isfinite(column.values)])) > 1
            ):
                found.append(j)
        return found

    @cached_property
    def iterations(self) -> list[int]:
        """Iteration of each step; its position where the fit started more than once."""
        found = [step.iteration for step in self.steps]
        rising = all(a <= b for a, b in pairwise(found))
        return found if rising else list(range(len(found)))

    @property
    def unit(self) -> str:
        """What the iterations of this fit are called."""
        return UNITS.get(self.fit.source, "iteration")

    @property
    def objective(self) -> str:
        """What the objective of this fit is called."""
        return OBJECTIVES.get(self.fit.source, "objective")

    def sentence(self, i: int) -> str:
        """What happened at step i, and how well the model then predicts the training rows."""
        text = self.steps[i].sentence
        if "train_score" in self.steps[i].numbers or not self.errors:
            return text
        error, n = self.errors["training rows"][i], min(SCORED, self.rows.n_rows)
        sampled = n < self.rows.n_rows
        if self.is_classifier:
            wrong = round(error * n)
            verb = "is" if wrong == 1 else "are"
            return (
                f"{text} {wrong} of {n} {'sampled ' * sampled}training rows {verb} misclassified."
            )
        rows = f"{n} sampled training rows" if sampled else "the training rows"
        return f"{text} The root mean squared error on {rows} is {number(error, 4)}."

    @property
    def rebuilds(self) -> bool:
        """Whether the states make models: they have only learned attributes, or the class rebuilds
        itself from them."""
        own = type(self.final)._at_step is not Estimator._at_step
        return own or all(name in vars(self.final) for step in self.steps for name in step.state)

    def has(self, *names: str) -> bool:
        """Whether every step has these parts of a state."""
        return all(name in step.state for step in self.steps for name in names)

    def states(self, name: str) -> list[Any]:
        """One part of the state of every step."""
        return [step.state[name] for step in self.steps]

    def numbers(self, name: str) -> np.ndarray:
        """One of the numbers of every step, NaN where a step lacks it."""
        return np.array([step.numbers.get(name, np.nan) for step in self.steps])

    @cached_property
    def errors(self) -> dict[str, np.ndarray]:
        """Error of each step: share of wrong labels or root mean squared error, by set of rows."""
        if not self.rebuilds or not (self.is_classifier or self.is_regressor):
            return {}
        sets = {"training rows": (self.rows, self.y)}
        if self.test is not None:
            sets["test rows"] = self.test
        return {name: self._errors(*_some(rows, y)) for name, (rows, y) in sets.items()}

    def _errors(self, rows: RawTable, y: np.ndarray) -> np.ndarray:
        if self.is_classifier:
            return np.array([np.mean(model.predict(rows) != y) for model in self.models])
        return np.array(
            [np.sqrt(np.mean((model.predict(rows).ravel() - y) ** 2)) for model in self.models]
        )


def _some(rows: RawTable, y: np.ndarray) -> tuple[RawTable, np.ndarray]:
    """At most `SCORED` rows, evenly spaced."""
    if rows.n_rows <= SCORED:
        return rows, y
    chosen = np.linspace(0, rows.n_rows - 1, SCORED).astype(int)
    return rows.take(chosen), y[chosen]
