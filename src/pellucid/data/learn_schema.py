"""Learning a `Schema` from the rows of positive weight: kinds, levels, words, means and ranges."""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.column_stats import column_facts, sparse_facts
from pellucid.data.intake import RawTable
from pellucid.data.kinds import as_kind
from pellucid.data.raw_column import RawColumn
from pellucid.data.schema import CATEGORICAL, NUMBER, TEXT, Schema
from pellucid.data.text import Text, vocabulary
from pellucid.errors import DataError, shown
from pellucid.parallel.shard import shard

# Free text is long and mostly distinct: mean words a cell, share of distinct cells, enough cells.
TEXT_WORDS, TEXT_DISTINCT, TEXT_ROWS = 4.0, 0.5, 20


def learn(
    table: RawTable,
    weights: np.ndarray,
    options: Any,
    layout: str,
    coding: str,
    declared: bool = False,
) -> Schema:
    """The schema of a training table; rows of weight 0 must have been removed.

    `declared`: keep all levels that the dtype declares, not only those that occur, for a first
    batch that others will follow.
    """
    if table.columns is None:
        return _learn_numbers(table, weights, options, layout, coding)
    columns = table.as_columns()
    words = (options.text if options.text is not None else Text()).check()
    learned = [learn_column(kind_of(c, weights), weights, words, declared) for c in columns]
    for column, found in zip(columns, learned):
        if found["kind"] == TEXT and not found["levels"]:
            raise DataError(
                f"text column {column.name!r} has no words left: loosen min_df, max_df, stop_words "
                "or pattern of Table(text=Text(...)) (the default pattern needs words of two letters "
                "at least), or drop the column."
            )
    shares = [c["shares"] for c in learned if c["levels"]]
    facts: dict[str, Any] = {
        k: np.array([c[k] for c in learned], float) for k in ("mean", "low", "high", "n_missing")
    }
    return Schema(
        names=table.names,
        kinds=tuple(c["kind"] for c in learned),
        levels=tuple(c["levels"] for c in learned),
        shares=np.concatenate(shares) if shares else np.empty(0),
        **facts,
        unseen=options.unseen,
        layout=layout,
        coding=coding,
        text_mode=words.mode,
        text_pattern=words.pattern,
    )


def shared_levels(table: RawTable) -> RawTable:
    """The table with the levels of all processes that share the rows, in the order of the rows."""
    if shard() is None or table.columns is None:
        return table
    levels = [column.levels for column in table.columns]
    found = parallel.everywhere(
        levels, lambda a, b: [tuple(dict.fromkeys(k + l)) for k, l in zip(a, b)]
    )
    return replace(table, columns=[_with_levels(c, new) for c, new in zip(table.columns, found)])


def _with_levels(column: RawColumn, levels: tuple[Any, ...]) -> RawColumn:
    if column.kind != CATEGORICAL:
        return column
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([*(place[level] for level in column.levels), -1], dtype=column.values.dtype)
    return replace(column, levels=levels, values=codes[column.values])


def named_kinds(table: RawTable, kinds: Any) -> dict[int, str]:
    """Kinds by position; an unknown column is an error that lists what there is."""
    d = table.n_columns
    names = table.names or tuple(f"x{j}" for j in range(d))
    out = {}
    for column, kind in (kinds or {}).items():
        if isinstance(column, str) and column in names:
            out[names.index(column)] = kind
        elif type(column) is not bool and isinstance(column, int | np.integer) and 0 <= column < d:
            out[int(column)] = kind
        else:
            raise DataError(
                f"Table(kinds=...) names column {shown(column)}, which X does not have."
            )
    return out


def _learn_numbers(
    table: RawTable, weights: np.ndarray, options: Any, layout: str, coding: str
) -> Schema:
    if table.sparse is not None:
        mean, low, high, n_missing = sparse_facts(table, weights)
    else:
        mean, low, high, n_missing = column_facts(table, weights)
    return Schema.of_numbers(
        table.names, mean, low, high, n_missing, options.unseen, layout, coding
    )


