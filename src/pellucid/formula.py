"""Formulas: `pellucid.formula.ols("tip ~ total_bill + C(day)", table)` (extra `[formula]`).

A formula becomes columns by the package formulaic; the models are those of `linear_model`.

Invariant: a formula is never evaluated with the caller's variables; a name that is no column of the
table is an error that says which column may be meant; rows with missing values, also in weights,
offset or exposure, are left out, and the summary says how many.
"""

import re
import warnings
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, PellucidError

# What compares a model with a smaller one: a formula of the intercept alone has none.
_COMPARISONS = ("R2", "adjusted R2", "F", "p of F", "null deviance", "LR chi2", "p of LR")

# How the table of a penalised model speaks of the bootstrap, and how one of a formula does.
_BOOTSTRAP = (
    "bootstrap(model, X, y, 'coef_')",
    "bootstrap(fit.model, fit.X, fit.y, 'coef_', **fit.fit_options)",
)


@dataclass(frozen=True)
class FormulaModel:
    """A fitted model with the formula that makes its columns; `model` is the plain estimator.

    `rows` are the rows of the table that took part, `named` the columns that gave weights, offset
    or exposure.
    """

    formula: str
    model: Any
    table: Any
    rows: np.ndarray
    spec: Any
    X: Any
    y: np.ndarray
    fit_options: dict[str, Any]
    named: dict[str, str]

    @property
    def n_dropped(self) -> int:
        """Rows left out because a value is missing."""
        return len(self.table) - len(self.rows)

    @property
    def params(self) -> dict[str, float]:
        """Estimates by term, the intercept first."""
        named = dict(zip(self.model.terms_, self.model.coef_.tolist()))
        constant = bool(self.model.fit_intercept)
        return {"Intercept": float(self.model.intercept_)} | named if constant else named

    def summary(self, **options: Any) -> Any:
        """The model's table; robust errors need nothing more than their name here.

        Clustered errors take `groups`: the name of a column, or one entry per row of the table.
        """
        from pellucid.linear_model.robust import group_codes

        if options.get("groups") is not None:
            entries = _entries(options["groups"], "groups", self.table)
            options["groups"] = group_codes(entries, self.rows)
        if options.get("errors", "classical") != "classical":
            options = {"X": self.X, "y": self.y, **self.fit_options} | options
        found = self.model.summary(**options)
        notes = (note.replace(*_BOOTSTRAP) for note in found.notes)
        found = replace(found, notes=tuple(notes))
        if _constant_alone(self.spec.rhs):
            header = tuple(fact for fact in found.header if fact[0] not in _COMPARISONS)
            found = replace(found, header=header)
        if self.n_dropped:
            note = (
                f"{self.n_dropped} of {len(self.table)} rows have missing values and were left out."
            )
            found = replace(found, notes=(*found.notes, note))
        return found

    def predict(self, data: Any, **options: Any) -> np.ndarray:
        """Predictions for the rows of a table with the same columns.

        A column that gave the offset or exposure in training gives them again, unless `offset` or
        `exposure` (arrays, or names of columns) say otherwise.
        """
        table = _table(data)
        return self.model.predict(self.matrix(table), **self._given(table, options))

    def predict_interval(self, data: Any, level: float = 0.95, **options: Any) -> np.ndarray:
        """Low and high end for each row; offset and exposure as in `predict`."""
        table = _table(data)
        options = self._given(table, options)
        return self.model.predict_interval(self.matrix(table), level, **options)

    def _given(self, table: Any, options: dict[str, Any]) -> dict[str, Any]:
        stated = {name for name in ("offset", "exposure") if options.get(name) is not None}
        if not stated:
            usual = {k: v for k, v in self.named.items() if k != "sample_weight"}
            options, stated = options | usual, set(usual)
        return options | {name: _numbers(options[name], name, table) for name in stated}

    def explain(self, data: Any, **options: Any) -> Any:
        """What each column of the formula adds to a prediction; offset and exposure as in
        `predict`."""
        table = _table(data)
        return self.model.explain(self.matrix(table), **self._given(table, options))

    def score(self, data: Any, **options: Any) -> float:
        """R2 (D2 of a GLM) for the rows of a table that has the target too."""
        table = _table(data)
        _check_columns(self.spec.required_variables, table, self.formula)
        y = np.asarray(_made(self.spec.lhs, table, "raise"), dtype=float)[:, 0]
        return self.model.score(self.matrix(table), y, **self._given(table, options))

    def matrix(self, data: Any) -> Any:
        """The columns that the formula makes of a table, as `model` takes them."""
        table = _table(data)
        _check_columns(self.spec.rhs.required_variables, table, self.formula)
        return _slopes(_made(self.spec.rhs, table, "raise"), self.spec.rhs)

    def __str__(self) -> str:
        return f"{self.formula}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def ols(formula: str, data: Any, *, weights: Any = None) -> FormulaModel:
    """Least squares: `LinearRegression` on the columns of a formula.

    `data` is a pandas, polars or Arrow table; `weights` an array, or the name of a column. A dot in
    the formula stands for all other columns.
    """
    from pellucid.linear_model import LinearRegression

    return _fit(formula, data, lambda constant: LinearRegression(fit_intercept=constant),
                {"sample_weight": weights})  # fmt: skip


