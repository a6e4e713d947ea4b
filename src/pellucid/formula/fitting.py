"""`ols` and `glm`: fit a model to a formula and a table.

Invariant: rows with missing values, also in weights, offset or exposure, are left out, and the
summary reports their number.
"""

from typing import Any

import numpy as np

from pellucid.errors import DataConversionWarning, DataError, ParameterError, warn
from pellucid.formula.columns import check_columns, make, numbers_of, parse, required, table_of
from pellucid.formula.design import Design
from pellucid.formula.model import FormulaModel, Training


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

    if "fit_intercept" in options:
        raise ParameterError(
            "The formula determines whether there is an intercept: 'y ~ 0 + x' has none."
        )

    def make(constant: bool) -> Any:
        return GeneralizedLinearModel(family=family, link=link, fit_intercept=constant, **options)

    given = {"sample_weight": weights, "offset": offset, "exposure": exposure}
    return _fit(formula, data, make, given)


def _fit(formula: str, data: Any, model_for: Any, given: dict[str, Any]) -> FormulaModel:
    table = table_of(data)
    given = {name: value for name, value in given.items() if value is not None}
    numbers = {
        name: numbers_of(value, name.replace("sample_weight", "weights"), table)
        for name, value in given.items()
    }
    parsed = parse(formula, table)
    check_columns(required(parsed.lhs, parsed.rhs), table, formula)
    whole = ~np.isnan(np.array([*numbers.values(), np.zeros(len(table))])).any(axis=0)
    sides = make(parsed, table[whole], "drop")
    y = np.asarray(sides.lhs, dtype=float)
    if y.shape[1] != 1:
        raise DataError(
            f"The left side of {formula!r} gives {y.shape[1]} columns, but a model has one target. For "
            "a categorical target use a classifier, or code it as 0 and 1."
        )
    rows = table.index.get_indexer(sides.rhs.index)
    _warn_undefined(table[whole].drop(index=rows), required(parsed.lhs, parsed.rhs))
    extra = {name: values[rows] for name, values in numbers.items()}
    design = Design.of(sides.model_spec)
    X, alone = design.without_constant(sides.rhs), design.constant_alone
    model = model_for(design.has_constant and not alone)
    if alone and "alpha" in model.get_params():
        model.set_params(alpha=0.0)  # the penalty does not apply to the constant
    left_out = len(table) - len(rows)
    try:
        model.fit(X, y[:, 0], **extra)
    except DataError as error:
        if not left_out:
            raise
        raise DataError(
            f"{error} (Row numbers do not count the {left_out} rows that were left out.)"
        ) from error
    named = {name: value for name, value in given.items() if isinstance(value, str)}
    found = FormulaModel(formula, model, design, named, len(table), left_out)
    return found.trained_on(Training(table, rows, X, y[:, 0], extra))


def _warn_undefined(left_out: Any, names: set[str]) -> None:
    """Warn about rows without missing values for which a function of the formula is undefined."""
    undefined = left_out.index[~left_out[sorted(names)].isna().any(axis=1)]
    if len(undefined):
        warn(
            f"The formula is undefined for {len(undefined)} row(s) without missing values (the first is "
            f"row {undefined[0]}), for example the logarithm of a negative number. They are left out "
            "of the fit.",
            DataConversionWarning,
        )
