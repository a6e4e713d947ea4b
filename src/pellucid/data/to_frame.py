"""Arrays as dataframes, for `set_output`."""

from typing import Any

import numpy as np

from pellucid.errors import DataError


def to_frame(values: np.ndarray, columns: np.ndarray, like: Any, kind: str) -> Any:
    """A pandas or polars frame; pandas keeps the index of `like`."""
    if kind == "polars":
        import polars

        return polars.DataFrame(np.asarray(values), schema=list(columns), orient="row")
    import pandas

    index = like.index if isinstance(like, pandas.DataFrame) else None
    return pandas.DataFrame(values, columns=columns, index=index, copy=False)


def check_same_names(given: np.ndarray, schema: Any) -> None:
    """Refuse names of input columns that are not those of training."""
    if schema.names is not None and given.tolist() != list(schema.names):
        raise DataError("input_features is not equal to feature_names_in_")
    if len(given) != schema.n_columns:
        raise DataError(
            "input_features should have length equal to number of features "
            f"({schema.n_columns}), got {len(given)}"
        )
