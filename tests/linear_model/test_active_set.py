"""The lasso by active sets: optimality by its own conditions, rows taken off, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.linear_model import Lasso, LassoCV
from pellucid.linear_model._lasso import _active_set, active_set
from pellucid.numerics.design_matrix import make_design
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import builds


def sample(n=60, p=25, seed=0, informative=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p))
    return X + 1.0, X[:, :informative] @ rng.normal(0.5, 1, size=informative) + rng.normal(size=n)


def centred(X, y):
    return X - X.mean(axis=0), y - y.mean()


def task_of(X, y):
    X, y = centred(X, y)
    none, zero = np.empty((0, X.shape[1])), np.zeros(X.shape[1])
    return active_set.Quadratic(X.T @ X, none, zero, X.T @ y, float(y @ y), len(y), zero, 0.0)


def path(task, l1, positive, wanted, rounds):
    return active_set.path(
        task, active_set.start(task, positive), task.subtracted_rows(), l1, wanted, rounds
    )


def misfit(X, y, b, l1, positive):
    """How far b is from the conditions of an optimum, as a share of the penalty."""
    X, y = centred(X, y)
    pull = X.T @ (y - X @ b) / len(y)
    used = b != 0
    outside = (pull if positive else np.abs(pull))[~used]
    inside = np.abs(pull - l1 * np.sign(b))[used]
    return max(outside.max(initial=0.0) - l1, inside.max(initial=0.0)) / l1


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (12, 1), (300, 80)])
def test_every_point_is_optimal(shape, positive):
    X, y = sample(*shape, informative=min(shape[1], 12))
    top = np.abs(centred(X, y)[0].T @ centred(X, y)[1]).max() / len(y)
    l1 = np.geomspace(top, top * 1e-2, 30)
    found = path(task_of(X, y), l1, positive, np.full(30, 1e-10), 3000)
    assert found.made == 30
    for b, strength in zip(found.coef, l1, strict=True):
        assert misfit(X, y, b, strength, positive) < 1e-9
        assert not positive or (b >= 0).all()
    assert (found.coef != 0).any()


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_points_close_together_are_surveyed_together(spread):
    """Many columns in use on a fine grid; alike columns (a large spread) come without notice."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 90)) + spread * rng.normal(size=(150, 9)).repeat(10, axis=1)
    y = X[:, ::3] @ rng.normal(size=30) + 5 * rng.normal(size=150)
    top = np.abs(centred(X, y)[0].T @ centred(X, y)[1]).max() / len(y)
    l1 = np.geomspace(top, top * 1e-3, 100)
    task, Z = task_of(X, y), rng.normal(size=(40, 90))
    task = replace(task, G=task.G + Z.T @ Z, T=Z)
    whole = path(task, l1, False, np.full(100, 1e-10), 9999)
    assert whole.made == 100 and (whole.coef[-1] != 0).sum() > 60
    np.testing.assert_allclose(whole.off[:, :-1], whole.coef @ Z.T, atol=1e-11)
    for b, strength in zip(whole.coef, l1, strict=True):
        assert misfit(X, y, b, strength, False) < 1e-7
    walk, ends = active_set.start(task, False), (0, 37, 90, 100)
    for part in map(slice, ends, ends[1:]):
        again = active_set.path(
            task, walk, np.ascontiguousarray(task.T.T), l1[part], np.full(100, 1e-10)[part], 9999
        )
        np.testing.assert_allclose(again.coef, whole.coef[part], atol=1e-9)
        assert (again.gap <= 1e-10 * task.yy / 150).all()
    # One look a point, and one more where a column came that was not foreseen.
    assert whole.rounds.sum() < 130


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_rows_taken_off_are_rows_never_seen(offset, weighted):
    X, y = sample(80, 30)
    X += offset
    w = np.random.default_rng(2).uniform(0.5, 2, 80) if weighted else np.ones(80)
    design = make_design(Rows(X), y[:, None], w, True)
    part = type(design)(
        Rows(X[20:45]), y[20:45, None], w[20:45], True, design.shift, design.start
    )  # fmt: skip
    rest = active_set.without_rows(design, design.gram(), part)
    assert rest is not None
    keep = np.r_[:20, 45:80]
    Z, v, share = X[keep], y[keep], w[keep] / w[keep].sum()
    np.testing.assert_allclose(rest.mean, share @ Z, rtol=1e-12)
    assert rest.mean_y == pytest.approx(share @ v, rel=1e-12)
    root = np.sqrt(w[keep])[:, None]
    Z, v = (Z - share @ Z) * root, (v - share @ v) * root[:, 0]
    scale = np.abs(Z.T @ Z).max()
    Q = rest.G - rest.subtracted_rows() @ rest.subtracted_rows().T
    np.testing.assert_allclose(Q, Z.T @ Z, atol=1e-12 * scale * (1 + offset**2))
    l1 = np.geomspace(2, 0.01, 12)
    found = path(rest, l1, False, np.full(12, 1e-9), 1200)
    assert found.made == 12
    np.testing.assert_allclose(
        found.off, found.coef @ rest.subtracted_rows(), atol=1e-12 * (1 + offset)
    )
    for a in (3, 7, 11):
        plain = Lasso(l1[a]).fit(X[keep], y[keep], w[keep]).coef_
        np.testing.assert_allclose(found.coef[a], plain, atol=1e-8 * (1 + offset))


