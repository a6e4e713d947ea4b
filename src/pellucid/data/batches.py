"""The schema of a table that comes in batches: every batch may bring missing cells, levels, words.

Invariant: the schema after all batches is the one that `learn` finds in all rows together, to
rounding. What only all rows together can show (which words are too rare, what is free text) is an
error that names what to declare.
"""

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from pellucid.data.intake import RawTable
from pellucid.data.learn_schema import is_text, learn, learn_column, level_key
from pellucid.data.raw_column import RawColumn
from pellucid.data.schema import CATEGORICAL, NUMBER, TEXT, Schema
from pellucid.data.text import Text
from pellucid.errors import DataError


def first_schema(
    table: RawTable, weights: np.ndarray, options: Any, layout: str, coding: str
) -> Schema:
    """The schema of a first batch."""
    schema = learn(table, weights, _unpruned(options), layout, coding)
    for j, kind in enumerate(schema.kinds):
        if kind == TEXT:
            _check_text(schema.name(j), schema.levels[j], j, options)
    return schema


def grown_schema(
    old: Schema, seen: float, table: RawTable, weights: np.ndarray, options: Any
) -> Schema:
    """The schema of the rows behind `old`, of weight `seen`, and of one more (aligned) batch."""
    total = float(weights.sum())
    if table.columns is None and set(old.kinds) == {NUMBER}:
        new = learn(table, weights, options, old.layout, old.coding)
        return replace(old, **_facts(old, seen, new, total))
    strict = old.names is not None and table.names is not None
    columns = [
        column if empty(old, j) else old.as_trained(j, column, strict)
        for j, column in enumerate(table.as_columns())
    ]
    words = _unpruned(options).text
    learned = [learn_column(column, weights, words) for column in columns]
    arrays: dict[str, Any] = {
        k: np.array([c[k] for c in learned], float) for k in ("mean", "low", "high")
    }
    missing = np.array([c["n_missing"] for c in learned])
    new = replace(old, kinds=(NUMBER,) * len(learned), levels=((),) * len(learned),
                  shares=np.empty(0), n_missing=missing, **arrays)  # fmt: skip
    kinds: list[str] = []
    levels: list[tuple[Any, ...]] = []
    shares: list[np.ndarray] = []
    for j, (column, batch) in enumerate(zip(columns, learned)):
        kind = batch["kind"] if empty(old, j) else old.kinds[j]
        kinds.append(kind)
        if kind not in (CATEGORICAL, TEXT):
            levels.append(())
            continue
        merge = _levels if kind == CATEGORICAL else _words
        own, share = merge(old, j, seen, column, batch, total)
        if kind == TEXT:
            _check_text(old.name(j), own, j, options)
        elif column.free and is_text(own, seen + total - old.n_missing[j] - missing[j]):
            _refuse_undeclared(old.name(j))
        levels.append(own)
        shares.append(share)
    return replace(
        old, kinds=tuple(kinds), levels=tuple(levels),
        shares=np.concatenate(shares) if shares else np.empty(0), **_facts(old, seen, new, total),
    )  # fmt: skip


def empty(schema: Schema, j: int) -> bool:
    """Whether column j held nothing but missing cells, so that its kind is not known yet."""
    return schema.kinds[j] == NUMBER and bool(schema.low[j] > schema.high[j])


def _facts(old: Schema, seen: float, new: Schema, total: float) -> dict[str, Any]:
    """Means, ranges and missing weight of both groups of rows."""
    a, b = seen - old.n_missing, total - new.n_missing
    share = np.divide(b, a + b, out=np.zeros_like(a), where=a + b > 0)
    low, high = np.minimum(old.low, new.low), np.maximum(old.high, new.high)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = old.mean * (1 - share) + new.mean * share
    only = [(new.low > new.high, old), (old.low > old.high, new)]
    for where, known in only:
        low, high = np.where(where, known.low, low), np.where(where, known.high, high)
        mean = np.where(where, known.mean, mean)
    mean = np.where(low <= high, np.clip(mean, low, np.maximum(low, high)), mean)
    return {"mean": mean, "low": low, "high": high, "n_missing": old.n_missing + new.n_missing}


