"""A fitted model together with the formula that makes its columns.

Invariant: what is saved are plain data and the plain estimator; the training rows are not kept in a
file, as no estimator keeps them.
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
    slopes_of,
    table_of,
)
from pellucid.formula.design import Design

# What compares a model with a smaller one: a formula of the intercept alone has none.
_COMPARISONS = ("R2", "adjusted R2", "F", "p of F", "null deviance", "LR chi2", "p of LR")

# How the table of a penalised model speaks of the bootstrap, and how one of a formula does.
_BOOTSTRAP = (
    "bootstrap(model, X, y, 'coef_')",
    "bootstrap(fit.model, fit.X, fit.y, 'coef_', **fit.fit_options)",
)


@dataclass(frozen=True)
class Training:
    """The rows of a fit: `rows` of `table` took part, with these columns, target and options."""

    table: Any
    rows: np.ndarray
    X: Any
    y: np.ndarray
    fit_options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class FormulaModel:
    """A fitted model with the formula that makes its columns; `model` is the plain estimator.

    `named` are the columns that gave weights, offset or exposure; of `n_rows` rows of the table
    `n_dropped` were left out because a value is missing. After a fit, not after `load`: `table`,
    `rows` (those that took part), `X`, `y`, `fit_options`.
    """

    formula: str
    model: Any
    design: Design
    named: dict[str, str]
    n_rows: int
    n_dropped: int
    training: Training | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """A file may say anything."""
        from pellucid.linear_model import GeneralizedLinearModel, LinearRegression

        if type(self.model) not in (LinearRegression, GeneralizedLinearModel):
            raise ModelFileError("its formula has a model that is not made for one")
        known = ("sample_weight", "offset", "exposure")
        names = type(self.named) is dict and all(
            key in known and type(name) is str for key, name in self.named.items()
        )
        counts = (self.n_dropped, self.n_rows)
        if type(self.formula) is not str or type(self.design) is not Design or not names:
            raise ModelFileError("its formula lacks a part")
        if not all(type(n) is int for n in counts) or not 0 <= counts[0] <= counts[1]:
            raise ModelFileError("its formula has an impossible number of rows")
        if self.design.columns != list(vars(self.model).get("feature_names_in_", ())):
            raise ModelFileError("its formula makes other columns than its model takes")

    def trained_on(self, training: Training) -> FormulaModel:
        """The same model, which knows its training rows."""
        found = replace(self)
        object.__setattr__(found, "training", training)
        return found

    def _known(self, name: str) -> Any:
        if self.training is None:
            raise PellucidError(
                f"{name!r} belongs to the training rows, which a model file does not hold. "
                "fit.matrix(table) makes the columns of a table again."
            )
        return getattr(self.training, name)

    @property
    def table(self) -> Any:
        """The table of the fit."""
        return self._known("table")

    @property
    def rows(self) -> np.ndarray:
        """The rows of the table that took part."""
        return self._known("rows")

    @property
    def X(self) -> Any:
        """The columns that the model was fitted to."""
        return self._known("X")

    @property
    def y(self) -> np.ndarray:
        """The target."""
        return self._known("y")

    @property
    def fit_options(self) -> dict[str, Any]:
        """Weights, offset or exposure of the rows that took part."""
        return self._known("fit_options")

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
        beside = [name for key, name in self.named.items() if key != "sample_weight"]
        return np.array(sorted({*required(self.spec.rhs), *beside}), dtype=object)

    @property
    def levels(self) -> dict[str, tuple[Any, ...]]:
        """The levels of each column that is a category by itself, as `day` in `C(day)`."""
        found = {}
        for term in self.spec.rhs.formula:
            for factor in term.factors:
                names = [*required_by(factor)]
                state = self.spec.rhs.encoder_state.get(factor.expr, (None, {}))[1]
                if len(names) == 1 and "categories" in state:
                    found[names[0]] = tuple(state["categories"])
        return found

    def save(self, path: str | Path) -> None:
        """Write the model and what makes its columns to one safe file; read it with
        `pellucid.load`."""
        from pellucid import persist

        persist.save(self, path)

    def summary(self, **options: Any) -> Any:
        """The model's table; robust errors need nothing more than their name here.

        Clustered errors take `groups`: the name of a column, or one entry per row of the table. A
        loaded model has no training rows: it takes `X=fit.matrix(table)`, `y` and what else was
        given to the fit, as the plain estimator does.
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

        A column that gave the offset or exposure in training gives them again, unless `offset` or
        `exposure` (arrays, or names of columns) say otherwise.
        """
        table = table_of(data)
        return self.model.predict(self.matrix(table), **self._given(table, options))

    def predict_interval(self, data: Any, level: float = 0.95, **options: Any) -> np.ndarray:
        """Low and high end for each row; offset and exposure as in `predict`."""
        table = table_of(data)
        options = self._given(table, options)
        return self.model.predict_interval(self.matrix(table), level, **options)

    def _given(self, table: Any, options: dict[str, Any]) -> dict[str, Any]:
        stated = {name for name in ("offset", "exposure") if options.get(name) is not None}
        if not stated:
            usual = {k: v for k, v in self.named.items() if k != "sample_weight"}
            options, stated = options | usual, set(usual)
        return options | {name: numbers_of(options[name], name, table) for name in stated}

    def explain(self, data: Any, **options: Any) -> Any:
        """What each column of the formula adds to a prediction; offset and exposure as in
        `predict`."""
        table = table_of(data)
        return self.model.explain(self.matrix(table), **self._given(table, options))

    def score(self, data: Any, **options: Any) -> float:
        """R2 (D2 of a GLM) for the rows of a table that has the target too.

        Rows count once; `sample_weight` (an array, or the name of a column) says otherwise.
        """
        table = table_of(data)
        if options.get("sample_weight") is not None:
            weights = numbers_of(options["sample_weight"], "sample_weight", table)
            options = options | {"sample_weight": weights}
        check_columns(required(self.spec.lhs, self.spec.rhs), table, self.formula)
        y = np.asarray(make(self.spec.lhs, table, "raise"), dtype=float)[:, 0]
        return self.model.score(self.matrix(table), y, **self._given(table, options))

    def matrix(self, data: Any) -> Any:
        """The columns that the formula makes of a table, as `model` takes them."""
        table = table_of(data)
        check_columns(required(self.spec.rhs), table, self.formula)
        return slopes_of(make(self.spec.rhs, table, "raise"), self.spec.rhs)

    def __str__(self) -> str:
        return f"{clean(self.formula, len(self.formula))}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()
