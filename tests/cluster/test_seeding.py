"""Seeds: drawn by weight and distance, never twice the same point while another is left."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from pellucid.cluster import seeding, shared_seeding
from pellucid.cluster.row_distances import RowTable
from tests.cluster import plain


@pytest.mark.parametrize("k", [1, 3, 8])
def test_plain_twin(k, rng):
    X, w = rng.standard_normal((40, 3)), rng.random(40)
    seeds = seeding.plus_plus(RowTable(X, k), w, k, np.random.default_rng(k))
    assert seeds.tolist() == plain.plus_plus(X, w, k, np.random.default_rng(k))


def test_seeds_are_distinct_points():
    X = np.repeat(np.arange(12.0)[:, None], 2, axis=1)
    for i in range(20):
        seeds = seeding.plus_plus(RowTable(X, 12), np.ones(12), 12, np.random.default_rng(i))
        assert sorted(seeds) == list(range(12))


def test_too_few_points_repeat_the_first():
    X = np.array([[0.0], [0.0], [1.0]])
    seeds = seeding.plus_plus(RowTable(X, 4), np.ones(3), 4, np.random.default_rng(0))
    assert set(X[seeds[:2], 0]) == {0.0, 1.0}
    assert (seeds[2:] == seeds[0]).all()


def test_rows_without_weight_are_never_drawn():
    rows = seeding._draw(np.cumsum([0.0, 2.0, 0.0, 1.0, 0.0]), np.array([0.0, 0.5, 0.7, 1.0]))
    assert rows.tolist() == [1, 1, 3, 3]


def test_first_seed_follows_the_weights():
    X, w = np.arange(3.0)[:, None], np.array([1.0, 2.0, 5.0])
    table = RowTable(X, 1)
    draws = [seeding.plus_plus(table, w, 1, np.random.default_rng(i))[0] for i in range(4000)]
    np.testing.assert_allclose(np.bincount(draws) / 4000, w / 8, atol=0.03)


def test_greedy_choice_finds_far_groups():
    X, y = make_blobs(600, 2, centers=[[0, 0], [100, 0], [0, 100], [100, 100]], random_state=0)
    table = RowTable(X, 4)
    found = [
        len(set(y[seeding.plus_plus(table, np.ones(600), 4, np.random.default_rng(i))]))
        for i in range(50)
    ]
    assert np.mean(found) > 3.95


@pytest.mark.parametrize("k", [3, 5])
def test_random_rows(k):
    X = np.arange(4.0)[:, None]
    seeds = seeding.random_rows(RowTable(X, k), np.ones(4), k, np.random.default_rng(0))
    assert len(seeds) == k and len(set(seeds)) == min(k, 4)


def test_processes_send_the_rows_that_they_hold():
    table, held = RowTable(np.array([[1.0], [2.0]]), 1), []

    class Here:
        def gather(self, name, own):
            held.append({j: row.tolist() for j, row in own.items()})
            return [own, {1: np.array([7.0]), 2: np.array([9.0])}]

    hashes = np.array([3, 5], dtype=np.uint64)
    wanted = np.array([5, 4, 8], dtype=np.uint64)  # 8 is above all hashes of this process
    out = shared_seeding._rows(Here(), table, hashes, wanted)
    assert held == [{0: [2.0]}] and out.tolist() == [[2.0], [7.0], [9.0]]
