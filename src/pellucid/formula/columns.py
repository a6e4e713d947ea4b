"""From a table to the columns of a formula, by formulaic.

Invariant: a formula is never evaluated with the caller's variables. A name that is not a column of
the table is an error, which suggests the most similar column.
"""

import contextlib
import keyword
import re
import warnings
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import numpy as np

from pellucid.data.raw_column import is_missing, object_column
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.formula.language import FUNCTIONS, UnsafeExpression, columns_of, multiplied

_MISSING = ("NAType", "NaTType", "NoneType")
_KNOWN = (str, int, float, Decimal, np.number, np.bool_)
# Functions that differ from formulaic's, whose exp10 is the tenth power.
_OWN = {"exp10": lambda x: np.power(10.0, x)}


def entries_of(value: Any, what: str, table: Any) -> np.ndarray:
    """One entry per row of the table: the column of that name, or the array itself."""
    if isinstance(value, str):
        check_columns({value}, table, "")
        value = table[value]
    found = value if isinstance(value, np.ndarray) else _cells(value)
    if found.shape != (len(table),):
        raise DataError(
            f"{what} must be the name of a column, or have one entry for each of the {len(table)} "
            f"rows of the table. Got an array of shape {found.shape} instead."
        )
    return found


def numbers_of(value: Any, what: str, table: Any) -> np.ndarray:
    """The same as `entries_of`, but all entries must be numbers."""
    found = entries_of(value, what, table)
    try:
        if found.dtype.kind == "O":
            return _number_cells(found)
        return found.astype(float)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers, not {found.dtype} values.") from None


def _cells(values: Any) -> np.ndarray:
    """The entries of a column; those of a numeric type as floats, with NaN for missing values."""
    if hasattr(values, "iloc") and str(values.dtype).lower().startswith(("int", "uint", "float")):
        return values.to_numpy(dtype=float, na_value=np.nan)
    return np.asarray(values)


def _number_cells(cells: np.ndarray) -> np.ndarray:
    if any(isinstance(cell, str) for cell in cells):
        raise TypeError("text")
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])


def table_of(data: Any) -> Any:
    """A pandas table with rows numbered 0, 1, ... and columns named by strings."""
    if hasattr(data, "to_pandas"):
        data = _unordered(data).to_pandas()
    if not hasattr(data, "iloc"):
        raise DataError("A formula needs a table with named columns: pandas, polars or Arrow.")
    names = [str(name) for name in data.columns]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(f"The table has several columns named {repeated[0]!r}. Rename them.")
    return data.set_axis(names, axis=1).reset_index(drop=True)


def _unordered(data: Any) -> Any:
    """A polars table with Categorical columns as strings: polars orders their levels by first
    appearance in any table of the process, which is not a meaningful order.
    """
    for name, kind in zip(data.columns, getattr(data, "dtypes", ())):
        if str(kind).startswith("Categorical"):
            data = data.with_columns(data[name].cast(str))
    return data


def _with_column_types(table: Any, names: Iterable[str]) -> Any:
    """These columns of a table, each with the type that it has in all models.

    A column of objects that are all numbers is numeric. A column of strings is categorical, whatever
    its dtype, even if the strings look like numbers.
    """
    own = table[sorted(names)]
    changed = {}
    for name in own.columns:
        dtype = own[name].dtype
        if dtype.kind == "c":
            raise DataError(f"Complex data not supported: column {name!r}.")
        if dtype.kind in "fiubmM" or hasattr(own[name], "cat"):
            continue
        cells = own[name].to_numpy(dtype=object)
        kinds = set(map(type, cells))
        if kinds <= {str} and dtype in ("object", "str"):
            continue  # formulaic reads it as categories
        if kinds <= {str}:
            changed[name] = cells
        elif all(issubclass(k, _KNOWN) or k.__name__ in _MISSING for k in kinds):
            column = object_column(name, cells)  # rejects mixed types
            changed[name] = (
                _as_integers(column.values) if column.kind == "number" else column.cells()
            )
    return own.assign(**{name: own[name].__class__(v, own.index) for name, v in changed.items()})


def _as_integers(values: np.ndarray) -> np.ndarray:
    """Integers if all values are whole numbers, so that levels are named 1 and not 1.0."""
    exact = np.isfinite(values) & (np.abs(values) < 2**53)
    return values.astype(np.int64) if exact.all() and not np.any(values % 1) else values


def parse(formula: str, table: Any) -> Any:
    """Both sides of a formula, as formulaic reads them."""
    try:
        from formulaic import Formula, SimpleFormula
    except ImportError:
        raise PellucidError("Formulas need formulaic: pip install 'pellucid[formula]'.") from None
    sides = formula.split("~") if isinstance(formula, str) else []
    if len(sides) != 2 or not all(map(str.strip, sides)):
        raise ParameterError(f"A formula has the form 'target ~ columns'. Got {formula!r} instead.")
    if "`1`" in formula:
        raise ParameterError("A column named '1' looks like the constant 1. Rename it.")
    # formulaic quotes every occurrence of a quoted `x`, even inside np.exp
    plain = re.sub(r"`([^\W\d]\w*)`", lambda m: m[0] if keyword.iskeyword(m[1]) else m[1], formula)
    columns = {"__formulaic_variables_available__": [str(name) for name in table.columns]}
    try:
        found = Formula(plain, _context=columns)  # a dot stands for all other columns
    except Exception as error:
        reason = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).split("\n")[0]  # no colours
        raise ParameterError(f"The formula {formula!r} cannot be parsed: {reason}") from error
    if isinstance(found, SimpleFormula):  # the target vanished, as in "- + : ~ x"
        raise ParameterError(f"The formula {formula!r} has no target left of '~'.")
    if isinstance(found.lhs, tuple) or isinstance(found.rhs, tuple):
        raise ParameterError(
            f"Formulas with several parts ('|') are not supported. Got {formula!r}."
        )
    return found


