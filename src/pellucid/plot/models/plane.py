"""The plane of a display: two columns of a table, or two directions in it, with typical other cells.

Invariant: the tables made here have the columns and the container of the user's table, so that any
estimator can predict them. Directions are orthonormal in standardized columns: distances on the plane
are those of the standardized rows projected on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.intake import RawTable, is_frame, is_sparse, raw_table
from pellucid.data.raw_column import RawColumn, is_missing
from pellucid.draw import number
from pellucid.draw.label_text import clean
from pellucid.errors import DataError, DataTypeError, ParameterError, shown

NUMERIC = ("number", "datetime")
NAMED = 4  # other columns whose typical cells are named below a picture
MARGIN = 0.06  # share of the extent that the plane continues beyond the rows


@dataclass(frozen=True)
class Source:
    """A user's table: its columns as arrays, and the way back to its container."""

    owner: str
    given: Any
    raw: RawTable
    columns: tuple[RawColumn, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def numeric(self) -> list[int]:
        """Positions of the columns of numbers and dates."""
        return [j for j, column in enumerate(self.columns) if column.kind in NUMERIC]

    def position(self, which: Any) -> int:
        """The position of a column of numbers, given by name or position."""
        j = self._find(which)
        if self.columns[j].kind not in NUMERIC:
            raise DataError(
                f"{self.owner} needs columns of numbers, but column {self.columns[j].name!r} holds "
                f"{'text' if self.columns[j].kind == 'text' else 'categories'}. Choose another column."
            )
        return j

    def _find(self, which: Any) -> int:
        if isinstance(which, str) and which in self.names:
            return self.names.index(which)
        integer = isinstance(which, int | np.integer) and not isinstance(which, bool)
        if integer and -len(self.columns) <= which < len(self.columns):
            return int(which) % len(self.columns)
        listed = ", ".join(map(repr, self.names[:12])) + (", ..." if len(self.names) > 12 else "")
        raise ParameterError(
            f"{self.owner}: the table has no column {shown(which)}. Its columns are {listed}."
        )

    def values(self, j: int) -> np.ndarray:
        """The cells of a numeric column, NaN where missing."""
        return np.asarray(self.columns[j].values, dtype=float)

    def matrix(self, which: Sequence[int] | None = None) -> np.ndarray:
        """Numeric columns side by side, shape (rows, columns)."""
        places = self.numeric if which is None else which
        return np.column_stack([self.values(j) for j in places])

    def typical_rows(self) -> list[int]:
        """For each column the row that holds its median (the lower of two) or most frequent cell."""
        return [_typical(column) for column in self.columns]

    def fixed(
        self, used: Sequence[int], what: str = "at their median or most frequent value"
    ) -> str:
        """A sentence that names the typical cells of all columns but the used ones; empty without
        others."""
        typical = self.typical_rows()
        others = [j for j in range(len(self.columns)) if j not in used]
        if not others:
            return ""
        named = [f"{clean(self.names[j], 24)} {self._cell(j, typical[j])}" for j in others[:NAMED]]
        more = ", ..." if len(others) > NAMED else ""
        return f"Other columns: {what} ({', '.join(named)}{more})."

    def _cell(self, j: int, row: int) -> str:
        column = self.columns[j]
        cell = column.cells()[row]
        if is_missing(cell):
            return "missing"
        if column.kind == "datetime":
            return str(np.datetime64(round(float(cell)), "D"))
        return number(float(cell), 4) if column.kind == "number" else clean(cell, 24)

    def rows(self, n: int, cells: dict[int, np.ndarray]) -> Any:
        """A table of `n` rows in the user's container: the given columns, all others typical."""
        typical = self.typical_rows()
        if is_frame(self.given):
            return self._frame_rows(n, cells, typical)
        wide = np.asarray(self.given, dtype=float if self.raw.dense is not None else object)
        table = np.tile(wide[typical, np.arange(wide.shape[1])], (n, 1))
        for j, values in cells.items():
            table[:, j] = values
        return table

    def _frame_rows(self, n: int, cells: dict[int, np.ndarray], typical: list[int]) -> Any:
        from pellucid.data.io import shared_tables

        given = self.given
        if hasattr(given, "set_axis"):  # pandas may have names that are no strings
            given = given.set_axis([str(name) for name in given.columns], axis=1)
        arrow, container = shared_tables.as_arrow(given)
        made = shared_tables.repeated(arrow, dict(zip(arrow.column_names, typical)), n)
        for j, values in cells.items():
            made = shared_tables.with_column(made, arrow.column_names[j], values)
        table = shared_tables.native(made, container)
        if container == "pandas":
            table.columns = self.given.columns
        return table


def source(X: Any, owner: str) -> Source:
    """The table of a display; sparse tables are refused."""
    if is_sparse(X):
        raise DataTypeError(f"{owner} needs a dense table. Use X.toarray().")
    raw = raw_table(X, owner)
    return Source(owner, X, raw, tuple(raw.as_columns()))


def _typical(column: RawColumn) -> int:
    """The row of the median or of the most frequent cell; the first row if all are missing."""
    values = column.values
    if column.kind in NUMERIC:
        present = np.flatnonzero(np.isfinite(values))
        order = present[np.argsort(values[present], kind="stable")]
        return int(order[(len(order) - 1) // 2]) if len(order) else 0
    if column.kind == "text":
        cells = [cell for cell in values if cell is not None]
        most = max(sorted(set(cells)), key=cells.count) if cells else None
        return next((i for i, cell in enumerate(values) if cell == most), 0)
    present = values[values >= 0]
    return int(np.argmax(values == np.bincount(present).argmax())) if len(present) else 0


@dataclass(frozen=True)
class Plane:
    """Coordinates of the rows on a plane, and tables of rows for points of the plane.

    `basis` (numeric columns, 2) has the directions in standardized columns; None for two columns.
    """

    source: Source
    columns: tuple[int, ...]
    labels: tuple[str, str]
    points: np.ndarray  # (rows, 2), NaN where a cell is missing
    basis: np.ndarray | None = None
    centre: np.ndarray | None = None
    scale: np.ndarray | None = None

    def table(self, x: np.ndarray, y: np.ndarray) -> Any:
        """One row of the user's table for each point of the plane."""
        if self.basis is None:
            return self.source.rows(len(x), dict(zip(self.columns, (x, y))))
        wide = self.centre + np.column_stack([x, y]) @ self.basis.T * self.scale
        return self.source.rows(len(x), dict(zip(self.columns, wide.T)))

    @property
    def note(self) -> str:
        """What the plane leaves out, in a sentence; empty if nothing."""
        if self.basis is None:
            return self.source.fixed(self.columns)
        rest = self.source.fixed(self.columns, "at their most frequent value")
        return f"Plane through the means; rows are projected on it. {rest}".strip()

    @property
    def dates(self) -> dict[str, bool]:
        """Which axes show dates."""
        if self.basis is not None:
            return {}
        kinds = [self.source.columns[j].kind for j in self.columns]
        return {f"{axis}_dates": kind == "datetime" for axis, kind in zip("xy", kinds)}

    def limits(self, *more: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
        """The extent of the rows (and of further points) with a margin, by axis."""
        points = np.vstack([self.points, *more])
        return _limits(points[:, 0]), _limits(points[:, 1])


def _limits(values: np.ndarray) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = MARGIN * (high - low) if high > low else max(0.5, 0.05 * abs(low))
    return low - room, high + room


def plane(table: Source, columns: Any = None, groups: np.ndarray | None = None) -> Plane:
    """The plane of two columns, or of the first two discriminant or principal directions.

    Parameters
    ----------
    table : the table.
    columns : two names or positions. None takes the numeric columns if there are two, else directions.
    groups : class codes of the rows (-1 unknown), for discriminant directions; None for principal ones.
    """
    if columns is not None:
        pair = (columns,) if isinstance(columns, str | int) else tuple(columns)
        if len(pair) != 2:
            raise ParameterError(
                f"The 'columns' parameter of {table.owner} must name two columns. Got {shown(columns)}."
            )
        return _of_columns(table, [table.position(which) for which in pair])
    numeric = table.numeric
    if len(numeric) < 2:
        have = f"only {table.names[numeric[0]]!r}" if numeric else "none"
        raise DataError(
            f"{table.owner} needs at least two columns of numbers, but the table has {have}."
            + (" Use plot.fit for one column." if numeric else "")
        )
    return _of_columns(table, numeric) if len(numeric) == 2 else _of_directions(table, groups)


def _of_columns(table: Source, pair: list[int]) -> Plane:
    if pair[0] == pair[1]:
        raise ParameterError(
            f"{table.owner} needs two different columns. Got {table.names[pair[0]]!r} twice."
        )
    names = (table.names[pair[0]], table.names[pair[1]])
    return Plane(table, tuple(pair), names, table.matrix(pair))


def _of_directions(table: Source, groups: np.ndarray | None) -> Plane:
    points, basis, kinds, (centre, scale) = directions(table, groups, 2)
    return Plane(table, tuple(table.numeric), (kinds[0], kinds[1]), points, basis, centre, scale)


def directions(
    table: Source, groups: np.ndarray | None, n: int
) -> tuple[np.ndarray, np.ndarray, list[str], tuple[np.ndarray, np.ndarray]]:
    """The rows on n discriminant, then principal directions of standardized columns.

    Returns the points (rows, n), the directions (columns, n), their names, and the means and standard
    deviations of the columns.
    """
    wide = table.matrix()
    whole = np.isfinite(wide).all(axis=1)
    if whole.sum() < 3:
        raise DataError(f"{table.owner} needs at least three rows without missing numbers.")
    centre, scale = wide[whole].mean(axis=0), wide[whole].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    Z = (wide - centre) / scale
    found = np.zeros((Z.shape[1], 0))
    if groups is not None:
        used = whole & (groups >= 0)
        found = discriminant_directions(Z[used], groups[used], n)
    n_discriminants = found.shape[1]
    basis = completed(found, Z[whole], n)
    kinds = [
        f"discriminant direction {k + 1}" if k < n_discriminants
        else f"principal direction {k + 1 - n_discriminants}"
        for k in range(n)
    ]  # fmt: skip
    return Z @ basis, basis, kinds, (centre, scale)


def discriminant_directions(Z: np.ndarray, codes: np.ndarray, most: int = 2) -> np.ndarray:
    """At most `most` directions, shape (columns, k), along which class means differ most.

    They maximise the variance between the classes relative to that within them, and are made
    orthonormal; the sign makes the largest entry positive.
    """
    import scipy.linalg

    labels, codes = np.unique(codes, return_inverse=True)
    if len(labels) < 2:
        return np.zeros((Z.shape[1], 0))
    counts = np.bincount(codes)
    means = np.stack([Z[codes == k].mean(axis=0) for k in range(len(labels))])
    inner = Z - means[codes]
    within = inner.T @ inner / len(Z)
    away = means - Z.mean(axis=0)
    between = (away * counts[:, None]).T @ away / len(Z)
    ridge = 1e-9 * max(float(np.trace(within)) / len(within), 1e-12)
    _, vectors = scipy.linalg.eigh(between, within + ridge * np.eye(len(within)))
    first = vectors[:, ::-1][:, : min(most, len(labels) - 1)]
    return _signed(np.linalg.qr(first)[0])


def completed(directions: np.ndarray, Z: np.ndarray, n: int = 2) -> np.ndarray:
    """n orthonormal directions: the given ones, then principal directions of what they leave."""
    rest = Z - Z @ directions @ directions.T
    axes = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)[2]
    return np.hstack([directions, _signed(axes[: n - directions.shape[1]].T)])


def _signed(directions: np.ndarray) -> np.ndarray:
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(signs == 0, 1.0, signs)
