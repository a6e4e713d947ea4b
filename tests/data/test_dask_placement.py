"""Where the rows of a Dask frame are fitted: mostly where they lie, and each of them once."""

from itertools import pairwise

import numpy as np
import pytest

from pellucid.data.sources.dask_placement import chosen_rows, even_parts, overlap
from pellucid.parallel.shard import GROUP, Shard

WORKERS = ["a", "b", "c", "d"]


def rows_of(runs):
    return sum(last - first for first, last in runs)


@pytest.mark.parametrize("seed", range(30))
def test_every_row_has_one_worker_and_whole_groups_stay_together(seed):
    rng = np.random.default_rng(seed)
    workers = WORKERS[: rng.integers(1, 5)]
    sizes = rng.integers(0, 3 * GROUP, rng.integers(1, 40)).tolist()
    sizes[0] += 1
    holders = [(workers[rng.integers(len(workers))],) for _ in sizes]
    chosen = chosen_rows(sizes, holders, workers)
    runs = sorted(run for _, own in chosen for run in own)
    assert runs[0][0] == 0 and runs[-1][1] == sum(sizes)
    assert all(a[1] == b[0] for a, b in pairwise(runs))
    assert all(first % GROUP == 0 for first, _ in runs)
    assert [own[0] for _, own in chosen] == sorted(own[0] for _, own in chosen)
    units = -(-sum(sizes) // GROUP)
    shares = [rows_of(own) / GROUP for _, own in chosen]
    assert max(shares) <= max(-(-units // len(workers)), 1.25 * units / len(workers))
    assert len(chosen) == min(units, len(workers))


def test_rows_stay_where_they_lie():
    """Of 40 partitions that two workers hold in turn, only rows of shared groups travel."""
    sizes, holders = [250_000] * 40, [("ab"[k % 2],) for k in range(40)]
    moved, starts = 0, np.cumsum([0, *sizes])
    for worker, runs in chosen_rows(sizes, holders, ["a", "b"]):
        for start, size, holder in zip(starts, sizes, holders):
            own = sum(last - first for first, last in overlap(runs, start, size))
            moved += own * (worker != holder[0])
    assert moved < 0.1 * sum(sizes)
    # Replicas count for each worker that has one; a worker that is gone counts for nobody.
    chosen = chosen_rows([GROUP, GROUP], [("b", "a"), ("b", "gone")], ["a", "b"])
    assert dict(chosen) == {"a": ((0, GROUP),), "b": ((GROUP, 2 * GROUP),)}


def test_lazy_partitions_of_one_worker_are_neighbours():
    parts = dict(even_parts(10, ["a", "b", "c"]))
    assert [list(own) for own in parts.values()] == [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9]]
    assert sum(len(own) for _, own in even_parts(2, WORKERS)) == 2


def test_rows_of_a_process_have_their_numbers_in_the_table():
    runs = ((0, 2 * GROUP), (5 * GROUP, 6 * GROUP), (9 * GROUP, 9 * GROUP + 7))
    here = Shard(runs, 9 * GROUP + 7, 1, lambda label, value: [value])
    expected = np.concatenate([np.arange(first, last) for first, last in runs])
    np.testing.assert_array_equal(here.numbers(np.arange(3 * GROUP + 7)), expected)
    held = [here.holds(0, k * GROUP) for k in range(10)]
    assert held == [True, True, False, False, False, True, False, False, False, True]
    assert not here.holds(1, 0) and not here.holds(3, 0)
    assert Shard(((0, 100),), 100, 1, lambda label, value: [value]).holds(1, 0)
