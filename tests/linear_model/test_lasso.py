"""Lasso and ElasticNet: vectors, optimality conditions, paths, the compiled loop's plain twin."""

import numpy as np
import pytest
from sklearn.datasets import make_regression

from pellucid.errors import ConvergenceWarning, ParameterError
from pellucid.linear_model import ElasticNet, Lasso, LassoCV, Ridge, enet_path, lasso_path
from pellucid.linear_model._lasso import _coordinate, gram_products
from pellucid.linear_model._lasso.solver import descend as fastest
from tests.linear_model.test_ridge import X4, Y4, standardised

TEN = [
    *(-0.87253015, 0.99709324, 0.0, 0.68347327, -1.92516588, 2.69957515, 0.0),
    *(-2.99826671, 2.32783425, -1.75867874, -2.02254887, 0.83053429, -3.72753577),
]


def sample(n=60, p=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3
    y = X[:, :3] @ [1.0, 2.0, -1.0] + rng.normal(size=n)
    return X, y, rng.integers(1, 4, n).astype(float)


def violation(model, X, y, w, alpha, ratio):
    """Distance from the optimality conditions, in units of the penalty."""
    g = (w * (y - model.predict(X))) @ X / w.sum() - alpha * (1 - ratio) * model.coef_
    b = model.coef_
    inside = np.maximum(np.abs(g) - alpha * ratio, 0.0)
    return np.where(b == 0, inside, np.abs(g - alpha * ratio * np.sign(b))).max() / alpha


def plain_leap(points, q, l1, l2, positive):
    """Where the last points lead: the affine combination with the shortest combined step."""
    B, products = (np.array(part) for part in zip(*points))
    U = np.diff(B, axis=0)
    C = U @ U.T
    z = np.linalg.solve(C + 1e-10 * np.trace(C) * np.eye(5), np.ones(5))
    x, g = z / z.sum() @ B[1:], z / z.sum() @ products[1:]

    def value(b, Qb):
        return b @ (0.5 * Qb - q + 0.5 * l2 * b) + l1 @ np.abs(b)

    lower = value(x, g) < value(*points[-1]) and not (positive and (x < 0).any())
    return (x, g) if lower else points[-1]


def plain_descend(Q, q, b, Qb, l1, l2, positive, tol, epochs):
    """The compiled loop, line by line in Python."""
    points, leaps = [], len(q) >= 24 and epochs > 6
    for epoch in range(1, epochs + 1):
        largest = 0.0
        points.append((b.copy(), Qb.copy()))
        if leaps and len(points) == 6:
            points = [plain_leap(points, q, l1, l2, positive)]
            b[:], Qb[:] = points[0]
        for j in range(len(q)):
            curve, old = Q[j, j] + l2[j], b[j]
            z = q[j] - Qb[j] + Q[j, j] * old
            new = z - l1[j] if z > l1[j] else z + l1[j] if z < -l1[j] and not positive else 0.0
            new = new / curve if curve > 0 else 0.0
            step = new - old
            if step != 0:
                b[j] = new
                Qb += step * Q[j]
                largest = max(largest, abs(step) * np.sqrt(curve))
        if largest <= tol:
            return epoch
    return epochs


@pytest.mark.parametrize("positive", [False, True])
def test_compiled_loop_equals_its_plain_twin(positive):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(30, 7))
    A[:, 4] = 0.0
    Q, q = np.ascontiguousarray(A.T @ A), A.T @ rng.normal(size=30)
    l1, l2 = rng.uniform(0, 2, 7), np.where(np.arange(7) == 4, 0.0, rng.uniform(0, 1, 7))
    answers = []
    for descend in (_coordinate.descend, plain_descend):
        b, Qb = np.ones(7), Q.sum(axis=1)
        epochs = descend(Q, q, b, Qb, l1, l2, positive, 1e-9, 500)
        answers.append((epochs, b, Qb))
    assert answers[0][0] == answers[1][0] > 3
    np.testing.assert_array_equal(answers[0][1], answers[1][1])
    np.testing.assert_array_equal(answers[0][2], answers[1][2])


