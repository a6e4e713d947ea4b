"""Encoding an aligned table: as codes for trees and similar models, or as a matrix for all others.

codes  : float64 (n, d), Fortran order; numbers as they are, levels 0..L-1, missing or unseen NaN; 0
         for a text, whose words stand beside them (`words`).
         As a `view` never a copy where X is a C array of numbers. Sparse X becomes dense.
matrix : float64 (n, p), C order, never a copy where X is one already; or CSR when levels make more
         than `SPARSE_COLUMNS` columns and the model takes sparse input.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import _loops
from pellucid.data.column_stats import check_column, check_finite
from pellucid.data.intake import RawTable
from pellucid.data.raw_column import RawColumn
from pellucid.data.schema import CATEGORICAL, DATETIME, NUMBER, TEXT, Schema
from pellucid.data.text import word_entries
from pellucid.errors import DataError, DataTypeError

SPARSE_COLUMNS = 50
DENSE = 2**27  # cells of words or sparse tables that are made dense at most: 1 GB


def encode_once(
    schema: Schema, table: RawTable, takes_sparse: bool, owner: str, *flags: bool
) -> Any:
    """The table aligned and encoded; a table with a memo remembers it for models of the same schema."""

    def encoded() -> Any:
        return encode(schema, schema.align(table, owner), takes_sparse, owner, *flags)

    return table.remembered(("encoded", takes_sparse, *flags), (schema,), encoded)


def encode(
    schema: Schema,
    table: RawTable,
    takes_sparse: bool,
    owner: str,
    finite: bool = False,
    quiet: bool = False,
    view: bool = False,
    narrow: bool = False,
) -> Any:
    """The aligned table in the schema's layout; refused sparse input is an error.

    `finite`: the numbers have been checked already, as `learn` does. `quiet`: no warning about unseen
    levels (rows of weight 0 in training). `view`: codes may be the user's own array, in C order.
    `narrow`: a matrix may be the user's own array of float32.
    """
    if table.sparse is not None:
        if not takes_sparse:
            raise DataTypeError(
                f"{owner} does not take sparse X. Use X.toarray() if it fits into memory."
            )
        if not schema.plain:
            raise DataTypeError(
                f"{owner} was fitted on a table with categories or missing values: sparse X has "
                "neither. Give the dense table."
            )
        if not finite:
            check_finite(table.sparse.data, table, allow_nan=False)
        if schema.layout == "codes":
            return _dense(table, owner)
        return table.sparse.astype(np.float64, copy=False)
    if schema.layout == "codes":
        return _codes(schema, table, quiet, view)
    if TEXT in schema.kinds and not takes_sparse:
        n, what = table.n_rows, f"the dense table that {owner} needs"
        hint = ", give fewer rows at a time"
        check_room(schema, what, n * len(schema.owner), DENSE, DENSE // max(n, 1), hint)
    own = table.dense
    narrow = narrow and own is not None and own.dtype == np.float32 and own.flags.c_contiguous
    if narrow and own is not None and schema.plain and (finite or _all_finite(own)):
        return own
    return _matrix(schema, table, takes_sparse, finite, quiet)


def check_room(schema: Schema, what: str, cells: int, most: int, fits: int, hint: str = "") -> None:
    """Refuse words that would make `what` hold more than `most` numbers; `fits` columns are allowed."""
    if cells <= most:
        return
    texts, p = _texts(schema), len(schema.owner)
    n_words = sum(len(schema.levels[j]) for j in texts)
    fewer = max((fits - (p - n_words)) // len(texts), 1)
    raise DataError(
        f"the words of column {schema.name(texts[0])!r} and the other columns make {p} columns: "
        f"{what} would hold {cells:.2g} numbers ({8 * cells / 2**30:.1f} GB). Keep fewer words with "
        f"Table(text=Text(max_words={fewer})){hint}, or use a model that keeps words sparse: "
        "LogisticRegression, MultinomialNB or MixedNB."
    )


def _dense(table: RawTable, owner: str) -> np.ndarray:
    """Sparse X as codes, if they need at most 1 GB."""
    n, d = table.sparse.shape
    if n * d > DENSE:
        raise DataError(
            f"{owner} makes sparse X dense, up to {DENSE:.2g} numbers (1 GB). This X has {n} rows and "
            f"{d} columns ({8 * n * d / 2**30:.1f} GB). Keep fewer columns, give fewer rows at a time, "
            "or use X.toarray() if it fits into memory."
        )
    return table.sparse.toarray(order="F").astype(np.float64, copy=False)


def _codes(schema: Schema, table: RawTable, quiet: bool, view: bool) -> np.ndarray:
    if table.dense is not None and schema.kinds.count(CATEGORICAL) == 0:
        return _numbers(table, view)
    columns = schema.raw(table)
    levels = schema.level_codes(columns, quiet)
    out = np.empty((table.n_rows, schema.n_columns), order="F")
    for j, column in enumerate(columns):
        if j in levels:
            out[:, j] = np.where(levels[j] < 0, np.nan, levels[j])
        elif schema.kinds[j] == TEXT:
            out[:, j] = [np.nan if cell is None else 0.0 for cell in column.values]
        else:
            out[:, j] = check_column(column)
    return out


def _numbers(table: RawTable, view: bool) -> np.ndarray:
    """A dense table as it is, or a copy in Fortran order, by tiles and in threads."""
    X = table.dense
    assert X is not None
    if view and not X.flags.f_contiguous and X.flags.aligned:
        X = np.ascontiguousarray(X, dtype=np.float64)
        if not _all_finite(X):
            check_finite(X, table, allow_nan=True)
        return X
    if X.flags.f_contiguous and X.dtype == np.float64:
        check_finite(X, table, allow_nan=True)
        return X
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty(X.shape, order="F")
    strips = parallel.row_blocks(*X.shape)
    bad = parallel.map(lambda b: _loops.to_columns(X[b], out[b]), strips)
    if np.isnan(bad).any():
        check_finite(X, table, allow_nan=True)
    return out


def _matrix(schema: Schema, table: RawTable, takes_sparse: bool, finite: bool, quiet: bool) -> Any:
    if table.dense is not None and set(schema.kinds) <= {NUMBER, DATETIME}:
        X = np.ascontiguousarray(table.dense, dtype=np.float64)
        if schema.plain and (finite or _all_finite(X)):
            return X
        return _filled(schema, X, table)
    columns = schema.raw(table)
    levels = schema.level_codes(columns, quiet)
    blocks = schema.blocks()
    n_level_columns = sum(role in ("level", "missing") for _, role, _ in blocks)
    if TEXT in schema.kinds or (takes_sparse and n_level_columns > SPARSE_COLUMNS):
        out = _sparse_matrix(schema, columns, levels, blocks, table.n_rows)
        return out if takes_sparse else out.toarray()
    out = np.empty((table.n_rows, len(blocks)))
    for k, (j, role, level) in enumerate(blocks):
        out[:, k] = _term(schema, j, role, level, columns, levels)
    return out


def _filled(schema: Schema, X: np.ndarray, table: RawTable) -> np.ndarray:
    """Numbers with missing values: means in their place, and the indicator columns of training."""
    blocks = schema.blocks()
    place, indicator = (np.full(schema.n_columns, -1, dtype=np.int32) for _ in range(2))
    for k, (j, role, _) in enumerate(blocks):
        (place if role == "value" else indicator)[j] = k
    out = np.empty((len(X), len(blocks)))

    def fill(rows: slice) -> float:
        return _loops.impute(X[rows], schema.mean, place, indicator, out[rows])

    if np.isnan(parallel.map(fill, parallel.row_blocks(*X.shape))).any():
        check_finite(X, table, allow_nan=True)
    return out


def _all_finite(X: np.ndarray) -> bool:
    """A sum is finite unless a cell is not, or it overflows: look closer only then."""

    def total(rows: slice) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(X[rows].sum())

    blocks = parallel.row_blocks(*X.shape)
    return bool(np.isfinite(parallel.map(total, blocks)).all() or np.isfinite(X).all())


def _term(
    schema: Schema, j: int, role: str, level: Any, columns: list[Any], levels: dict[int, np.ndarray]
) -> np.ndarray:
    """One encoded column."""
    if role == "value":
        values = check_column(columns[j])
        missing = np.isnan(values)
        return np.where(missing, schema.mean[j], values) if missing.any() else values
    if role == "indicator":
        if schema.kinds[j] == TEXT:
            return np.array([cell is None for cell in columns[j].values], dtype=float)
        return np.isnan(columns[j].values).astype(float)
    position = schema.levels[j].index(level) if role == "level" else -1
    codes = levels[j]
    out = (codes == position).astype(float)
    unknown = (codes == -2) | ((codes == -1) & (schema.n_missing[j] == 0))
    if unknown.any():
        shares = schema.level_shares(j)
        out[unknown] = shares[position if role == "level" else len(schema.levels[j])]
    return out


def _sparse_matrix(
    schema: Schema,
    columns: list[Any],
    levels: dict[int, np.ndarray],
    blocks: list[tuple[int, str, Any]],
    n_rows: int,
) -> Any:
    """CSR of all terms, built without a dense copy of the level columns."""
    from scipy.sparse import csr_array

    first: dict[int, int] = {}
    for k, (j, _, _) in enumerate(blocks):
        first.setdefault(j, k)
    parts: list[tuple[Any, ...]] = []  # rows, columns, values
    for k, (j, role, _level) in enumerate(blocks):
        if role in ("value", "indicator"):
            values = _term(schema, j, role, None, columns, levels)
            rows = np.flatnonzero(values)
            parts.append((rows, np.full(rows.size, k), values[rows]))
    for j, codes in levels.items():
        parts += _level_entries(schema, j, codes, first[j])
    for j in _texts(schema):
        row, position, value = _word_entries(schema, j, columns[j])
        parts.append((row, first[j] + position, value))
    rows, cols, data = (np.concatenate(part) for part in zip(*parts))
    out = csr_array((data, (rows, cols)), shape=(n_rows, len(blocks)))
    out.sort_indices()
    out.indices, out.indptr = out.indices.astype(np.int32), out.indptr.astype(np.int32)
    return out


def words(schema: Schema, table: RawTable) -> dict[int, Any]:
    """The words of the text columns of an aligned table, by position: CSR (n, words) each."""
    texts = _texts(schema)
    if not texts:
        return {}
    from scipy.sparse import csr_array

    columns, out = schema.raw(table), {}
    for j in texts:
        row, position, value = _word_entries(schema, j, columns[j])
        shape = (table.n_rows, len(schema.levels[j]))
        out[j] = csr_array((value, (row, position)), shape=shape)
    return out


def _texts(schema: Schema) -> list[int]:
    return [j for j, kind in enumerate(schema.kinds) if kind == TEXT]


def _word_entries(schema: Schema, j: int, column: RawColumn) -> tuple[np.ndarray, ...]:
    return word_entries(
        column.values, schema.levels[j], schema.level_shares(j), schema.text_mode,
        schema.text_pattern,
    )  # fmt: skip


def _level_entries(schema: Schema, j: int, codes: np.ndarray, first: int) -> list[tuple[Any, ...]]:
    """Entries (rows, columns, values) of one categorical column's terms."""
    n_levels, has_missing = len(schema.levels[j]), schema.n_missing[j] > 0
    n_terms = n_levels + has_missing
    dropped = int(schema.coding == "reference" and n_terms > 1)
    position = np.where((codes == -1) & has_missing, n_levels, codes)
    known = np.flatnonzero(position >= dropped)
    parts: list[tuple[Any, ...]] = [(known, first + position[known] - dropped, np.ones(known.size))]
    unknown = np.flatnonzero(position < 0)
    if unknown.size:
        shares = schema.level_shares(j)[dropped:n_terms]
        parts.append((
            np.repeat(unknown, shares.size),
            np.tile(first + np.arange(shares.size), unknown.size),
            np.tile(shares, unknown.size),
        ))  # fmt: skip
    return parts


def known_distances(X: Any) -> np.ndarray:
    """Precomputed distances as a table; entries that a sparse matrix does not store are infinite.

    A stored 0 is a distance of 0.
    """
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=float)
    X = X.tocsr()
    table = np.full(X.shape, np.inf)
    table[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return table