def kind_of(column: RawColumn, weights: np.ndarray) -> RawColumn:
    """Strings are labels, or text if they are long and mostly distinct (weights = repetition)."""
    if not column.free or column.kind != CATEGORICAL:
        return column
    present = column.values >= 0
    seen = parallel.everywhere(np.unique(column.values[present]), np.union1d)
    levels = tuple(column.levels[k] for k in seen)
    if not is_text(levels, float(parallel.sum_rows(np.where(present, weights, 0.0)))):
        return column
    if shard() is not None:
        raise DataError(
            f"column {column.name!r} holds free text, which Dask workers cannot learn together. Leave "
            f"it out with pellucid.scan(frame, features=[...]), make it a category with "
            f"Table(kinds={{{column.name!r}: 'categorical'}}), or fit on one machine."
        )
    return as_kind(column, TEXT, column.name)


def is_text(levels: tuple[str, ...], total: float) -> bool:
    """Whether these distinct strings, in cells of weight `total`, are text and not labels."""
    if total < TEXT_ROWS or len(levels) < TEXT_DISTINCT * total:
        return False
    return sum(level.count(" ") for level in levels) / len(levels) + 1 >= TEXT_WORDS


def _learn_words(column: RawColumn, weights: np.ndarray, options: Text) -> dict[str, Any]:
    missing = np.array([cell is None for cell in column.values])
    if missing.all():
        return _nothing(weights.sum())
    words, frequency = vocabulary(column.values, weights, options)
    idf = np.log((1 + weights.sum()) / (1 + frequency)) + 1
    return _facts(TEXT, float(weights[missing].sum()), words, np.append(idf, 0.0))


def learn_column(
    column: RawColumn, weights: np.ndarray, words: Text, declared: bool = False
) -> dict[str, Any]:
    """Kind, levels or words with their shares, mean, range and missing weight of one column."""
    if column.kind == TEXT:
        return _learn_words(column, weights, words)
    if column.kind == CATEGORICAL:
        return _learn_levels(column, weights, declared)
    single = RawTable(len(weights), (column.name,), dense=column.values[:, None])
    mean, low, high, n_missing = (float(fact[0]) for fact in column_facts(single, weights))
    return _facts(column.kind, n_missing, mean=mean, low=low, high=high)


def _learn_levels(column: RawColumn, weights: np.ndarray, declared: bool) -> dict[str, Any]:
    """Levels that occur: in the dtype's order if it has one, else sorted."""
    size = len(column.levels) + 1
    sums = parallel.count_rows(column.values + 1, weights, size)
    keep = declared and not column.free
    seen = [k for k in range(len(column.levels)) if keep or sums[k + 1] > 0]
    if not column.ordered:
        seen.sort(key=lambda k: level_key(column.levels[k]))
    shares = np.array([*(sums[k + 1] for k in seen), sums[0]]) / sums.sum()
    levels = tuple(column.levels[k] for k in seen)
    if not levels:
        return _nothing(sums[0])
    return _facts(CATEGORICAL, float(sums[0]), levels, shares)


def _nothing(weight: float) -> dict[str, Any]:
    """Nothing but missing cells: a number that is always missing."""
    return _facts(NUMBER, float(weight), low=1.0)


def _facts(
    kind: str, n_missing: float, levels: tuple[Any, ...] = (), shares: Any = (0.0,),
    mean: float = 0.0, low: float = 0.0, high: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    return {"kind": kind, "levels": levels, "shares": np.asarray(shares), "mean": mean, "low": low,
            "high": high, "n_missing": n_missing}  # fmt: skip


def level_key(level: Any) -> tuple[int, Any]:
    """Sorts numbers before text, each by its own order."""
    return (0, level) if isinstance(level, int | float) else (1, str(level))