@pytest.mark.parametrize("positive", [False, True])
def test_leaps_equal_their_plain_twin_and_shorten_the_way(positive):
    rng = np.random.default_rng(6)
    A = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 40)) + 0.3 * rng.normal(size=(60, 40))
    Q, q = np.ascontiguousarray(A.T @ A), A.T @ rng.normal(size=60)
    l1, l2 = np.full(40, 0.5), np.full(40, 0.01)
    answers = []
    for descend in (_coordinate.descend, fastest, plain_descend):
        b, Qb = np.zeros(40), np.zeros(40)
        epochs = descend(Q, q, b, Qb, l1, l2, positive, 1e-7, 5000)
        answers.append((epochs, b))
    short = np.zeros(40), np.zeros(40)
    slow = 0
    while (made := _coordinate.descend(Q, q, *short, l1, l2, positive, 1e-7, 6)) == 6:
        slow += made  # too few epochs at a time for leaps
    assert answers[0][0] == answers[1][0]
    np.testing.assert_array_equal(answers[0][1], answers[1][1])  # two builds, equal bits
    np.testing.assert_allclose(answers[0][1], answers[2][1], atol=1e-6)
    np.testing.assert_allclose(answers[0][1], short[0], atol=1e-5)
    assert ((answers[0][1] == 0) == (short[0] == 0)).all()
    assert abs(answers[0][0] - answers[2][0]) <= 12
    assert answers[0][0] < slow / 2


def test_small_vectors():
    for strength, slope, intercept in ((1.0, 1.8, 0.0), (5.0, 1.0, 2.0)):
        model = Lasso(strength / 4).fit(X4, Y4)
        assert model.coef_[0] == pytest.approx(slope, abs=1e-12)
        assert model.intercept_ == pytest.approx(intercept, abs=1e-12)


def test_boston_vectors():
    X, y = standardised()
    n = len(y)
    ten = Lasso(10 / n).fit(X, y)
    np.testing.assert_allclose(ten.coef_, TEN, atol=1e-8)
    assert ten.coef_[2] == ten.coef_[6] == 0.0
    hundred = Lasso(100 / n).fit(X, y)
    assert np.flatnonzero(hundred.coef_ == 0).tolist() == [6, 9]  # AGE, TAX
    largest = np.abs(X.T @ (y - y.mean())).max()
    assert largest == pytest.approx(3429.49274417, abs=1e-7)
    assert not Lasso(1e4 / n).fit(X, y).coef_.any()
    assert not Lasso(largest * (1 + 1e-12) / n).fit(X, y).coef_.any()
    assert np.count_nonzero(Lasso(largest * 0.999 / n).fit(X, y).coef_) == 1


@pytest.mark.parametrize("shape", [(60, 20), (25, 80), (30, 2100)])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_solution_is_exact(shape, ratio, alpha):
    X, y, w = sample(*shape)
    model = ElasticNet(alpha, l1_ratio=ratio).fit(X, y, w)
    assert model.status_.code == "converged"
    assert violation(model, X, y, w, alpha, ratio) < 1e-9
    assert 0 <= model.dual_gap_ <= 1e-12 * np.var(y)


def test_gap_bounds_the_distance_from_the_optimum():
    X, y, w = sample(25, 80)

    def objective(model):
        return (
            0.5 * np.average((y - model.predict(X)) ** 2, weights=w)
            + 0.01 * np.abs(model.coef_).sum()
        )

    best = objective(Lasso(0.01).fit(X, y, w))
    with pytest.warns(UserWarning, match="duality gap of .*above tol"):
        rough = Lasso(0.01, max_iter=2).fit(X, y, w)
    assert 0 < objective(rough) - best <= rough.dual_gap_
    assert rough.dual_gap_ == pytest.approx(rough.history_["gap"][-1])


