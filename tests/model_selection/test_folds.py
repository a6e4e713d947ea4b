"""Folds: every row once, strata even, groups whole, time in order, same seed same folds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.errors import DataError, ParameterError
from pellucid.model_selection import Geometric, candidates
from pellucid.model_selection.folds import (
    GroupFolds,
    PlainFolds,
    StratifiedFolds,
    TimeFolds,
    holdout,
)
from pellucid.model_selection.grids import edges


@given(st.integers(4, 60), st.integers(2, 4), st.integers(0, 999))
def test_every_row_is_tested_once(n, k, seed):
    rng = np.random.default_rng(seed)
    y, groups = rng.integers(0, 3, n), np.arange(n) % max(k, n // 3)
    for folds in (
        PlainFolds(k, seed),
        StratifiedFolds(k, seed),
        GroupFolds(k, seed),
    ):
        tested = np.concatenate([test for _, test in folds.split(y, groups)])
        assert np.array_equal(np.sort(tested), np.arange(n))
        for train, test in folds.split(y, groups):
            assert len(np.intersect1d(train, test)) == 0 and len(train) + len(test) == n


@given(st.integers(0, 999), st.integers(2, 6))
def test_strata_differ_by_one_row_at_most(seed, k):
    y = np.random.default_rng(seed).integers(0, 3, 80)
    counts = [np.bincount(y[test], minlength=3) for _, test in StratifiedFolds(k, seed).split(y)]
    assert (np.ptp(counts, axis=0) <= 1).all()


def test_twenty_eighty_in_ten_folds():
    y = np.repeat([1, 0], [20, 80])
    for _, test in StratifiedFolds(10).split(y):
        assert (y[test] == 1).sum() == 2 and (y[test] == 0).sum() == 8


def test_groups_stay_together_and_time_runs_forward():
    groups = np.random.default_rng(0).integers(0, 9, 100)
    for train, test in GroupFolds(3).split(groups, groups):
        assert not set(groups[train]) & set(groups[test])
    times = np.random.default_rng(1).permutation(50)
    for train, test in TimeFolds(4).split(times, times):
        assert times[train].max() < times[test].min()


def test_holdout():
    y = np.repeat([0, 1], [80, 20])
    train, test = holdout(y, 0.2, stratify=True)
    assert len(test) == 20 and y[test].sum() == 4 and not set(train) & set(test)
    time = np.arange(100)[::-1]
    assert holdout(y, 0.2, time=time, stratify=False)[1].tolist() == list(range(20))
    groups = np.arange(100) // 10
    train, test = holdout(y, 0.2, groups=groups, stratify=True)
    assert not set(groups[train]) & set(groups[test])


@given(st.integers(0, 999), st.integers(1, 4))
def test_rows_of_one_time_stay_together(seed, k):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, rng.integers(k + 1, 30), 60))[rng.permutation(60)]
    times[: k + 1] = np.arange(k + 1)
    splits = list(TimeFolds(k).split(times, times))
    assert len(splits) == k and all(len(test) for _, test in splits)
    for train, test in [*splits, holdout(times, 0.2, time=times, stratify=False)]:
        assert times[train].max() < times[test].min()
    assert len(np.concatenate([splits[0][0], *(test for _, test in splits)])) == 60


def test_equal_parts_where_times_allow_them():
    times = np.repeat(np.arange(12), 5)
    assert [len(test) for _, test in TimeFolds(5).split(times, times)] == [10] * 5
    _, test = holdout(times, 0.25, time=times, stratify=False)
    assert set(times[test]) == {9, 10, 11}


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4, 0.6, 0.9])
def test_whole_groups_are_locked_away_up_to_the_share_asked_for(share):
    groups = np.random.default_rng(0).integers(0, 40, 1000)
    train, test = holdout(groups, share, groups=groups, stratify=False)
    assert not set(groups[train]) & set(groups[test])
    assert abs(len(test) / 1000 - share) <= 0.5 * np.bincount(groups).max() / 1000


def test_of_large_groups_one_is_locked_away():
    groups = np.repeat([0, 1, 2], [40, 30, 35])
    assert set(groups[holdout(groups, 0.1, groups=groups, stratify=False)[1]]) == {1}
    assert len(set(groups[holdout(groups, 0.99, groups=groups, stratify=False)[1]])) == 2


def test_errors():
    with pytest.raises(ParameterError, match="at least 2"):
        list(PlainFolds(1).split([1, 2]))
    with pytest.raises(DataError, match="5 folds need at least 5 rows"):
        list(PlainFolds(5).split([1, 2]))
    with pytest.raises(DataError, match="at least 5 groups"):
        list(GroupFolds(5).split([1] * 9, [1] * 9))
    with pytest.raises(ParameterError, match="at least 2"):
        list(GroupFolds(1).split([1] * 9, [1] * 9))
    with pytest.raises(DataError, match=r"3 folds need at least 3 times, but only 2 .*--cv 2"):
        list(TimeFolds(2).split([1] * 9, [1] * 4 + [2] * 5))


def test_grids():
    assert Geometric(0.01, 100, 3).values() == [0.01, 1.0, 100.0]
    assert Geometric(1, 100, 5, whole=True).values() == [1, 3, 10, 32, 100]
    space = {"C": Geometric(0.1, 10, 3), "kernel": ["rbf", "poly"]}
    assert len(candidates(space)) == 6
    assert candidates({}) == [{}]
    assert edges(space, {"C": 10.0, "kernel": "rbf"}) == ["C"]
    assert edges(space, {"C": 1.0, "kernel": "rbf"}) == []


def same(ours, theirs):
    pairs = list(zip(ours, theirs, strict=True))
    return all(np.array_equal(a, c) and np.array_equal(b, d) for (a, b), (c, d) in pairs)


def test_folds_without_chance_are_scikit_learns():
    theirs = pytest.importorskip("sklearn.model_selection")
    for n in (13, 60, 101):
        X = np.zeros((n, 1))
        assert same(TimeFolds(5).split(X[:, 0]), theirs.TimeSeriesSplit(5).split(X))


def test_drawn_folds_have_the_sizes_of_scikit_learns(rng):
    theirs = pytest.importorskip("sklearn.model_selection")
    y, groups = rng.choice(3, 97, p=[0.6, 0.3, 0.1]), rng.integers(0, 23, 97)

    def counts(splits):
        """Rows by class over the folds; which fold has one more of a class is a matter of order."""
        found = np.array([np.bincount(y[test], minlength=3) for _, test in splits])
        return np.sort(found, axis=0).tolist(), np.sort(found.sum(axis=1)).tolist()

    def sizes(splits):
        return sorted(len(test) for _, test in splits)

    assert counts(StratifiedFolds(5).split(y)) == counts(theirs.StratifiedKFold(5).split(y, y))
    assert sizes(PlainFolds(5).split(y)) == sizes(theirs.KFold(5).split(y))
    own = GroupFolds(5).split(y, groups)
    assert sizes(own) == sizes(theirs.GroupKFold(5).split(y, y, groups))
