"""Row blocks: a block of rows fits the cache, and its size depends on the number of columns alone.

Invariant: the same (n, p) always gives the same blocks, whatever the number of threads.
"""


def block_rows(p: int) -> int:
    """Rows in a block of a table with `p` columns: the power of two near 2**18 / p, in 2**[8, 16].

    >>> block_rows(1), block_rows(50), block_rows(100_000)
    (65536, 4096, 256)
    """
    exponent = (2**18 // max(p, 1)).bit_length() - 1
    return 2 ** min(max(exponent, 8), 16)


def row_blocks(n: int, p: int) -> list[slice]:
    """The slices that cut `n` rows of `p` columns into blocks; one empty slice if `n` is 0."""
    rows = block_rows(p)
    return [slice(start, min(start + rows, n)) for start in range(0, max(n, 1), rows)]
