"""Missing cells of an encoded matrix: where they are, and how models leave them out."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.batches import empty
from pellucid.data.intake import RawTable
from pellucid.data.schema import CATEGORICAL, Schema

INDICATORS = ("indicator", "missing")  # roles of terms that mark missing cells


def first_terms(schema: Schema) -> np.ndarray:
    """Position of the first term of each of the user's columns."""
    return np.searchsorted(schema.owner, np.arange(schema.n_columns))


def silent_terms(schema: Schema) -> np.ndarray:
    """Which terms have no influence: missing-value indicators, and columns that were always missing."""
    if schema.plain:
        return np.zeros(schema.n_columns, dtype=bool)
    never = [empty(schema, j) for j in range(schema.n_columns)]
    return np.array([role in INDICATORS or never[j] for j, role, _ in schema.blocks()])


def mark_missing(X: Any, schema: Schema, rows: RawTable) -> Any:
    """X with NaN for each missing cell or unseen level in columns without an indicator."""
    marked = schema.n_missing > 0
    missing = {
        j: np.flatnonzero(cells) for j, cells in enumerate(rows.missing_cells()) if not marked[j]
    }
    if CATEGORICAL in schema.kinds:
        missing |= schema.unknown_cells(rows)
    place = first_terms(schema)
    if isinstance(X, np.ndarray):
        for j, cells in missing.items():
            X[cells, place[j]] = np.nan
        return X
    row = np.concatenate([np.zeros(0, dtype=np.int64), *missing.values()])
    column = np.repeat([place[j] for j in missing], [len(cells) for cells in missing.values()])
    return X + type(X)((np.full(len(row), np.nan), (row, column)), shape=X.shape)


def missing_cells(X: Any, schema: Schema) -> np.ndarray | None:
    """Which of the user's columns are missing in each encoded row: (n, d), or None if none is.

    A column that was always missing in training counts as missing.
    """
    flag = np.zeros(X.shape[1], dtype=bool)
    never = np.zeros(schema.n_columns, dtype=bool)
    if not schema.plain:
        flag[:] = [role in INDICATORS for _, role, _ in schema.blocks()]
        never[:] = [empty(schema, j) for j in range(schema.n_columns)]
    if isinstance(X, np.ndarray):
        hit = np.isnan(X)
        hit[:, flag] |= X[:, flag] != 0
        out = hit if schema.plain else np.logical_or.reduceat(hit, first_terms(schema), axis=1)
    else:
        hit = np.isnan(X.data) | (flag[X.indices] & (X.data != 0))
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[hit]
        out = np.zeros((X.shape[0], schema.n_columns), dtype=bool)
        out[row, schema.owner[X.indices[hit]]] = True
    out[:, never] = True
    return out if parallel.any_row(out.any()) else None


def filled(X: Any, missing: np.ndarray, schema: Schema, value: float = 0.0) -> Any:
    """A copy of X with `value` in all terms of missing cells; a sparse table stays sparse."""
    if isinstance(X, np.ndarray):
        return np.where(missing if schema.plain else missing[:, schema.owner], value, X)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    data = np.where(missing[row, schema.owner[X.indices]], value, X.data)
    return type(X)((data, X.indices, X.indptr), shape=X.shape)
