"""Work over fixed blocks or tasks: the only place that handles threads, BLAS limits and seeds.

Invariant: what is computed depends on the tasks and their order alone. Blocks are a function of the
table's shape, results are combined in block order, BLAS runs on one thread inside, and a random
stream depends on (seed, task id): so bits are equal for any number of threads.
"""

from pellucid.parallel.blocks import block_rows, row_blocks
from pellucid.parallel.memory import get_memory, set_memory
from pellucid.parallel.pool import count_rows, each, interruptible, map, reduce, sum_rows
from pellucid.parallel.seeds import seed_sequence, stream
from pellucid.parallel.shard import (
    added,
    all_rows,
    any_row,
    everywhere,
    largest,
    of_first_rows,
    total_rows,
)
from pellucid.parallel.stop import StopFlag
from pellucid.parallel.threads import get_threads, one_blas_thread, set_threads, using

__all__ = [
    "StopFlag",
    "added",
    "all_rows",
    "any_row",
    "block_rows",
    "count_rows",
    "each",
    "everywhere",
    "get_memory",
    "get_threads",
    "interruptible",
    "largest",
    "map",
    "of_first_rows",
    "one_blas_thread",
    "reduce",
    "row_blocks",
    "seed_sequence",
    "set_memory",
    "set_threads",
    "stream",
    "sum_rows",
    "total_rows",
    "using",
]
