"""`Schema`: what a model knows of the table it was trained on, and the one rule for new tables.

Learned in `fit` from the training rows, applied in `predict`. It holds plain arrays and tuples
only, so it is saved with the model. Columns are matched by name where both tables have names.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.containers import Intake, RawColumn
from pellucid.data.kinds import as_kind
from pellucid.data.text import Text, vocabulary
from pellucid.errors import DataError, UnseenLevelWarning, warn

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
    cells (sum of weights where these are counts).
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

    def __post_init__(self) -> None:
        """A schema may come from a file: whatever does not fit together is refused here."""
        self._check_types()
        d = len(self.kinds)
        widths = [len(levels) + 1 for levels in self.levels if levels]
        sizes = {len(self.levels), len(self.mean), len(self.low), len(self.high)}
        sizes |= {len(self.n_missing)} | ({len(self.names)} if self.names is not None else set())
        if sizes != {d} or len(self.shares) != sum(widths):
            raise DataError("a schema's parts disagree about the number of columns")
        if not {NUMBER, CATEGORICAL, DATETIME, TEXT}.issuperset(self.kinds):
            raise DataError("a schema names an unknown kind of column")
        if any(
            (kind in (CATEGORICAL, TEXT)) != bool(own) for kind, own in zip(self.kinds, self.levels)
        ):
            raise DataError("a schema has levels where there are none, or none where there are")
        if any(len(set(levels)) < len(levels) for levels in self.levels):
            raise DataError("a schema repeats a level")
        if self.names is not None and len(set(self.names)) < d:
            raise DataError("a schema repeats the name of a column")

    def _check_types(self) -> None:
        sequences = (self.kinds, self.levels, () if self.names is None else self.names)
        arrays = (self.shares, self.mean, self.low, self.high, self.n_missing)
        if not all(
            isinstance(part, np.ndarray) and part.dtype == np.float64 and part.ndim == 1
            for part in arrays
        ):
            raise DataError("a schema's facts must be vectors of numbers")
        if not all(isinstance(part, tuple) for part in (*sequences, *self.levels)):
            raise DataError("a schema's names, kinds and levels must be tuples")
        if not all(isinstance(name, str) for name in (*sequences[0], *sequences[2])):
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

    @property
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

        Roles: "value", "indicator" of a missing number, "level", "missing" level, "word".
        """
        out: list[tuple[int, str, Any]] = []
        for j, levels in enumerate(self.levels):
            if self.kinds[j] == TEXT:
                out += [(j, "word", word) for word in levels]
                continue
            if self.kinds[j] != CATEGORICAL:
                out.append((j, "value", None))
                if self.n_missing[j] > 0 and self.low[j] <= self.high[j]:
                    out.append((j, "indicator", None))
                continue
            named = [(j, "level", level) for level in levels]
            if self.n_missing[j]:
                named.append((j, "missing", None))
            # A constant categorical column keeps its one term, so that no column ever vanishes.
            out += named[1:] if self.coding == "reference" and len(named) > 1 else named
        return out

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the encoded columns: `age`, `age missing`, `sex=male`, `note:free`."""
        if self.plain:
            return self.columns
        labels = {
            "value": "{0}",
            "indicator": "{0} missing",
            "level": "{0}={1}",
            "missing": "{0} missing",
            "word": "{0}:{1}",
        }
        return tuple(labels[role].format(self.name(j), level) for j, role, level in self.blocks())

    @property
    def owner(self) -> np.ndarray:
        """User column of each encoded column (int32)."""
        if self.layout == "codes" or self.plain:
            return np.arange(self.n_columns, dtype=np.int32)
        return np.array([j for j, _, _ in self.blocks()], dtype=np.int32)

    # Applying it ----------------------------------------------------------------------------------

    def align(self, table: Intake, owner: str) -> Intake:
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
        self._check_names(set(table.names), owner)
        where = {name: j for j, name in enumerate(table.names)}
        return table.select([where[name] for name in self.names])

    def _check_names(self, given: set[str], owner: str) -> None:
        known = set(self.names or ())
        extra, absent = sorted(given - known), sorted(known - given)
        if not extra and not absent:
            return
        parts = ["The feature names should match those that were passed during fit."]
        if extra:
            parts += ["Feature names unseen at fit time:", *(f"- {n}" for n in extra[:5])]
            parts += [f"- ... and {len(extra) - 5} more"] * (len(extra) > 5)
        if absent:
            parts += [
                "Feature names seen at fit time, yet now missing:",
                *(f"- {n}" for n in absent[:5]),
            ]
            parts += [f"- ... and {len(absent) - 5} more"] * (len(absent) > 5)
        raise DataError("\n".join(parts) + f"\n({owner} was fitted on {self.n_columns} columns.)")

    def raw(self, table: Intake) -> list[RawColumn]:
        """The aligned table as columns of the training kinds."""
        columns = table.as_columns()
        return [as_kind(c, self.kinds[j], self.name(j)) for j, c in enumerate(columns)]

    def level_codes(self, columns: list[RawColumn]) -> dict[int, np.ndarray]:
        """Codes of the categorical columns: 0..L-1, -1 missing, -2 unseen (warned of once)."""
        codes, unseen = {}, []
        for j, column in enumerate(columns):
            if self.kinds[j] != CATEGORICAL:
                continue
            where = {level: k for k, level in enumerate(self.levels[j])}
            lookup = np.array([*(where.get(v, -2) for v in column.levels), -1], dtype=np.int32)
            codes[j] = lookup[column.values]
            strange = np.flatnonzero(codes[j] == -2)
            if strange.size:
                unseen.append(
                    (self.name(j), strange.size, column.levels[column.values[strange[0]]])
                )
        if unseen:
            self._report_unseen(unseen)
        return codes

    def _report_unseen(self, unseen: list[tuple[str, int, Any]]) -> None:
        where = "; ".join(f"column {n!r}: {count} cell(s), e.g. {v!r}" for n, count, v in unseen)
        if self.unseen == "error":
            raise DataError(f"levels that were not seen in training: {where}.")
        warn(
            f"levels that were not seen in training count as missing: {where}.",
            UnseenLevelWarning,
        )


def learn(table: Intake, weights: np.ndarray, options: Any, layout: str, coding: str) -> Schema:
    """The schema of a training table; rows of weight 0 must have been removed."""
    if table.dense is not None and not options.kinds:
        return _learn_dense(table, weights, options, layout, coding)
    if table.sparse is not None:
        return _learn_sparse(table, options, layout, coding)
    columns = table.as_columns(_named_kinds(table, options.kinds))
    words = (options.text if options.text is not None else Text()).check()
    learned = [_learn_column(c, weights, words) for c in columns]
    shares = [c["shares"] for c in learned if c["levels"]]
    return Schema(
        names=table.names,
        kinds=tuple(c["kind"] for c in learned),
        levels=tuple(c["levels"] for c in learned),
        shares=np.concatenate(shares) if shares else np.empty(0),
        **{
            k: np.array([c[k] for c in learned], float)
            for k in ("mean", "low", "high", "n_missing")
        },
        unseen=options.unseen,
        layout=layout,
        coding=coding,
        text_mode=words.mode,
        text_pattern=words.pattern,
    )


def _named_kinds(table: Intake, kinds: Any) -> dict[int, str]:
    """Kinds by position; an unknown column is an error that lists what there is."""
    names = table.names or tuple(f"x{j}" for j in range(table.n_columns))
    out = {}
    for column, kind in (kinds or {}).items():
        if isinstance(column, str) and column in names:
            out[names.index(column)] = kind
        elif isinstance(column, int) and 0 <= column < len(names):
            out[column] = kind
        else:
            raise DataError(f"Table(kinds=...) names column {column!r}, which X does not have.")
    return out


def _learn_dense(
    table: Intake, weights: np.ndarray, options: Any, layout: str, coding: str
) -> Schema:
    from pellucid.data.scan import column_facts

    d = table.n_columns
    mean, low, high, n_missing = column_facts(table, weights)
    return Schema(
        table.names, (NUMBER,) * d, ((),) * d, np.empty(0), mean, low, high, n_missing,
        options.unseen, layout, coding,
    )  # fmt: skip


def _learn_sparse(table: Intake, options: Any, layout: str, coding: str) -> Schema:
    from pellucid.data.scan import check_finite

    check_finite(table.sparse.data, table, allow_nan=False)
    d, zeros = table.n_columns, np.zeros(table.n_columns)
    return Schema(
        table.names, (NUMBER,) * d, ((),) * d, np.empty(0), zeros, zeros, zeros, zeros,
        options.unseen, layout, coding,
    )  # fmt: skip


def _learn_words(column: RawColumn, weights: np.ndarray, options: Text) -> dict[str, Any]:
    words, frequency = vocabulary(column.values, weights, options)
    if not words:
        raise DataError(
            f"text column {column.name!r} has no words left: loosen min_df, max_df or stop_words of "
            "Table(text=Text(...)), or drop the column."
        )
    idf = np.log((1 + weights.sum()) / (1 + frequency)) + 1
    missing = np.array([cell is None for cell in column.values])
    return {"kind": TEXT, "levels": words, "shares": np.append(idf, 0.0), "mean": 0.0, "low": 0.0,
            "high": 0.0, "n_missing": float(weights[missing].sum())}  # fmt: skip


def _learn_column(column: RawColumn, weights: np.ndarray, words: Text) -> dict[str, Any]:
    if column.kind == TEXT:
        return _learn_words(column, weights, words)
    if column.kind == CATEGORICAL:
        return _learn_levels(column, weights)
    from pellucid.data.scan import check_column, mean_of

    values = check_column(column)
    present = ~np.isnan(values)
    facts = {"kind": column.kind, "levels": (), "n_missing": float(weights[~present].sum())}
    if not present.any():
        return facts | {"mean": 0.0, "low": 1.0, "high": 0.0}
    shown = values[present]
    mean = mean_of(shown, weights[present])
    return facts | {"mean": mean, "low": float(shown.min()), "high": float(shown.max())}


def _learn_levels(column: RawColumn, weights: np.ndarray) -> dict[str, Any]:
    """Levels that occur: in the dtype's order if it has one, else sorted."""
    sums = np.bincount(column.values + 1, weights, minlength=len(column.levels) + 1)
    seen = [k for k in range(len(column.levels)) if sums[k + 1] > 0]
    if not column.ordered:
        seen.sort(key=lambda k: level_key(column.levels[k]))
    shares = np.array([*(sums[k + 1] for k in seen), sums[0]]) / sums.sum()
    levels = tuple(column.levels[k] for k in seen)
    if not levels:  # nothing but missing cells: a number that is always missing
        return {"kind": NUMBER, "levels": (), "mean": 0.0, "low": 1.0, "high": 0.0,
                "n_missing": float(sums[0])}  # fmt: skip
    return {"kind": CATEGORICAL, "levels": levels, "shares": shares, "mean": 0.0, "low": 0.0,
            "high": 0.0, "n_missing": float(sums[0])}  # fmt: skip


def level_key(level: Any) -> tuple[int, Any]:
    """Sorts numbers before text, each by its own order."""
    return (0, level) if isinstance(level, int | float) else (1, str(level))