def required(*sides: Any) -> set[str]:
    """The columns that sides of a formula use, by their full names (`petal.width` is one name)."""
    return {name for factor in _factors(*sides) for name in required_by(factor)}


def required_by(factor: Any) -> Iterable[str]:
    """The columns that one factor uses."""
    if factor.eval_method.value == "lookup":
        return (factor.expr,)
    try:
        return columns_of(factor.expr)
    except UnsafeExpression:
        return map(str, factor.required_variables)


def check_columns(wanted: Any, table: Any, formula: str) -> None:
    """Raise an error for a name that is not a column, with the most similar column."""
    columns = [str(name) for name in table.columns]
    for name in sorted(map(str, wanted)):
        if name in columns:
            continue
        if re.search(rf"(?<![\w.]){re.escape(name)}\s*\(", formula):
            raise DataError(
                f"The formula calls {name!r}, which is not a function of formulas. Use C, np.log, "
                "np.exp, np.sqrt, poly, bs, center or scale; pass an offset as offset= or exposure=."
            )
        near = [c for c in columns if c.lower() == name.lower()]
        near += get_close_matches(name, columns, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"The table has no column {name!r}.{hint} It has: {', '.join(columns)}.")


def make(source: Any, table: Any, missing: str) -> Any:
    """The columns of a formula; the caller's variables are not visible to it.

    Rows with missing values are left out (`missing` is "drop") or raise an error ("raise").
    """
    from formulaic.errors import DataMismatchWarning

    sides = (source,) if hasattr(source, "formula") else (source.lhs, source.rhs)
    names, factors = required(*sides), _factors(*sides)
    _check_calls(names, factors)
    table = _with_column_types(table, names)
    _check_products(table, factors)
    if missing == "raise":
        _check_cells(table, *sides)
    action = "drop" if missing == "drop" else "ignore"  # `_check_numbers` reports the cells
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error", DataMismatchWarning)
            found = source.get_model_matrix(table, context=_OWN, na_action=action)
    except DataMismatchWarning as error:
        levels = ", ".join(re.findall(r"'[^']*'", str(error))) or str(error)
        raise DataError(
            f"The training table did not have the level(s) {levels}, so these rows cannot be "
            "predicted. Leave them out, or fit the model with rows that have these levels."
        ) from error
    except Exception as error:
        _check_dates(table, *sides)
        raise DataError(f"The formula cannot be applied to this table: {error}") from error
    for matrix in (found,) if len(sides) == 1 else (found.lhs, found.rhs):
        _check_numbers(matrix)
    return found


def _factors(*sides: Any) -> list[Any]:
    return [f for side in sides for term in getattr(side, "formula", side) for f in term.factors]


def _check_products(table: Any, factors: list[Any]) -> None:
    """Reject products of strings and numbers: Python repeats the string, which can fill the memory."""
    for factor in factors:
        if factor.eval_method.value != "python":
            continue
        with contextlib.suppress(UnsafeExpression):
            for name in sorted(multiplied(factor.expr)):
                if table[name].dtype.kind not in "fiubmM":
                    raise DataError(
                        f"{factor.expr!r} multiplies column {name!r}, which is not numeric."
                    )


def _check_calls(names: set[str], factors: list[Any]) -> None:
    """Reject a column that has the name of a function in the formula."""
    for factor in factors:
        for name in sorted(names & {*FUNCTIONS, "np", "contr"}):
            if factor.expr != name and re.search(rf"(?<![\w.`]){name}[(.]", factor.expr):
                raise DataError(
                    f"The formula uses {name!r} as a column and as a function. Rename the column."
                )


def _check_numbers(matrix: Any) -> None:
    """Reject a column that is not numeric, and cells without a number."""
    for j, name in enumerate(map(str, matrix.columns)):
        column = matrix.iloc[:, j]
        if column.dtype.kind not in "fiub":
            raise DataError(
                f"The formula gives {column.dtype} values for {name!r}, which are not numbers. Convert "
                "the column to numbers or strings first."
            )
        empty = np.flatnonzero(column.isna())
        if len(empty):
            raise DataError(
                f"{name!r} is undefined in {_where(empty)}, for example the logarithm of a negative "
                "number, so there is no prediction. Correct the values, or leave the rows out."
            )


def _where(rows: np.ndarray) -> str:
    return f"row {rows[0]}" + (f" ({len(rows)} rows in total)" if len(rows) > 1 else "")


def _check_cells(table: Any, *sides: Any) -> None:
    """Reject missing values, with column and row: these rows cannot be predicted."""
    for name in sorted(required(*sides)):
        empty = np.flatnonzero(table[name].isna())
        if len(empty):
            raise DataError(
                f"Column {name!r} has a missing value in {_where(empty)}, so there is no prediction. "
                "Fill the values, or leave the rows out."
            )


def _check_dates(table: Any, *sides: Any) -> None:
    for name in sorted(required(*sides)):
        if table[name].dtype.kind in "mM":
            raise DataError(
                f"Column {name!r} holds dates, which formulas do not support. Convert it to numbers, "
                "for example to days since the first date."
            )
