"""Results as tables: dataframes for `set_output`, and the target column out of a table."""

import difflib
from typing import Any

import numpy as np

from pellucid.data.containers import check_names, is_frame
from pellucid.errors import DataError, DataTypeError


def to_frame(values: np.ndarray, columns: np.ndarray, like: Any, kind: str) -> Any:
    """A pandas or polars frame; pandas keeps the index of `like`."""
    if kind == "polars":
        import polars

        return polars.DataFrame(np.asarray(values), schema=list(columns), orient="row")
    import pandas

    index = like.index if isinstance(like, pandas.DataFrame) else None
    return pandas.DataFrame(values, columns=columns, index=index, copy=False)


def split_target(X: Any, name: str) -> tuple[Any, Any]:
    """The table without the named column, and that column."""
    if not is_frame(X):
        raise DataTypeError(
            f"y={name!r} names a column, but X is not a table with named columns (a dataframe, an "
            "Arrow table or a path)."
        )
    arrow = hasattr(X, "column_names")
    names = [str(n) for n in (X.column_names if arrow else X.columns)]
    check_names(tuple(names))
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(
            f"column {name!r} is not in the table.{hint} Columns: {', '.join(names[:20])}"
        )
    if arrow:
        return X.drop_columns([name]), X.column(name)
    from pellucid.data.frames import drop

    return drop(X, name), X[name]