def glm(
    formula: str,
    data: Any,
    family: str = "normal",
    *,
    link: str = "auto",
    weights: Any = None,
    offset: Any = None,
    exposure: Any = None,
    **options: Any,
) -> FormulaModel:
    """A generalised linear model: `GeneralizedLinearModel` on the columns of a formula.

    `weights`, `offset` and `exposure` are arrays, or names of columns; further options go to the
    model (`power`, `dispersion`, `alpha`, ...).
    """
    from pellucid.linear_model import GeneralizedLinearModel

    def make(constant: bool) -> Any:
        return GeneralizedLinearModel(family=family, link=link, fit_intercept=constant, **options)

    given = {"sample_weight": weights, "offset": offset, "exposure": exposure}
    return _fit(formula, data, make, given)


def _fit(formula: str, data: Any, make: Any, given: dict[str, Any]) -> FormulaModel:
    table = _table(data)
    given = {name: value for name, value in given.items() if value is not None}
    numbers = {
        name: _numbers(value, name.replace("sample_weight", "weights"), table)
        for name, value in given.items()
    }
    parsed = _parsed(formula, table)
    _check_columns(parsed.required_variables, table, formula)
    whole = ~np.isnan(np.array([*numbers.values(), np.zeros(len(table))])).any(axis=0)
    sides = _made(parsed, table[whole], "drop")
    y = np.asarray(sides.lhs, dtype=float)
    if y.shape[1] != 1:
        raise DataError(
            f"The left side of {formula!r} gives {y.shape[1]} columns; a model has one target. Is it "
            "a category? Use a classifier, or 0 and 1."
        )
    rows = table.index.get_indexer(sides.rhs.index)
    extra = {name: values[rows] for name, values in numbers.items()}
    spec = sides.model_spec
    X, alone = _slopes(sides.rhs, spec.rhs), _constant_alone(spec.rhs)
    model = make(_has_constant(spec.rhs) and not alone)
    if alone and "alpha" in model.get_params():
        model.set_params(alpha=0.0)  # a penalty is for slopes
    try:
        model.fit(X, y[:, 0], **extra)
    except DataError as error:
        if len(rows) == len(table):
            raise
        left_out = len(table) - len(rows)
        raise DataError(
            f"{error} (Rows are counted without the {left_out} that have missing values.)"
        ) from error
    named = {name: value for name, value in given.items() if isinstance(value, str)}
    return FormulaModel(formula, model, table, rows, spec, X, y[:, 0], extra, named)


def _entries(value: Any, what: str, table: Any) -> np.ndarray:
    """One entry per row of the table: the column of that name, or the array itself."""
    if isinstance(value, str):
        _check_columns({value}, table, "")
        value = table[value]
    entries = np.asarray(value)
    if entries.shape != (len(table),):
        raise DataError(
            f"{what} must be the name of a column, or have one entry for each of the {len(table)} "
            f"rows of the table. Got an array of shape {entries.shape} instead."
        )
    return entries