def test_lanes_change_no_bit():
    X, y = sample(90, 40)
    task, answers = task_of(X, y), []
    for loops in builds(_active_set):
        B, F = np.zeros((60, 40)), np.zeros((60, 7))
        gaps, turns = np.zeros(60), np.zeros(60, dtype=np.intp)
        walk = loops.Walk(task.G, task.c, task.yy, False)
        made = walk.go(
            np.ascontiguousarray(X[:7].T) / 9, 90 * np.geomspace(3, 0.01, 60), np.full(60, 1e-9),
            999, B, F, gaps, turns, np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        answers.append((made, B, F, gaps, turns))
    for part in zip(*answers, strict=True):
        for other in part[1:]:
            np.testing.assert_array_equal(part[0], other)


def test_dependent_columns():
    from sklearn.linear_model import LassoCV as Theirs

    X, y = sample(60, 10, informative=5)
    X = np.column_stack([X, X[:, :4], X[:, :3] @ [1.0, -2.0, 1.0], np.full(60, 3.0)])
    ours = LassoCV(alphas=20).fit(X, y)
    theirs = Theirs(alphas=20, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)


def test_a_fold_that_holds_nearly_all_of_a_column_is_summed_by_itself():
    X, y = sample(100, 8, informative=4)
    X[:20, 2] *= 1e7  # the products of the other rows would be a difference of nearly equal numbers
    design = make_design(Rows(X), y[:, None], np.ones(100), True)
    part = type(design)(Rows(X[:20]), y[:20, None], np.ones(20), True, design.shift, design.start)
    assert active_set.without_rows(design, design.gram(), part) is None
    model = LassoCV(alphas=[0.3, 0.03]).fit(X, y)
    for a in (0, 1):
        plain = Lasso(model.alphas_[a]).fit(X[20:], y[20:])
        expected = np.mean((y[:20] - plain.predict(X[:20])) ** 2)
        assert model.mse_path_[a, 0] == pytest.approx(expected, rel=1e-5)


def test_a_gap_out_of_reach_is_not_claimed():
    X, y = sample()
    found = path(task_of(X, y), np.array([1.0, 0.1]), False, np.array([1.0, -1.0]), 99)
    assert found.made == 1
    spent = path(task_of(X, y), np.array([1.0, 0.1]), False, np.full(2, 1e-9), 1)
    assert spent.made < 2


def test_too_few_rounds_are_reported():
    X, y = sample(200, 60, informative=50)
    with pytest.warns(UserWarning, match="duality gap"):
        model = Lasso(0.01, max_iter=2).fit(X, y)
    assert model.status_.code == "max_iter" and model.n_iter_ == 2 and model.dual_gap_ > 0
