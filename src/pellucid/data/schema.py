"""`Schema`: the columns of the training table, and the one rule for new tables.

Learned in `fit` from the training rows, applied in `predict`. It holds plain arrays and tuples
only, so it is saved with the model. Columns are matched by name where both tables have names.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.intake import RawTable
from pellucid.data.kinds import as_kind
from pellucid.data.raw_column import RawColumn
from pellucid.errors import DataError, UnseenLevelWarning, warn
from pellucid.parallel.cached import cached_property

NUMBER, CATEGORICAL, DATETIME, TEXT = "number", "categorical", "datetime", "text"
_CHOICES = (  # of unseen, layout, coding and text_mode
    ("missing", "error"), ("matrix", "codes"), ("onehot", "reference"), ("count", "binary", "tfidf"),
)  # fmt: skip


@dataclass(frozen=True)
class Schema:
    """The columns of the training table (d of them), in training order.

    names : None for arrays; kinds : d words; levels : d tuples, levels of a categorical column, words
    of a text column, else (); shares : weighted share of each level in training, then of missing
    cells (for words: their inverse document frequency, then 0), one such column after the other;
    mean, low, high : of the present numbers (0 if there is none); n_missing : missing training
    cells, and left_out : rows that were left out for a missing cell (both sums of weights where
    these are counts).
    """

    names: tuple[str, ...] | None
    kinds: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    shares: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_missing: np.ndarray
    unseen: str = "missing"
    layout: str = "matrix"
    coding: str = "onehot"
    text_mode: str = "count"
    text_pattern: str = ""
    left_out: float = 0.0

    @classmethod
    def of_numbers(
        cls,
        names: tuple[str, ...] | None,
        mean: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        n_missing: np.ndarray,
        unseen: str,
        layout: str,
        coding: str,
    ) -> "Schema":
        """The schema of a checked table of numbers, without the checks that a file needs."""
        d = len(mean)
        schema = object.__new__(cls)
        schema.__dict__.update(
            names=names, kinds=(NUMBER,) * d, levels=((),) * d, shares=np.empty(0), mean=mean,
            low=low, high=high, n_missing=n_missing, unseen=unseen, layout=layout, coding=coding,
            text_mode="count", text_pattern="", left_out=0.0, plain=bool(not n_missing.any()),
        )  # fmt: skip
        return schema

    def __post_init__(self) -> None:
        """A schema may come from a file: whatever does not fit together is refused here."""
        self._check_types()
        d, filled = len(self.kinds), [levels for levels in self.levels if levels]
        widths = [len(levels) + 1 for levels in filled]
        sizes = {len(self.levels), len(self.mean), len(self.low), len(self.high)}
        sizes |= {len(self.n_missing)} | ({len(self.names)} if self.names is not None else set())
        if sizes != {d} or len(self.shares) != sum(widths):
            raise DataError("a schema's parts disagree about the number of columns")
        if not {NUMBER, CATEGORICAL, DATETIME, TEXT}.issuperset(self.kinds):
            raise DataError("a schema names an unknown kind of column")
        own = [
            levels for kind, levels in zip(self.kinds, self.levels) if kind in (CATEGORICAL, TEXT)
        ]
        if len(own) != len(filled) or not all(own):
            raise DataError("a schema has levels where there are none, or none where there are")
        facts = (self.mean, self.shares)
        counts = np.append(self.n_missing, self.left_out)
        if not all(np.isfinite(fact).all() for fact in (*facts, counts)) or (counts < 0).any():
            raise DataError("a schema's means, shares or counts are impossible")
        if any(len(set(levels)) < len(levels) for levels in filled):
            raise DataError("a schema repeats a level")
        if self.names is not None and len(set(self.names)) < d:
            raise DataError("a schema repeats the name of a column")
        _ = self.plain  # kept from the start: predictions write nothing

    def _check_types(self) -> None:
        sequences = (self.kinds, self.levels, () if self.names is None else self.names)
        arrays = (self.shares, self.mean, self.low, self.high, self.n_missing)
        if not all(
            isinstance(part, np.ndarray) and part.dtype == np.float64 and part.ndim == 1
            for part in arrays
        ):
            raise DataError("a schema's facts must be vectors of numbers")
        if not isinstance(self.left_out, float):
            raise DataError("a schema's number of rows left out must be a number")
        # Types first: tables may have many thousand columns, of few types.
        if not all(issubclass(kind, tuple) for kind in {*map(type, (*sequences, *self.levels))}):
            raise DataError("a schema's names, kinds and levels must be tuples")
        if not all(issubclass(kind, str) for kind in {*map(type, (*sequences[0], *sequences[2]))}):
            raise DataError("a schema's names and kinds must be words")
        chosen = (self.unseen, self.layout, self.coding, self.text_mode)
        if any(choice not in known for choice, known in zip(chosen, _CHOICES)):
            raise DataError("a schema names an unknown layout or rule")

    @property
    def n_columns(self) -> int:
        return len(self.kinds)

    def name(self, j: int) -> str:
        """The user's name of column j."""
        return self.names[j] if self.names is not None else f"x{j}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The user's column names; x0, x1, ... for arrays."""
        return (
            self.names if self.names is not None else tuple(f"x{j}" for j in range(self.n_columns))
        )

    @cached_property
    def plain(self) -> bool:
        """True if every column is a number that was never missing in training: X is its matrix."""
        return set(self.kinds) <= {NUMBER, DATETIME} and not self.n_missing.any()

    @property
    def n_levels(self) -> np.ndarray:
        """Levels per column, 0 for numbers (int32)."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int32)

    def level_shares(self, j: int) -> np.ndarray:
        """Training shares of column j's levels, then of missing cells."""
        start = sum(len(levels) + 1 for levels in self.levels[:j] if levels)
        return self.shares[start : start + len(self.levels[j]) + 1]

    # Terms: the columns of the encoded matrix ---------------------------------------------------

    def blocks(self) -> list[tuple[int, str, Any]]:
        """The encoded columns in order, each (user column, role, level).

        Roles: "value", "indicator" of a missing number or text, "level", "missing" level, "word".
        """
        out: list[tuple[int, str, Any]] = []
        for j, levels in enumerate(self.levels):
            if self.kinds[j] == TEXT:
                out += [(j, "word", word) for word in levels]
                out += [(j, "indicator", None)] * bool(self.n_missing[j])
                continue
            if self.kinds[j] != CATEGORICAL:
                out.append((j, "value", None))
                if self.n_missing[j] > 0 and not self._empty(j):
                    out.append((j, "indicator", None))
                continue
            named = [(j, "level", level) for level in levels]
            if self.n_missing[j]:
                named.append((j, "missing", None))
            # A constant categorical column keeps its one term, so that no column ever vanishes.
            out += named[1:] if self.coding == "reference" and len(named) > 1 else named
        return out

    @property
    def measured(self) -> np.ndarray:
        """Which encoded columns are numbers in a unit of their own; levels, flags and words are not."""
        return np.array([role == "value" for _, role, _ in self.blocks()], dtype=bool)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the encoded columns: `age`, `age missing`, `sex=male`, `note:free`."""
        if self.plain or self.layout == "codes":
            return self.columns
        labels = {
            "value": "{0}",
            "indicator": "{0} missing",
            "level": "{0}={1}",
            "missing": "{0} missing",
            "word": "{0}:{1}",
        }
        return _unique(
            [labels[role].format(self.name(j), level) for j, role, level in self.blocks()]
        )

    @property
    def owner(self) -> np.ndarray:
        """User column of each encoded column (int32)."""
        if self.layout == "codes" or self.plain:
            return np.arange(self.n_columns, dtype=np.int32)
        return np.array([j for j, _, _ in self.blocks()], dtype=np.int32)

    def units(self, extreme: int) -> np.ndarray:
        """Exponents of the encoded columns' sizes if one of them is beyond 2**extreme, else 0."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        if not self.plain:
            size = np.array([size[j] if role == "value" else 1.0 for j, role, _ in self.blocks()])
        e = np.frexp(size)[1].astype(np.int64)
        return e if (np.abs(e) > extreme).any() else np.zeros_like(e)

    # Applying it ----------------------------------------------------------------------------------

    def align(self, table: RawTable, owner: str) -> RawTable:
        """The new table with the training columns in training order."""
        if self.names is None or table.names is None:
            if table.n_columns != self.n_columns:
                raise DataError(
                    f"X has {table.n_columns} features, but {owner} is expecting "
                    f"{self.n_columns} features as input"
                )
            return table
        if table.names == self.names:
            return table
        self.check_names(set(table.names), owner)
        where = {name: j for j, name in enumerate(table.names)}
        return table.select([where[name] for name in self.names])

    def check_names(self, given: set[str], owner: str) -> None:
        known = set(self.names or ())
        extra, absent = sorted(given - known), sorted(known - given)
        if not extra and not absent:
            return
        parts = ["The feature names should match those that were passed during fit."]
        for title, names in (
            ("Feature names unseen at fit time:", extra),
            ("Feature names seen at fit time, yet now missing:", absent),
        ):
            parts += [title, *(f"- {n}" for n in names[:5])] if names else []
            parts += [f"- ... and {len(names) - 5} more"] * (len(names) > 5)
        raise DataError("\n".join(parts) + f"\n({owner} was fitted on {self.n_columns} columns.)")

    def raw(self, table: RawTable) -> list[RawColumn]:
        """The aligned table as columns of the training kinds."""
        strict = self.names is not None and table.names is not None
        return [self.as_trained(j, c, strict) for j, c in enumerate(table.as_columns())]

    def as_trained(self, j: int, column: RawColumn, strict: bool) -> RawColumn:
        """Column j in its training kind; `strict`: a date is not a number."""
        if column.kind in (CATEGORICAL, TEXT) and self.kinds[j] == NUMBER and self._empty(j):
            return RawColumn(column.name, NUMBER, np.full(len(column.values), np.nan))
        return as_kind(column, self.kinds[j], self.name(j), strict)

    def _empty(self, j: int) -> bool:
        """Whether column j had no cell in training, so that its kind is unknown."""
        return bool(self.low[j] > self.high[j])

    def level_codes(self, columns: list[RawColumn], quiet: bool = False) -> dict[int, np.ndarray]:
        """Codes of the categorical columns: 0..L-1, -1 missing, -2 unseen (warned of once)."""
        codes, unseen = {}, []
        for j, column in enumerate(columns):
            if self.kinds[j] != CATEGORICAL:
                continue
            where = self._positions(j)
            lookup = np.array([*(where.get(v, -2) for v in column.levels), -1], dtype=np.int32)
            codes[j] = lookup[column.values]
            strange = np.flatnonzero(codes[j] == -2)
            if strange.size:
                unseen.append(
                    (self.name(j), strange.size, column.levels[column.values[strange[0]]])
                )
        if unseen and not quiet:
            self._report_unseen(unseen)
        return codes

    def unknown_cells(self, table: RawTable) -> dict[int, np.ndarray]:
        """Rows of an aligned table with a level, or a missing value, that training did not have."""
        codes = self.level_codes(self.raw(table), quiet=True)
        return {
            j: np.flatnonzero((own == -2) | ((own == -1) & (self.n_missing[j] == 0)))
            for j, own in codes.items()
        }

    def _positions(self, j: int) -> dict[Any, int]:
        """Codes by level; computed once, because that takes as long for one row as for a table."""
        cache = self.__dict__.setdefault("_cache", {})
        if j not in cache:
            cache[j] = {level: k for k, level in enumerate(self.levels[j])}
        return cache[j]

    def _report_unseen(self, unseen: list[tuple[str, int, Any]]) -> None:
        where = "; ".join(f"column {n!r}: {count} cell(s), e.g. {v!r}" for n, count, v in unseen)
        if self.unseen == "error":
            raise DataError(f"levels that were not seen in training: {where}.")
        warn(
            f"levels that were not seen in training count as missing: {where}.", UnseenLevelWarning
        )


def _unique(names: list[str]) -> tuple[str, ...]:
    """Each name once: a column `a=y` beside the level y of column `a` makes a second `a=y (2)`."""
    if len(set(names)) == len(names):
        return tuple(names)
    out: dict[str, None] = {}
    taken = set(names)
    for name in names:
        candidate, count = name, 1
        while candidate in out or (count > 1 and candidate in taken):
            count += 1
            candidate = f"{name} ({count})"
        out[candidate] = None
    return tuple(out)