def _numbers(value: Any, what: str, table: Any) -> np.ndarray:
    entries = _entries(value, what, table)
    try:
        return entries.astype(float)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers, not {entries.dtype} cells.") from None


def _table(data: Any) -> Any:
    """A pandas table with rows numbered 0, 1, ..."""
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not hasattr(data, "iloc"):
        raise DataError("A formula needs a table with named columns: pandas, polars or Arrow.")
    twice = data.columns[data.columns.duplicated()]
    if len(twice):
        raise DataError(f"The table has several columns named {str(twice[0])!r}: rename them.")
    return data.reset_index(drop=True)


def _parsed(formula: str, table: Any) -> Any:
    try:
        from formulaic import Formula
    except ImportError:
        raise PellucidError("Formulas need formulaic: pip install 'pellucid[formula]'.") from None
    sides = formula.split("~") if isinstance(formula, str) else []
    if len(sides) != 2 or not all(map(str.strip, sides)):
        raise ParameterError(f"A formula reads 'target ~ columns'. Got {formula!r} instead.")
    columns = {"__formulaic_variables_available__": [str(name) for name in table.columns]}
    try:
        return Formula(formula, _context=columns)  # a dot is every other column
    except Exception as error:
        reason = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]  # no colours
        raise ParameterError(f"The formula {formula!r} cannot be read: {reason}") from error


def _check_columns(wanted: Any, table: Any, formula: str) -> None:
    columns = [str(name) for name in table.columns]
    for name in sorted(map(str, wanted)):
        if name in columns:
            continue
        if re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", formula):
            raise DataError(
                f"The formula calls {name!r}, which is no function of formulas. There are C, np.log, "
                "np.exp, np.sqrt, poly, bs, center, scale; give an offset as offset= or exposure=."
            )
        near = get_close_matches(name, columns, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"The table has no column {name!r}.{hint} It has: {', '.join(columns)}.")


def _made(source: Any, table: Any, missing: str) -> Any:
    """The columns of a formula; the caller's variables are out of reach."""
    from formulaic.errors import DataMismatchWarning

    if missing == "raise":
        _check_cells(source, table)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            return source.get_model_matrix(table, context={}, na_action=missing)
    except DataMismatchWarning as error:
        levels = ", ".join(re.findall(r"'[^']*'", str(error))) or str(error)
        raise DataError(
            f"The training table did not have the level(s) {levels}, so the model knows nothing "
            "about them. Leave such rows out, or fit with rows that have them."
        ) from error
    except Exception as error:
        _check_dates(source, table)
        raise DataError(f"The formula cannot be applied to this table: {error}") from error


def _check_cells(source: Any, table: Any) -> None:
    """Refuse missing cells, by column and row: there is no prediction for them."""
    for name in sorted(map(str, source.required_variables)):
        empty = np.flatnonzero(table[name].isna())
        if len(empty):
            raise DataError(
                f"Column {name!r} has no value in row {empty[0]} (such rows: {len(empty)}), so there "
                "is no prediction. Fill them, or leave them out."
            )


def _check_dates(source: Any, table: Any) -> None:
    for name in sorted(map(str, source.required_variables)):
        if table[name].dtype.kind in "mM":
            raise DataError(
                f"Column {name!r} holds dates, which formulas do not count: make a number of it "
                "first, e.g. the days since the first one."
            )


def _has_constant(spec: Any) -> bool:
    """Whether the term 1 is there: a column of the user's may have any name."""
    return any(str(part.term) == "1" for part in spec.structure)


def _constant_alone(spec: Any) -> bool:
    return _has_constant(spec) and len(spec.structure) == 1


def _slopes(matrix: Any, spec: Any) -> Any:
    """The columns without the constant; alone, it stays a column."""
    if not _has_constant(spec) or _constant_alone(spec):
        return matrix.astype(float)
    if sum("Intercept" in map(str, part.columns) for part in spec.structure) > 1:
        raise DataError(
            "The table has a column named 'Intercept', as the formula's constant is: rename it, or "
            "leave the constant out (0 + ...)."
        )
    return matrix.drop(columns="Intercept").astype(float)
