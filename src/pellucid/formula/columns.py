"""From a table to the columns of a formula, by formulaic.

Invariant: a formula is never evaluated with the caller's variables; a name that is no column of the
table is an error that says which column may be meant.
"""

import re
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.formula.language import Foreign, columns_of


def entries_of(value: Any, what: str, table: Any) -> np.ndarray:
    """One entry per row of the table: the column of that name, or the array itself."""
    if isinstance(value, str):
        check_columns({value}, table, "")
        value = table[value]
    found = np.asarray(value)
    if found.shape != (len(table),):
        raise DataError(
            f"{what} must be the name of a column, or have one entry for each of the {len(table)} "
            f"rows of the table. Got an array of shape {found.shape} instead."
        )
    return found


def numbers_of(value: Any, what: str, table: Any) -> np.ndarray:
    """As `entries_of`, all of them numbers."""
    found = entries_of(value, what, table)
    try:
        return found.astype(float)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers, not {found.dtype} cells.") from None


def table_of(data: Any) -> Any:
    """A pandas table with rows numbered 0, 1, ..."""
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if not hasattr(data, "iloc"):
        raise DataError("A formula needs a table with named columns: pandas, polars or Arrow.")
    twice = data.columns[data.columns.duplicated()]
    if len(twice):
        raise DataError(f"The table has several columns named {str(twice[0])!r}: rename them.")
    return data.reset_index(drop=True)


def parse(formula: str, table: Any) -> Any:
    """Both sides of a formula, as formulaic reads them."""
    try:
        from formulaic import Formula
    except ImportError:
        raise PellucidError("Formulas need formulaic: pip install 'pellucid[formula]'.") from None
    sides = formula.split("~") if isinstance(formula, str) else []
    if len(sides) != 2 or not all(map(str.strip, sides)):
        raise ParameterError(f"A formula reads 'target ~ columns'. Got {formula!r} instead.")
    if "`1`" in formula:
        raise ParameterError("A column named '1' is not told from the constant 1: rename it.")
    columns = {"__formulaic_variables_available__": [str(name) for name in table.columns]}
    try:
        return Formula(formula, _context=columns)  # a dot is every other column
    except Exception as error:
        reason = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]  # no colours
        raise ParameterError(f"The formula {formula!r} cannot be read: {reason}") from error


def required(*sides: Any) -> set[str]:
    """The columns that sides of a formula read, by their whole names (`petal.width` is one)."""
    terms = [term for side in sides for term in getattr(side, "formula", side)]
    return {name for term in terms for factor in term.factors for name in required_by(factor)}


def required_by(factor: Any) -> Iterable[str]:
    """The columns that one factor reads."""
    if factor.eval_method.value == "lookup":
        return (factor.expr,)
    try:
        return columns_of(factor.expr)
    except Foreign:
        return map(str, factor.required_variables)


def check_columns(wanted: Any, table: Any, formula: str) -> None:
    """Refuse a name that is no column of the table, with the nearest that is."""
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


def make(source: Any, table: Any, missing: str) -> Any:
    """The columns of a formula; the caller's variables are out of reach."""
    from formulaic.errors import DataMismatchWarning

    sides = (source,) if hasattr(source, "formula") else (source.lhs, source.rhs)
    if missing == "raise":
        _check_cells(table, *sides)
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
        _check_dates(table, *sides)
        raise DataError(f"The formula cannot be applied to this table: {error}") from error


def _check_cells(table: Any, *sides: Any) -> None:
    """Refuse missing cells, by column and row: there is no prediction for them."""
    for name in sorted(required(*sides)):
        empty = np.flatnonzero(table[name].isna())
        if len(empty):
            raise DataError(
                f"Column {name!r} has no value in row {empty[0]} (such rows: {len(empty)}), so there "
                "is no prediction. Fill them, or leave them out."
            )


def _check_dates(table: Any, *sides: Any) -> None:
    for name in sorted(required(*sides)):
        if table[name].dtype.kind in "mM":
            raise DataError(
                f"Column {name!r} holds dates, which formulas do not count: make a number of it "
                "first, e.g. the days since the first one."
            )


def is_constant(term: Any) -> bool:
    """Whether a term is the number 1: a column of the user's may have any name."""
    return [(f.expr, f.eval_method.value) for f in term.factors] == [("1", "literal")]


def has_constant(spec: Any) -> bool:
    """Whether the term 1 is there."""
    return any(is_constant(part.term) for part in spec.structure)


def constant_alone(spec: Any) -> bool:
    """Whether the side of a formula is the term 1 and nothing else."""
    return has_constant(spec) and len(spec.structure) == 1


def slopes_of(matrix: Any, spec: Any) -> Any:
    """The columns without the constant; alone, it stays a column."""
    if not has_constant(spec) or constant_alone(spec):
        return matrix.astype(float)
    if sum("Intercept" in map(str, part.columns) for part in spec.structure) > 1:
        raise DataError(
            "The table has a column named 'Intercept', as the formula's constant is: rename it, or "
            "leave the constant out (0 + ...)."
        )
    return matrix.drop(columns="Intercept").astype(float)