def test_positive_coefficients():
    X, y, w = sample()
    model = Lasso(0.01, positive=True).fit(X, y, w)
    g = (w * (y - model.predict(X))) @ X / w.sum()
    assert model.coef_.min() >= 0
    assert np.abs(g[model.coef_ > 0] - 0.01).max() < 1e-10
    assert g[model.coef_ == 0].max() <= 0.01


def test_sparse_columns_are_centred_without_filling_them(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")

    X = sparse.random(40, 300, density=0.1, random_state=0, format="csr")
    y = np.random.default_rng(0).normal(size=40)
    dense = Lasso(0.005).fit(X.toarray(), y)
    monkeypatch.setattr(gram_products, "DENSE_CELLS", 0)
    monkeypatch.setattr(gram_products, "GRAM_COLUMNS", 0)
    model = Lasso(0.005).fit(X, y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-9)
    assert model.intercept_ == pytest.approx(dense.intercept_, abs=1e-9)
    assert 0 < np.count_nonzero(model.coef_) < 300


def test_no_corner_is_ridge():
    X, y, w = sample()
    model = ElasticNet(0.5, l1_ratio=0.0).fit(X, y, w)
    np.testing.assert_allclose(model.coef_, Ridge(0.5 * w.sum()).fit(X, y, w).coef_, rtol=1e-12)
    free = Lasso(0.0).fit(X, y, w)
    np.testing.assert_allclose(free.coef_, Ridge(0.0).fit(X, y, w).coef_, rtol=1e-12)


def test_proximal_descent_finds_the_same_optimum():
    X, y = standardised()
    slow = Lasso(1.0, solver="gd", max_iter=5000, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(slow.coef_, Lasso(1.0).fit(X, y).coef_, atol=1e-9)
    assert (slow.coef_ == 0).any()
    assert np.all(np.diff(slow.history_["objective"]) <= 1e-12)


def test_warm_start_needs_fewer_epochs():
    X, y, w = sample(25, 80)
    model = Lasso(0.01, warm_start=True).fit(X, y, w)
    first = model.n_iter_
    assert model.fit(X, y, w).n_iter_ < first
    assert violation(model, X, y, w, 0.01, 1.0) < 1e-9


def test_several_targets():
    X, y, w = sample()
    Y = np.column_stack([y, -2 * y[::-1]])
    both = Lasso(0.1).fit(X, Y, w)
    for k in range(2):
        np.testing.assert_allclose(both.coef_[k], Lasso(0.1).fit(X, Y[:, k], w).coef_, atol=1e-12)
    assert both.sparse_coef_.shape == (2, 20)
    assert both.sparse_coef_.nnz == np.count_nonzero(both.coef_)


def test_paths_pass_through_the_single_fits():
    X, y, _ = sample(25, 60)
    X, y = X - X.mean(axis=0), y - y.mean()
    alphas, coefs, gaps, n_iter = enet_path(X, y, l1_ratio=0.7, alphas=12, return_n_iter=True)
    assert coefs.shape == (60, 12)
    assert alphas[0] == pytest.approx(np.abs(X.T @ y).max() / 25 / 0.7, rel=1e-12)
    assert alphas[-1] == pytest.approx(1e-3 * alphas[0])
    assert np.abs(coefs[:, 0]).max() < 1e-10
    for i in (1, 6, 11):
        model = ElasticNet(alphas[i], l1_ratio=0.7, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(coefs[:, i], model.coef_, atol=1e-8)
    assert (gaps <= 1e-12 * (y @ y)).all()
    assert (n_iter >= 1).all()
    _, lasso, _ = lasso_path(X, y, alphas=[0.1, 0.5])
    np.testing.assert_allclose(
        lasso[:, 1], Lasso(0.1, fit_intercept=False).fit(X, y).coef_, atol=1e-8
    )


def test_parameters_without_effect():
    X, y, w = sample()
    expected = Lasso(0.1).fit(X, y, w).coef_
    for chosen in ({"precompute": True}, {"copy_X": False}, {"selection": "random"}):
        assert np.array_equal(Lasso(0.1, **chosen, random_state=3).fit(X, y, w).coef_, expected)


def test_checks_cannot_be_skipped():
    with pytest.raises(TypeError, match="check_input"):
        Lasso().fit(X4, Y4, check_input=False)


@pytest.mark.parametrize(
    "wrong", [{"alpha": -1.0}, {"l1_ratio": 1.5}, {"l1_ratio": -0.1}, {"max_iter": 0}]
)
def test_wrong_parameters_are_named(wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"'{name}' parameter of ElasticNet must be"):
        ElasticNet(**wrong).fit(X4, Y4)


@pytest.mark.parametrize("wrong", [
    {"eps": 0}, {"eps": -1.0}, {"alphas": "x"}, {"alphas": ["x"]}, {"alphas": [-1.0]}, {"tol": "x"},
    {"max_iter": 0}, {"l1_ratio": 0.0}, {"l1_ratio": "x"}, {"positive": "x"},
])  # fmt: skip
def test_wrong_options_of_paths_are_named(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        enet_path([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], **wrong)


@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_the_smallest_penalty_that_leaves_no_column_leaves_none(offset):
    """Not one by rounding either: neither of the user's product nor of the grid's."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(50, 8)) + offset, rng.normal(size=50) + 1
        Xc, yc = X - X.mean(axis=0), y - y.mean()
        top = np.abs(Xc.T @ yc).max() / 50 * (1 + 1e-15 * offset)
        assert not Lasso(top).fit(X, y).coef_.any()
        assert Lasso(top * (1 - 1e-10)).fit(X, y).coef_.any()
        assert not ElasticNet(2 * top).fit(X, y).coef_.any()
        assert not lasso_path(Xc, yc, alphas=3)[1][:, 0].any()
        if seed < 10:
            first = LassoCV(alphas=2, cv=2).fit(X, y).alphas_[0]
            assert not Lasso(first).fit(X, y).coef_.any()


def test_paths_of_several_targets_are_paths_of_each():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    alphas, coefs, gaps = enet_path(X, Y, alphas=4, precompute=True, coef_init=np.ones((2, 6)))
    assert alphas[0] == pytest.approx(np.abs(X.T @ Y).max() / 40 / 0.5)
    for k in range(2):
        own = enet_path(X, Y[:, k], alphas=alphas)
        np.testing.assert_allclose(coefs[k], own[1], atol=1e-12)
    assert gaps.shape == (2, 4)
    with pytest.raises(TypeError):
        lasso_path(X, Y, sample_weight=np.ones(40))


def test_a_wide_gap_does_not_end_a_descent_that_makes_progress():
    """Sparse wide columns: the gap stays above half its value for hundreds of rounds."""
    X, y = make_regression(100, 1000, random_state=0)
    X[X < 2] = 0
    model = Lasso(0.1, max_iter=100_000).fit(X, y)
    residual = y - model.predict(X)
    value = residual @ residual / 200 + 0.1 * np.abs(model.coef_).sum()
    assert value == pytest.approx(252.27312821, rel=1e-10)  # scikit-learn with tol=1e-9
    assert model.status_.ok and model.dual_gap_ < 1e-8


@pytest.mark.parametrize("shape", [(60, 20), (40, 90)])
def test_rounds_are_counted_and_limited(shape):
    X = np.random.default_rng(0).normal(size=shape)
    y = X[:, :5].sum(axis=1)
    whole = ElasticNet(0.01).fit(X, y)
    assert whole.n_iter_ == whole.history_["iteration"][-1] > 3
    assert (np.diff(whole.history_["iteration"]) >= 0).all()
    with pytest.warns(ConvergenceWarning, match="Stopped after 3 rounds"):
        assert ElasticNet(0.01, max_iter=3).fit(X, y).n_iter_ == 3
