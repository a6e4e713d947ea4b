"""Sorting and reordering arrays in scratch files: every array is read and written from start to end.

Below a ceiling, random access to an array that is larger than memory would read it again for every row.
Here rows are first distributed to buckets that fit into memory (`_distribute`), then put into place
within each bucket. Without a ceiling these are NumPy's own functions, with equal results.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pellucid.parallel.memory import copy_into, get_memory, is_limited

PART = 64  # a bucket takes this part of the ceiling


def argsort(keys: np.ndarray, ties: np.ndarray | None = None) -> np.ndarray:
    """The stable order of uint64 keys, equal ones by `ties`."""
    if not is_limited():
        return _order(keys, ties)
    bits = max(len(keys) // _rows_in_memory(32), 1).bit_length()
    shift = np.uint64(64 - bits)
    columns = [keys, np.arange(len(keys))] + ([] if ties is None else [ties])
    parts, counts = _distribute(columns, lambda own: (own >> shift).astype(np.intp), 2**bits)
    out, end = np.empty(len(keys), dtype=np.int64), 0
    for count in counts.sum(axis=0):
        start, end = end, end + int(count)
        own, rows, *rest = (part[start:end] for part in parts)
        copy_into(out[start:end], rows[_order(own, *rest)])
    return out


def _order(keys: np.ndarray, ties: np.ndarray | None = None) -> np.ndarray:
    if ties is not None:
        return np.lexsort((ties, keys))
    # An unstable sort is several times as fast, and gives the same order if keys are distinct.
    order = np.argsort(keys)
    found = keys[order]
    if (found[1:] != found[:-1]).all():
        return order
    return np.argsort(keys, kind="stable")


def take(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """X[rows] for row numbers or a mask."""
    if not is_limited() or rows.dtype == bool:
        return X[rows]
    out = np.empty((len(rows), *X.shape[1:]), dtype=X.dtype)
    gather(X, rows, out)
    return out


def gather(X: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """out[:] = X[rows] below a ceiling.

    1. The numbers in `rows` are distributed to buckets of consecutive rows of X.
    2. Each bucket of X is read once; its rows go to the part of `out` where they belong.
    3. Each part of `out` is put into order in memory.
    """
    part = _rows_in_memory(max(X[:1].nbytes, 8))
    n_buckets = -(-len(X) // part)
    if n_buckets <= 1 or not len(rows):
        out[:] = X[rows]
        return
    (wanted,), counts = _distribute([rows], lambda own: own // part, n_buckets, part)
    places = counts.cumsum(axis=1) - counts  # of a bucket's rows within each part of out
    end = 0
    for s in range(n_buckets):
        bucket = _in_memory(X[s * part : (s + 1) * part])
        start, end = end, end + int(counts[:, s].sum())
        found = bucket[wanted[start:end] - s * part]
        ends = counts[:, s].cumsum()
        for d in np.flatnonzero(counts[:, s]).tolist():
            first = d * part + places[d, s]
            values = found[ends[d] - counts[d, s] : ends[d]]
            copy_into(out[first : first + len(values)], values)
    for own in (slice(start, start + part) for start in range(0, len(rows), part)):
        block = _in_memory(out[own])
        ordered = np.empty_like(block)
        ordered[_order(_narrow(rows[own] // part, n_buckets))] = block
        copy_into(out[own], ordered)


def scatter(out: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """out[places] = values; every place occurs at most once."""
    part = _rows_in_memory(16) if is_limited() else len(out)
    if len(out) <= part:
        out[places] = values
        return
    n_buckets = -(-len(out) // part)
    (where, what), counts = _distribute([places, values], lambda own: own // part, n_buckets)
    end = 0
    for s, count in enumerate(counts.sum(axis=0)):
        start, end = end, end + int(count)
        block = _in_memory(out[s * part : (s + 1) * part])
        block[where[start:end] - s * part] = what[start:end]
        copy_into(out[s * part : (s + 1) * part], block)


def _narrow(buckets: np.ndarray, n_buckets: int) -> np.ndarray:
    """Numbers of buckets, in 16 bits where they fit: those are sorted without comparisons."""
    return buckets.astype(np.uint16) if n_buckets <= 2**16 else buckets


def _rows_in_memory(row_bytes: int) -> int:
    return max(get_memory() // PART // row_bytes, 1024)


def _in_memory(X: np.ndarray) -> np.ndarray:
    block = np.empty(X.shape, dtype=X.dtype)
    copy_into(block, X)
    return block


def _distribute(
    columns: Sequence[np.ndarray],
    bucket_of: Callable[[np.ndarray], np.ndarray],
    n_buckets: int,
    rows: int | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """The columns ordered by bucket (of the first column), in their old order within each, and how many
    rows every block of `rows` rows gives to each bucket.
    """
    n, rows = len(columns[0]), rows or _rows_in_memory(32)
    blocks = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
    counts = np.array([np.bincount(bucket_of(columns[0][b]), minlength=n_buckets) for b in blocks])
    total = counts.sum(axis=0)
    cursors = np.cumsum(total) - total
    out = [np.empty(n, dtype=column.dtype) for column in columns]
    for block, own in zip(blocks, counts):
        order = _order(_narrow(bucket_of(columns[0][block]), n_buckets))
        ends = own.cumsum()
        for column, target in zip(columns, out):
            values = column[block][order]
            for s in np.flatnonzero(own):
                copy_into(
                    target[cursors[s] : cursors[s] + own[s]], values[ends[s] - own[s] : ends[s]]
                )
        cursors += own
    return out, counts
