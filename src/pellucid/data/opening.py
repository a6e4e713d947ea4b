"""Tables behind paths, and y, weights and offset that are named columns of the table."""

from pathlib import Path
from typing import Any

import numpy as np

from pellucid.data.intake import check_names, is_frame
from pellucid.data.targets import as_vector
from pellucid.errors import DataError, DataTypeError


def opened(X: Any, *columns: Any) -> tuple[Any, ...]:
    """The table behind a path, and each of y, weights, offset that is a column name as that column.

    A list of names gives several columns. Named columns are taken out of the table.
    """
    if isinstance(X, str | Path):
        from pellucid.data.io.read import read

        X = read(X)
    out = []
    for given in columns:
        if isinstance(given, str):
            X, given = _split(X, given)
        elif _are_names(given, X):
            parts = []
            for name in given:
                X, part = _split(X, name)
                parts.append(as_vector(part))
            given = np.column_stack(parts)
        out.append(given)
    return X, *out


def _are_names(given: Any, X: Any) -> bool:
    """A list of strings that are all columns of the table."""
    if not isinstance(given, list) or not given or not is_frame(X):
        return False
    return all(isinstance(v, str) for v in given) and set(given) <= set(map(str, _names(X)))


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _split(X: Any, name: str) -> tuple[Any, Any]:
    """The table without the named column, and that column."""
    if not is_frame(X):
        raise DataTypeError(
            f"{name!r} names a column, but X is not a table with named columns (a dataframe, an "
            "Arrow table or a path)."
        )
    raw = _names(X)
    names = [str(n) for n in raw]
    check_names(tuple(names))
    if name not in names:
        from pellucid.data.io.source import did_you_mean, listing

        hint = did_you_mean(name, names)
        raise DataError(f"column {name!r} is not in the table.{hint} {listing(names)}")
    if hasattr(X, "column_names"):
        return X.drop_columns([name]), X.column(name)
    return X[[n for n in raw if str(n) != name]], X[raw[names.index(name)]]
