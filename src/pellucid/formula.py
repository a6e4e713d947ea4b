"""Formulas: `pellucid.formula.ols("tip ~ total_bill + C(day)", table)` (extra `[formula]`).

A formula becomes columns by the package formulaic; the models are those of `linear_model`.

Invariant: a formula is never evaluated with the caller's variables; a name that is no column of the
table is an error that says which column may be meant; rows with missing values are left out.
"""

import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, PellucidError


@dataclass(frozen=True)
class FormulaModel:
    """A fitted model with the formula that makes its columns; `model` is the plain estimator."""

    formula: str
    model: Any
    n_dropped: int
    spec: Any
    X: Any
    y: np.ndarray
    fit_options: dict[str, Any]

    @property
    def params(self) -> dict[str, float]:
        """Estimates by term, the intercept first."""
        named = dict(zip(self.model.terms_, self.model.coef_.tolist()))
        return {"Intercept": float(self.model.intercept_)} | named if self._constant else named

    @property
    def _constant(self) -> bool:
        return bool(self.model.fit_intercept)

    def summary(self, **options: Any) -> Any:
        """The model's table; robust and clustered errors need nothing more than their name here."""
        if options.get("errors", "classical") != "classical":
            options = {"X": self.X, "y": self.y, **self.fit_options} | options
        return self.model.summary(**options)

    def predict(self, data: Any, **options: Any) -> np.ndarray:
        """Predictions for the rows of a table with the same columns."""
        return self.model.predict(self._matrix(data), **options)

    def predict_interval(self, data: Any, level: float = 0.95, **options: Any) -> np.ndarray:
        """Low and high end for each row."""
        return self.model.predict_interval(self._matrix(data), level, **options)

    def _matrix(self, data: Any) -> Any:
        table = _table(data)
        _check_columns(self.spec.rhs.required_variables, table)
        return _slopes(_made(self.spec.rhs, table, "raise"))[0]

    def __str__(self) -> str:
        return f"{self.formula}\n{self.summary()}"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def ols(formula: str, data: Any, *, weights: Any = None) -> FormulaModel:
    """Least squares: `LinearRegression` on the columns of a formula.

    `data` is a pandas, polars or Arrow table; `weights` an array, or the name of a column.
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
    parsed = _parsed(formula)
    _check_columns(parsed.required_variables, table)
    sides = _made(parsed, table, "drop")
    y = np.asarray(sides.lhs, dtype=float)
    if y.shape[1] != 1:
        raise DataError(
            f"The left side of {formula!r} gives {y.shape[1]} columns; a model has one target. Is it "
            "a category? Use a classifier, or 0 and 1."
        )
    kept = table.index.get_indexer(sides.rhs.index)
    extra = {
        name: np.asarray(table[value] if isinstance(value, str) else value, dtype=float)[kept]
        for name, value in given.items()
        if value is not None and not _unknown(value, table)
    }
    X, constant = _slopes(sides.rhs)
    model = make(constant).fit(X, y[:, 0], **extra)
    dropped = len(table) - len(y)
    return FormulaModel(formula, model, dropped, sides.model_spec, X, y[:, 0], extra)


def _unknown(value: Any, table: Any) -> bool:
    """False, or an error: a column that does not exist."""
    if isinstance(value, str):
        _check_columns({value}, table)
    return False


def _table(data: Any) -> Any:
    """A pandas table with rows numbered 0, 1, ..."""
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not hasattr(data, "iloc"):
        raise DataError("A formula needs a table with named columns: pandas, polars or Arrow.")
    return data.reset_index(drop=True)


def _parsed(formula: str) -> Any:
    try:
        from formulaic import Formula
    except ImportError:
        raise PellucidError("Formulas need formulaic: pip install 'pellucid[formula]'.") from None
    if not isinstance(formula, str) or "~" not in formula:
        raise ParameterError(f"A formula reads 'target ~ columns'. Got {formula!r} instead.")
    try:
        return Formula(formula)
    except Exception as error:
        raise ParameterError(f"The formula {formula!r} cannot be read: {error}") from error


def _check_columns(wanted: Any, table: Any) -> None:
    columns = [str(name) for name in table.columns]
    for name in sorted(map(str, wanted)):
        if name not in columns:
            near = get_close_matches(name, columns, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise DataError(
                f"The table has no column {name!r}.{hint} It has: {', '.join(columns)}."
            )


def _made(source: Any, table: Any, missing: str) -> Any:
    """The columns of a formula; the caller's variables are out of reach."""
    from formulaic.errors import DataMismatchWarning

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            return source.get_model_matrix(table, context={}, na_action=missing)
    except DataMismatchWarning as error:
        raise DataError(f"A level was not in the training table: {error}") from error
    except Exception as error:
        raise DataError(f"The formula cannot be applied to this table: {error}") from error


def _slopes(matrix: Any) -> tuple[Any, bool]:
    """The columns without the constant, and whether there was one."""
    constant = "Intercept" in matrix.columns
    return (matrix.drop(columns="Intercept") if constant else matrix).astype(float), constant
