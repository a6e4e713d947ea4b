"""A fitted model together with the formula that makes its columns.

Invariant: a saved model contains plain data and the estimator, but not the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.draw.label_text import clean
from pellucid.errors import ModelFileError, PellucidError
from pellucid.formula.columns import (
    check_columns,
    entries_of,
    make,
    numbers_of,
    required,
    required_by,
    table_of,
)
from pellucid.formula.design import Design

# Statistics that compare with the model of an intercept alone; omitted if the model is just that.
_COMPARISONS = ("R2", "adjusted R2", "F", "p of F", "null deviance", "LR chi2", "p of LR")

# The call of `bootstrap` in the summary of a plain estimator, and that for a formula model.
_BOOTSTRAP = (
    "bootstrap(model, X, y, 'coef_')",
    "bootstrap(fit.model, fit.X, fit.y, 'coef_', **fit.fit_options)",
)


@dataclass(frozen=True)
class Training:
    """The data of a fit: the rows of `table` that were used, their columns, target and options."""

    table: Any
    rows: np.ndarray
    X: Any
    y: np.ndarray
    fit_options: dict[str, Any]


def _of_training(name: str, doc: str) -> Any:
    """A property of the training data."""

    def get(model: FormulaModel) -> Any:
        if model.training is None:
            raise PellucidError(
                f"{name!r} belongs to the training data, which a model file does not contain. Use "
                "fit.matrix(table) to make the columns of a table."
            )
        return getattr(model.training, name)

    return property(get, doc=doc)


@dataclass(frozen=True, eq=False)
class FormulaModel:
    """A fitted model with the formula that makes its columns; `model` is the plain estimator.

    `named` are the names of the columns of weights, offset or exposure. `n_dropped` of the `n_rows`
    rows of the table were left out because of missing values. `table`, `rows` (those that were used),
    `X`, `y` and `fit_options` exist after a fit, but not after `load`.
    """

    formula: str
    model: Any
    design: Design
    named: dict[str, str]
    n_rows: int
    n_dropped: int
    training: Training | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields, which may come from a model file."""
        from pellucid.linear_model import GeneralizedLinearModel, LinearRegression

        if type(self.model) not in (LinearRegression, GeneralizedLinearModel):
            raise ModelFileError("its formula has a model of an unsupported class")
        known = ("sample_weight", "offset", "exposure")
        names = type(self.named) is dict and all(
            key in known and type(name) is str for key, name in self.named.items()
        )
        counts = (self.n_dropped, self.n_rows)
        if type(self.formula) is not str or type(self.design) is not Design or not names:
            raise ModelFileError("its formula model is incomplete")
        if not all(type(n) is int for n in counts) or not 0 <= counts[0] <= counts[1]:
            raise ModelFileError("its formula model has an invalid number of rows")
        if self.design.columns != list(vars(self.model).get("feature_names_in_", ())):
            raise ModelFileError("the columns of its formula are not those of its model")

    def trained_on(self, training: Training) -> FormulaModel:
        """A copy of the model with its training data."""
        found = replace(self)
        object.__setattr__(found, "training", training)
        return found

    table = _of_training("table", "The table of the fit.")
    rows = _of_training("rows", "The rows of the table that were used in the fit.")
    X = _of_training("X", "The columns that the model was fitted to.")
    y = _of_training("y", "The target.")
    fit_options = _of_training(
        "fit_options", "Weights, offset or exposure of the rows that were used in the fit."
    )

    @property
    def spec(self) -> Any:
        """formulaic's specification of both sides."""
        return self.design.spec

    @property
    def params(self) -> dict[str, float]:
        """Estimates by term, the intercept first."""
        named = dict(zip(self.model.terms_, self.model.coef_.tolist()))
        constant = bool(self.model.fit_intercept)
        return {"Intercept": float(self.model.intercept_)} | named if constant else named

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns of a table that a prediction needs."""
        extra = [name for key, name in self.named.items() if key != "sample_weight"]
        return np.array(sorted({*required(self.spec.rhs), *extra}), dtype=object)

    @property
    def levels(self) -> dict[str, tuple[Any, ...]]:
        """The levels of each categorical column, such as `day` in `C(day)`."""
        found = {}
        for term in self.spec.rhs.formula:
            for factor in term.factors:
                names = [*required_by(factor)]
                state = self.spec.rhs.encoder_state.get(factor.expr, (None, {}))[1]
                if len(names) == 1 and "categories" in state:
                    found[names[0]] = tuple(state["categories"])
        return found

    def save(self, path: str | Path) -> None:
        """Write the model and its formula to a file; `pellucid.load` reads it."""
        from pellucid import persist

        persist.save(self, path)

    def summary(self, **options: Any) -> Any:
        """The summary of the estimator. Robust errors need only their name, as in `errors="HC3"`.

        Clustered errors need `groups`: the name of a column, or one entry per row of the table. A
        loaded model has no training data: for robust errors pass `X=fit.matrix(table)`, `y` and the
        weights, offset or exposure of the fit.
        """
        from pellucid.linear_model._inference.estimates import NO_INTERCEPT

        if self.training is not None:
            options = self._options(self.training, options)
        found = self.model.summary(**options)
        if self.training is not None:
            notes = (note.replace(*_BOOTSTRAP) for note in found.notes)
            found = replace(found, notes=tuple(notes))
        if self.design.constant_alone:
            header = tuple(fact for fact in found.header if fact[0] not in _COMPARISONS)
            notes = (note for note in found.notes if note != NO_INTERCEPT)
            found = replace(found, header=header, notes=tuple(notes))
        if self.n_dropped:
            note = f"{self.n_dropped} of {self.n_rows} rows have missing values and were left out."
            found = replace(found, notes=(*found.notes, note))
        return found

    @staticmethod
    def _options(training: Training, options: dict[str, Any]) -> dict[str, Any]:
        from pellucid.linear_model._inference.robust import group_codes

        if options.get("groups") is not None:
            entries = entries_of(options["groups"], "groups", training.table)
            options = options | {"groups": group_codes(entries, training.rows)}
        if options.get("errors", "classical") == "classical":
            return options
        return {"X": training.X, "y": training.y, **training.fit_options} | options

    def predict(self, data: Any, **options: Any) -> np.ndarray:
        """Predictions for the rows of a table with the same columns.

        The columns of offset and exposure are the same as in training, unless `offset` or `exposure`
        (arrays, or names of columns) are given.
        """
        table = table_of(data)
        return self.model.predict(self.matrix(table), **self._fit_columns(table, options))

    def predict_interval(self, data: Any, level: float = 0.95, **options: Any) -> np.ndarray:
        """Lower and upper bounds for each row; offset and exposure as in `predict`."""
        table = table_of(data)
        options = self._fit_columns(table, options)
        return self.model.predict_interval(self.matrix(table), level, **options)

    def _fit_columns(self, table: Any, options: dict[str, Any]) -> dict[str, Any]:
        stated = {name for name in ("offset", "exposure") if options.get(name) is not None}
        if not stated:
            defaults = {k: v for k, v in self.named.items() if k != "sample_weight"}
            options, stated = options | defaults, set(defaults)
        return options | {name: numbers_of(options[name], name, table) for name in stated}

    def explain(self, data: Any, **options: Any) -> Any:
        """The contribution of each column of the formula to a prediction; offset and exposure as in
        `predict`.
        """
        table = table_of(data)
        return self.model.explain(self.matrix(table), **self._fit_columns(table, options))

    def score(self, data: Any, **options: Any) -> float:
        """R2 (D2 of a GLM) on a table that includes the target.

        Rows have equal weights, unless `sample_weight` (an array, or the name of a column) is given.
        """
        table = table_of(data)
        if options.get("sample_weight") is not None:
            weights = numbers_of(options["sample_weight"], "sample_weight", table)
            options = options | {"sample_weight": weights}
        check_columns(required(self.spec.lhs, self.spec.rhs), table, self.formula)
        y = np.asarray(make(self.spec.lhs, table, "raise"), dtype=float)[:, 0]
        return self.model.score(self.matrix(table), y, **self._fit_columns(table, options))

    def matrix(self, data: Any) -> Any:
        """The columns that the formula makes from a table, as input of `model`."""
        table = table_of(data)
        check_columns(required(self.spec.rhs), table, self.formula)
        return self.design.without_constant(make(self.spec.rhs, table, "raise"))

    def __str__(self) -> str:
        return f"{clean(self.formula, len(self.formula))}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()
