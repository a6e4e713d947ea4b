"""Starting centres when several processes share the rows: the seeds that one process would draw.

Rows are drawn in the order of their hashes, in which one process has them all. A process knows the
sums of its own rows up to any hash; so the row that a random number points at is found by narrowing down
its hash, four bits in each exchange. No process sees rows of others but the candidates.
"""

from operator import add

import numpy as np

from pellucid import parallel
from pellucid.cluster.row_distances import RowTable
from pellucid.parallel.shard import Shard

DIGIT = 4  # bits of the hash that one exchange finds


def plus_plus(
    here: Shard, table: RowTable, hashes: np.ndarray, weights: np.ndarray, k: int,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Greedy k-means++ as in `seeding.plus_plus`: the seeds (k, d). `hashes` ascend."""
    n_trials = 2 + int(np.log(k))
    seeds = np.empty((k, table.d))
    seeds[0] = _drawn(here, table, hashes, np.cumsum(weights), rng.random(1))[0]
    closest, no_labels = np.full(table.n, np.inf), np.zeros(table.n, dtype=np.int32)
    for c in range(1, k):
        nearest = table.own_distances(seeds[c - 1 : c], no_labels)
        closest = np.minimum(closest, nearest, out=nearest)
        cumulative = np.cumsum(weights * closest)
        if not parallel.everywhere(float(cumulative[-1]), add) > 0.0:
            seeds[c:] = seeds[0]
            break
        candidates = _drawn(here, table, hashes, cumulative, rng.random(n_trials))
        seeds[c] = candidates[np.argmin(table.trials(candidates, weights, closest))]
    return seeds


def _drawn(
    here: Shard, table: RowTable, hashes: np.ndarray, cumulative: np.ndarray, uniform: np.ndarray
) -> np.ndarray:
    """Rows of all processes, drawn with probability proportional to increments of the sums."""
    goals = uniform * parallel.everywhere(float(cumulative[-1]), add)
    below = np.append(0.0, cumulative)
    found = np.zeros(len(uniform), dtype=np.uint64)
    for shift in range(64 - DIGIT, -1, -DIGIT):
        digits = np.arange(2**DIGIT, dtype=np.uint64) << np.uint64(shift)
        ends = found[:, None] | digits | np.uint64(2**shift - 1)
        own = below[np.searchsorted(hashes, ends, side="right")]
        sums = parallel.everywhere(own, np.add)
        # Rounding may leave a goal above every sum: then the last row that adds something.
        beyond = (sums > goals[:, None]) | (sums >= sums[:, -1:])
        found |= digits[np.argmax(beyond, axis=1)]
    return _rows(here, table, hashes, found)


def _rows(here: Shard, table: RowTable, hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rows with these hashes; equal rows may be in several processes."""
    places = np.searchsorted(hashes, wanted)
    own = {
        j: np.asarray(table.rows(slice(i, i + 1)))[0]
        for j, i in enumerate(places.tolist())
        if i < len(hashes) and hashes[i] == wanted[j]
    }
    out = np.empty((len(wanted), table.d))
    for held in reversed(here.gather("candidates", own)):
        for j, row in held.items():
            out[j] = row
    return out