def _levels(
    old: Schema, j: int, seen: float, column: RawColumn, batch: dict[str, Any], total: float
) -> tuple[tuple[Any, ...], np.ndarray]:
    """All levels, in the order of the dtype if it has them all, else sorted; and their shares."""
    counts = dict(zip(old.levels[j], old.level_shares(j) * seen)) if old.levels[j] else {}
    if batch["levels"]:
        for level, share in zip(batch["levels"], batch["shares"]):
            counts[level] = counts.get(level, 0.0) + share * total
    if len({isinstance(level, str) for level in counts}) > 1:
        first = next(level for level in batch["levels"] if level not in old.levels[j])
        raise DataError(
            f"column {old.name(j)!r} holds {first!r}, but earlier batches held "
            f"{'text' if isinstance(old.levels[j][0], str) else 'numbers'} there. Make it the same "
            "in all batches."
        )
    levels = list(counts)
    order = {level: k for k, level in enumerate(column.levels)}
    if column.ordered and set(levels) <= set(order):
        levels.sort(key=lambda level: order[level])
    elif len(levels) > len(old.levels[j]):
        levels.sort(key=level_key)
    weight = [counts[level] for level in levels]
    missing = old.n_missing[j] + batch["n_missing"]
    return tuple(levels), np.array([*weight, missing]) / (seen + total)


def _words(
    old: Schema, j: int, seen: float, column: RawColumn, batch: dict[str, Any], total: float
) -> tuple[tuple[str, ...], np.ndarray]:
    """All words, and log((1 + n) / (1 + documents)) + 1 of each."""

    def documents(words: Any, idf: np.ndarray, n: float) -> dict[str, float]:
        return dict(zip(words, (1 + n) / np.exp(idf - 1) - 1)) if len(words) else {}

    counts = documents(old.levels[j], old.level_shares(j)[:-1], seen) if old.levels[j] else {}
    for word, count in documents(batch["levels"], batch["shares"][:-1], total).items():
        counts[word] = counts.get(word, 0.0) + count
    words = tuple(sorted(counts))
    frequency = np.array([counts[word] for word in words])
    return words, np.append(np.log((1 + seen + total) / (1 + frequency)) + 1, 0.0)


def _unpruned(options: Any) -> Any:
    """The options with all words kept, however many: `_check_text` counts them."""
    text = options.text if options.text is not None else Text()
    kept = Text(**text.check().get_params() | {"max_words": None})
    out = type(options)(**options.get_params(deep=False))
    out.text = kept
    return out


def _check_text(name: str, words: tuple[str, ...], j: int, options: Any) -> None:
    """Refuse what depends on rows that are still to come."""
    if not {name, j} & set(options.kinds or {}):
        _refuse_undeclared(name)
    text = options.text if options.text is not None else Text()
    pruned = text.min_df > (0 if isinstance(text.min_df, float) else 1)
    pruned |= not (isinstance(text.max_df, float) and text.max_df == 1)
    few = text.max_words is not None and len(words) > text.max_words
    if not (pruned or few or text.mode == "tfidf"):
        return
    what = (
        "the weights of tf-idf are" if text.mode == "tfidf"
        else f"which words min_df={text.min_df} and max_df={text.max_df} leave out is" if pruned
        else f"which {text.max_words} of its {len(words)} words are the most frequent is"
    )  # fmt: skip
    raise DataError(
        f"partial_fit cannot learn the words of column {name!r}: {what} known only when all rows "
        "are. Call fit with all rows, or give Table(text=Text(max_words=None)) with mode 'count' or "
        "'binary' and without min_df and max_df."
    )


def _refuse_undeclared(name: str) -> NoReturn:
    raise DataError(
        f"column {name!r} looks like free text, but one batch cannot decide that. Declare it "
        f"before the first batch: Table(kinds={{{name!r}: 'text'}}), or 'categorical'."
    )
