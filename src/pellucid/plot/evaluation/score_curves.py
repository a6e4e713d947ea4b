"""Scores against the number of rows, a parameter, or the number of base estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from pellucid.errors import DataError, ParameterError, shown
from pellucid.model_selection.copies import fresh
from pellucid.model_selection.metrics import metric
from pellucid.model_selection.rows import is_classifier, taken
from pellucid.model_selection.scoring import score
from pellucid.plot.display import Display, as_function
from pellucid.plot.given_predictions import splits, table
from pellucid.plot.picture import Axis, Band, Intervals, Line, Mark, Panel, Picture

SETS = ("training rows", "test rows")
MANY_TIMES = 20.0  # largest over smallest value of a parameter from which its axis is logarithmic
Score = Callable[[Any, Any, np.ndarray], float]


def score_function(model: Any, scoring: Any) -> tuple[str, Score]:
    """The name of a score and a function of (fitted model, X, y).

    None is accuracy or R2; "error" the share of wrong labels or the mean squared error.
    """
    if callable(scoring):
        return getattr(scoring, "__name__", "score"), scoring
    classes = is_classifier(model)
    if scoring == "error":
        if classes:
            return "error rate", lambda m, X, y: float(np.mean(np.asarray(m.predict(X)) != y))
        return "mean squared error", lambda m, X, y: float(np.mean((m.predict(X) - y) ** 2))
    chosen = metric(scoring or ("accuracy" if classes else "r2"))
    name = chosen.name.replace("_", " ")
    return name, lambda m, X, y: score(m, X, y, np.ones(len(y)), chosen)


class ScoreCurveDisplay(Display):
    """Scores of training and test rows by fold, against a number or a setting.

    Parameters
    ----------
    values : what was varied.
    train, test : scores, shape (len(values), n_folds).
    label : what the values are.
    score : name of the score.
    title : title of the picture.
    sets : names of the two sets of rows.
    """

    def __init__(
        self, values: Sequence[Any], train: Any, test: Any, label: str, score: str, title: str,
        sets: tuple[str, str] = SETS,
    ) -> None:  # fmt: skip
        self.sets = sets
        self.values, self.label, self.score, self.title = list(values), label, score, title
        self.train, self.test = np.asarray(train, dtype=float), np.asarray(test, dtype=float)

    def columns(self) -> dict[str, Any]:
        n = self.train.shape[1]
        return {
            self.label: [value for value in self.values for _ in range(n)],
            "fold": list(range(n)) * len(self.values),
            f"{self.score} of {self.sets[0]}": self.train.ravel(),
            f"{self.score} of {self.sets[1]}": self.test.ravel(),
        }

    def picture(self) -> Picture:
        means = [part.mean(axis=1) for part in (self.train, self.test)]
        sds = [part.std(axis=1) for part in (self.train, self.test)]
        folds = self.train.shape[1]
        numeric = all(_is_number(value) for value in self.values)
        marks: list[Mark] = []
        if numeric:
            x = [float(value) for value in self.values]
            if folds > 1:
                marks += [
                    Band(x, m - s, m + s, index=i) for i, (m, s) in enumerate(zip(means, sds))
                ]
            marks += [Line(x, mean, self.sets[i], i) for i, mean in enumerate(means)]
            axis = Axis(self.label, log=min(x) > 0 and max(x) > MANY_TIMES * min(x), grid=False)
        else:
            for i, (mean, sd) in enumerate(zip(means, sds)):
                at = np.arange(len(mean)) + (i - 0.5) * 0.2
                marks.append(Intervals(at, mean, mean - sd, mean + sd, False, self.sets[i], i))
            axis = Axis(self.label, names=tuple(map(str, self.values)))
        note = "Mean over the folds; band: one standard deviation."
        if not numeric:
            note = "Mean over the folds; lines: one standard deviation."
        if folds == 1:
            note = ""
        panel = Panel(tuple(marks), axis, Axis(self.score), note=note)
        return Picture((panel,), f"{self.score} of {self.sets[0]} and {self.sets[1]}", self.title)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


class LearningCurveDisplay(ScoreCurveDisplay):
    """Scores of training and test rows against the number of training rows."""

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, train_sizes: Any = None, cv: Any = 5,
        scoring: Any = None, random_state: int | None = 0,
    ) -> Self:  # fmt: skip
        """Fit clones on growing parts of the training rows of each fold.

        Parameters
        ----------
        train_sizes : numbers of rows, or shares of the training rows; by default 10 to 100 %.
        cv : as in `roc`.
        scoring : name of a metric, a function of (model, X, y), or "error".
        random_state : seed of the order in which training rows are added; None keeps their order.
        """
        X, y = table(X, y)
        name, measure = score_function(model, scoring)
        folds = splits(cv, X, y, is_classifier(model))
        sizes = _sizes(train_sizes, min(len(train) for train, _ in folds))
        train, test = np.empty((2, len(sizes), len(folds)))
        for f, (rows, held_out) in enumerate(folds):
            if random_state is not None:
                rows = np.random.default_rng(random_state).permutation(rows)
            for i, size in enumerate(sizes):
                part = rows[:size]
                fitted = fresh(model, {}).fit(taken(X, part), y[part])
                train[i, f] = measure(fitted, taken(X, part), y[part])
                test[i, f] = measure(fitted, taken(X, held_out), y[held_out])
        return cls(sizes, train, test, "training rows", name, "Learning curve")


def _sizes(given: Any, most: int) -> list[int]:
    """Numbers of rows, increasing, each at least 1."""
    wanted = np.asarray(np.linspace(0.1, 1.0, 8) if given is None else given)
    if wanted.ndim != 1 or not len(wanted) or wanted.dtype.kind not in "iuf":
        raise ParameterError(f"train_sizes must be a list of numbers. Got {shown(given)} instead.")
    if wanted.dtype.kind == "f":
        if not np.all((wanted > 0) & (wanted <= 1)):
            raise ParameterError("Shares in train_sizes must be above 0 and at most 1.")
        wanted = (wanted * most).astype(int)
    sizes = np.unique(wanted).tolist()
    if sizes[0] < 1 or sizes[-1] > most:
        raise DataError(f"train_sizes must be between 1 and {most}, the rows of a training set.")
    return sizes


class ValidationCurveDisplay(ScoreCurveDisplay):
    """Scores of training and test rows against the values of one parameter.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.neighbors import KNeighborsClassifier
    >>> X, y = [[float(i)] for i in range(20)], [0] * 10 + [1] * 10
    >>> display = plot.validation_curve(KNeighborsClassifier(), X, y, "n_neighbors", [1, 3], cv=2)
    >>> display.frame()["n_neighbors"]
    [1, 1, 3, 3]
    """

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, param_name: str, param_range: Sequence[Any], *,
        cv: Any = 5, scoring: Any = None,
    ) -> Self:  # fmt: skip
        """Fit clones with each value of the parameter on the training rows of each fold.

        Parameters
        ----------
        param_name : the parameter, such as "n_neighbors", "max_depth" or "C".
        param_range : its values, numbers or others.
        cv : as in `roc`.
        scoring : name of a metric, a function of (model, X, y), or "error".
        """
        X, y = table(X, y)
        values = list(param_range)
        if not values:
            raise ParameterError("param_range has no values.")
        name, measure = score_function(model, scoring)
        folds = splits(cv, X, y, is_classifier(model))
        train, test = np.empty((2, len(values), len(folds)))
        for f, (rows, held_out) in enumerate(folds):
            for i, value in enumerate(values):
                fitted = fresh(model, {param_name: value}).fit(taken(X, rows), y[rows])
                train[i, f] = measure(fitted, taken(X, rows), y[rows])
                test[i, f] = measure(fitted, taken(X, held_out), y[held_out])
        return cls(values, train, test, param_name, name, f"{name.capitalize()} by {param_name}")


class StagedErrorDisplay(Display):
    """Error against the number of base estimators of a boosted, bagged or forest model.

    Parameters
    ----------
    values : name of each set of rows -> the score after 1, 2, ... base estimators.
    score : name of the score.

    Examples
    --------
    >>> from pellucid.ensemble import AdaBoostClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> StagedErrorDisplay.from_estimator(model, X, y).frame()["error rate"]
    [0.0]
    """

    def __init__(self, values: Mapping[str, Sequence[float]], score: str) -> None:
        self.values, self.score = {k: np.asarray(v, float) for k, v in values.items()}, score

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, test: tuple[Any, Any] | None = None,
        scoring: Any = "error",
    ) -> Self:  # fmt: skip
        """From the `staged_predict` of a fitted model.

        Parameters
        ----------
        X, y : the training rows.
        test : (X, y) of test rows, which get a curve of their own.
        scoring : "error", or the name of a metric.
        """
        given = {"training rows": (X, y)} | ({} if test is None else {"test rows": test})
        if len(given) == 1:
            given = {"rows": (X, y)}
        name, measure = score_function(model, scoring)
        found = {}
        for key, (rows, target) in given.items():
            rows, truth = table(rows, target)
            found[key] = [measure(stage, rows, truth) for stage in _stages(model, rows)]
        return cls(found, name)

    def columns(self) -> dict[str, Any]:
        return {
            "rows": [name for name, values in self.values.items() for _ in values],
            "base estimators": [n for values in self.values.values() for n in range(1, len(values) + 1)],
            self.score: np.concatenate(list(self.values.values())),
        }  # fmt: skip

    def picture(self) -> Picture:
        several = len(self.values) > 1
        lines = tuple(
            Line(np.arange(1, len(values) + 1), values, name if several else "", i)
            for i, (name, values) in enumerate(self.values.items())
        )
        panel = Panel(lines, Axis("base estimators", grid=False), Axis(self.score, zero=True))
        title = f"{self.score.capitalize()} by number of base estimators"
        return Picture((panel,), title, title)


class _Stage:
    """The predictions of one stage, which answer like a fitted model."""

    def __init__(self, model: Any, labels: Any, proba: Any) -> None:
        self._labels, self._proba = labels, proba
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_
        if proba is not None:
            self.predict_proba = lambda X: proba

    def predict(self, X: Any) -> Any:
        return self._labels


def _stages(model: Any, X: Any) -> list[_Stage]:
    if not hasattr(model, "staged_predict"):
        raise ParameterError(
            f"{type(model).__name__} has no staged_predict, so its error by number of base "
            "estimators is unknown."
        )
    labels = list(model.staged_predict(X))
    if hasattr(model, "staged_predict_proba"):
        return [_Stage(model, *pair) for pair in zip(labels, model.staged_predict_proba(X))]
    return [_Stage(model, label, None) for label in labels]


learning_curve = as_function("learning_curve", LearningCurveDisplay.from_estimator)
validation_curve = as_function("validation_curve", ValidationCurveDisplay.from_estimator)
staged_error = as_function("staged_error", StagedErrorDisplay.from_estimator)
