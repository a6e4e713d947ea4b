"""LinearSVC and LinearSVR against the optimum of one objective, LIBLINEAR's, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn import datasets
from sklearn import svm as peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError
from pellucid.svm import (
    LinearSVC,
    LinearSVR,
    _box_dual,
    _loops,
    interior_point,
    linear_dual,
    primal,
)


def objective(model, X, y, C=1.0, penalty="l2", power=2, epsilon=None, bias=1.0):
    """What both libraries minimise, from their coefficients."""
    w, b = np.ravel(model.coef_), np.ravel(model.intercept_)[0] / bias
    z = X @ w + bias * b
    loss = np.abs(y - z) - epsilon if epsilon is not None else 1 - y * z
    v = np.append(w, b)
    size = 0.5 * v @ v if penalty == "l2" else np.abs(v).sum()
    return size + C * (np.maximum(loss, 0) ** power).sum()


def tables():
    scale = lambda X: (X - X.mean(axis=0)) / X.std(axis=0)  # noqa: E731
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield "cancer", scale(X), np.where(y == 1, 1.0, -1.0)
    for seed in range(3):
        X, y = datasets.make_classification(300, 8, n_informative=4, flip_y=0.2, random_state=seed)
        yield f"noise {seed}", X, np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize("case", list(tables()), ids=lambda case: case[0])
@pytest.mark.parametrize(
    ("penalty", "loss"), [("l2", "squared_hinge"), ("l2", "hinge"), ("l1", "squared_hinge")]
)
@pytest.mark.parametrize("bias", [1.0, 5.0])
def test_margin_of_liblinear(case, penalty, loss, bias):
    """Never above LIBLINEAR's objective, and equal to it as far as it went."""
    _, X, y = case
    C = 0.5
    given = {"penalty": penalty, "loss": loss, "C": C, "intercept_scaling": bias}
    ours = LinearSVC(tol=1e-7, max_iter=20_000, **given).fit(X, y)
    theirs = peer.LinearSVC(
        tol=1e-9, max_iter=200_000, dual=loss == "hinge", random_state=0, **given
    ).fit(X, y)
    assert ours.status_.ok
    power = 2 if loss == "squared_hinge" else 1
    found, expected = (
        objective(model, X, y, C, penalty, power, bias=bias) for model in (ours, theirs)
    )
    assert found == pytest.approx(expected, rel=1e-6)
    assert found <= expected * (1 + 1e-9)
    assert np.allclose(ours.coef_, theirs.coef_, atol=2e-3)
    if penalty == "l1":
        assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).mean() > 0.9


def test_newton_reaches_the_last_digit():
    """The gradient at the optimum is rounding."""
    _, X, y = next(iter(tables()))
    model = LinearSVC(C=2.0).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    short = np.maximum(1 - y * (X @ w + b), 0)
    gradient = np.append(w - 4 * X.T @ (y * short), b - 4 * (y * short).sum())
    assert np.abs(gradient).max() < 1e-10


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_tube_of_liblinear(loss, epsilon):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ np.arange(5.0) + 3 + rng.standard_t(2, size=200)
    given = {"loss": loss, "epsilon": epsilon, "C": 0.3}
    ours = LinearSVR(tol=1e-8, max_iter=50_000, **given).fit(X, y)
    theirs = peer.LinearSVR(tol=1e-9, max_iter=500_000, random_state=0, dual=True, **given).fit(
        X, y
    )
    power = 2 if loss.startswith("squared") else 1
    found, expected = (
        objective(model, X, y, 0.3, power=power, epsilon=epsilon) for model in (ours, theirs)
    )
    assert found == pytest.approx(expected, rel=1e-6)
    assert found <= expected * (1 + 1e-9)
    if power == 1:
        assert 0 <= ours.history_["duality_gap"][-1] <= 1e-5 * found


def joint_objective(model, X, y, C):
    """What Crammer and Singer minimise, from the coefficients alone."""
    V = np.column_stack([model.coef_, model.intercept_])
    Z = X @ model.coef_.T + model.intercept_
    own = Z[np.arange(len(y)), y]
    return (
        0.5 * (V * V).sum()
        + C * np.maximum((Z + (np.arange(Z.shape[1]) != y[:, None])).max(axis=1) - own, 0).sum()
    )


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("name", ["iris", "wine", "five classes"])
def test_all_classes_in_one_machine(name, C):
    """LIBLINEAR's optimum of one objective, a small duality gap, and its class for each row."""
    if name == "five classes":
        X, y = datasets.make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=5,
                                            random_state=0)  # fmt: skip
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    given = {"multi_class": "crammer_singer", "C": C, "random_state": 0}
    ours = LinearSVC(**given).fit(X, y)
    theirs = peer.LinearSVC(tol=1e-7, max_iter=200_000, **given).fit(X, y)
    assert ours.status_.ok
    found, expected = joint_objective(ours, X, y, C), joint_objective(theirs, X, y, C)
    assert found == pytest.approx(expected, rel=5e-6)
    assert found == pytest.approx(ours.history_["objective"][-1], rel=1e-10)
    assert abs(ours.history_["duality_gap"][-1]) <= 1e-9 * found  # the last digits come in one step
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    top = np.sort(ours.decision_function(X), axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4  # at the optimum some rows lie on a border
    assert (ours.predict(X) == theirs.predict(X))[clear].all()


def test_one_machine_of_two_classes_of_weights_and_of_sparse_tables():
    X, y = datasets.make_classification(100, 5, flip_y=0.1, random_state=0)
    given = {"multi_class": "crammer_singer", "tol": 1e-6, "max_iter": 50_000, "C": 0.1}
    ours = LinearSVC(**given).fit(X, y)
    assert ours.coef_.shape == (1, 5)
    theirs = peer.LinearSVC(**given).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert np.allclose(LinearSVC(**given).fit(csr_array(X), y).coef_, ours.coef_, atol=1e-6)
    X, y = datasets.load_iris(return_X_y=True)
    w = np.random.default_rng(0).integers(0, 3, 150)
    given["tol"] = 1e-3
    by_weight = LinearSVC(**given).fit(X, y, sample_weight=w)
    copies = LinearSVC(**given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(by_weight.coef_, copies.coef_, rtol=1e-10, atol=1e-12)
    assert by_weight.explain(X[:3]).gap() < 1e-12
    with pytest.warns(ConvergenceWarning, match="violated by"):
        LinearSVC(multi_class="crammer_singer", max_iter=1).fit(X, y)


def test_several_classes_and_weights():
    X, y = datasets.load_iris(return_X_y=True)
    ours, theirs = LinearSVC().fit(X, y), peer.LinearSVC(tol=1e-8, max_iter=100_000).fit(X, y)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.score(X, y) == theirs.score(X, y)
    w = np.random.default_rng(0).integers(0, 3, 150)
    for loss in ("hinge", "squared_hinge"):
        by_weight = LinearSVC(loss=loss, max_iter=100_000, tol=1e-3).fit(X, y, sample_weight=w)
        copies = LinearSVC(loss=loss, max_iter=100_000, tol=1e-3)
        copies.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert np.allclose(by_weight.coef_, copies.coef_, rtol=1e-10, atol=1e-12)
    free = LinearSVC(fit_intercept=False).fit(X, y)
    assert (free.intercept_ == 0).all()


@pytest.mark.parametrize("given", [{}, {"loss": "hinge", "tol": 1e-6}, {"penalty": "l1"}])
def test_sparse_tables(given, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((150, 30)) < 0.2, rng.normal(size=(150, 30)), 0.0)
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=150) > 0).astype(int)
    dense = LinearSVC(max_iter=50_000, **given).fit(X, y)
    thin = LinearSVC(max_iter=50_000, **given).fit(csr_array(X), y)
    assert np.allclose(dense.coef_, thin.coef_, atol=1e-5)
    monkeypatch.setattr(primal, "DIRECT", 5)
    conjugate = LinearSVC(max_iter=50_000, **given).fit(X, y)
    assert np.allclose(dense.coef_, conjugate.coef_, atol=1e-7)


def test_one_epoch_follows_the_plain_loop():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(30, 5)), rng.normal(size=30)
    low, high, epsilon, bias = np.full(30, -0.4), np.full(30, 0.4), 0.1, 2.0
    curves, order = (X**2).sum(axis=1) + bias**2, np.arange(30)
    seed, progress = linear_dual.first_pass(30)
    beta, v = np.zeros(30), np.zeros(6)
    expected = np.zeros(30)
    A = np.column_stack([X, np.full(30, bias)])
    for _ in range(3):
        progress[:3] = 30, np.inf, 0.0  # all rows take part
        _box_dual.epochs(
            X.reshape(-1), np.zeros(0, dtype=np.int32), np.arange(31) * 5, True, t, epsilon, low,
            high, np.zeros(30), curves, bias, order, seed, progress, 1, 0.0, beta, v,
            np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        for i in order:
            rest = A[i] @ (A.T @ expected) - curves[i] * expected[i] - t[i]
            grid = minimize(
                lambda b, r=rest, c=curves[i]: 0.5 * c * b[0] ** 2 + r * b[0] + 0.1 * abs(b[0]),
                [0.0], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-16},
            )  # fmt: skip
            expected[i] = np.clip(grid.x[0], low[i], high[i])
    assert np.allclose(beta, expected, atol=1e-6)
    assert np.allclose(v, A.T @ beta, atol=1e-12)


def test_one_joint_epoch_follows_the_plain_loop():
    """The multipliers of a row by bisection on their level, for dense and sparse rows."""
    rng = np.random.default_rng(0)
    X, y, c, bias = rng.normal(size=(25, 4)), rng.integers(0, 3, 25), rng.random(25), 0.7
    Z = np.column_stack([X, np.full(25, bias)])
    order, expected = rng.permutation(25), np.zeros((25, 3))
    for _ in range(3):
        for i in order:
            size = Z[i] @ Z[i]
            limits = np.where(np.arange(3) == y[i], c[i], 0.0)
            slopes = expected.T @ Z @ Z[i] + (np.arange(3) != y[i]) - size * expected[i]
            low, high = -99.0, 99.0
            for _ in range(200):
                level = (low + high) / 2
                shares = np.minimum(limits, (level - slopes) / size)
                low, high = (level, high) if shares.sum() < 0 else (low, level)
            expected[i] = shares
    for table in (X, csr_array(X)):
        line = primal.LinearProblem(table, np.zeros(25), c, bias, np.nan)
        A, W = np.zeros((25, 3)), np.zeros((3, 5))
        for _ in range(3):
            *parts, curves = linear_dual.row_parts(line)
            _loops.joint_epoch(
                *parts, y.astype(np.int32), c, curves, bias, order, A, W, np.zeros((3, 3)),
                np.zeros(1, dtype=np.int32),
            )  # fmt: skip
        assert np.allclose(A, expected, atol=1e-10)
        assert np.allclose(W, A.T @ Z, atol=1e-12)


def test_explanations():
    X, y = datasets.load_iris(return_X_y=True)
    why = LinearSVC().fit(X, y).explain(X[:4])
    assert why.contributions.shape == (4, 4, 3)
    assert why.gap() < 1e-12


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"loss": "hinge", "tol": 1e-8},
        {"penalty": "l1", "tol": 1e-8},
        {"multi_class": "crammer_singer"},
    ],
    ids=str,
)
def test_standardised_columns_are_those_of_a_scaler(given):
    """Centred and divided, told in the user's columns; the same model as behind a StandardScaler."""
    X, y = datasets.load_wine(return_X_y=True)
    X = X * np.logspace(-4, 4, 13) + 7
    scaler = StandardScaler().fit(X)
    own = LinearSVC(standardize=True, **given).fit(X, y)
    by_hand = LinearSVC(**given).fit(scaler.transform(X), y)
    assert np.allclose(own.coef_ * scaler.scale_, by_hand.coef_, atol=1e-6)
    scores = by_hand.decision_function(scaler.transform(X))
    assert np.allclose(own.decision_function(X), scores, atol=1e-6)
    assert np.allclose(own.decision_function(X), X @ own.coef_.T + own.intercept_, atol=1e-6)
    assert own.score(X, y) == 1.0
    theirs = make_pipeline(StandardScaler(), peer.LinearSVC(tol=1e-8, max_iter=100_000))
    assert LinearSVC(standardize=True).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) == (
        theirs.fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    )


def dual_of_squares(X, t, beta, epsilon, C, squared):
    """The dual objective of signed multipliers, for |v|**2 / 2 (or |v|_1: shrunk to be feasible)."""
    Z = np.column_stack([X, np.ones(len(X))])
    pull = Z.T @ beta
    shrunk = 1.0 if squared else min(1.0, 1.0 / np.abs(pull).max())
    beta = shrunk * beta
    value = t @ beta - epsilon * np.abs(beta).sum() - (beta**2).sum() / (4 * C)
    return value - 0.5 * (Z.T @ beta) @ (Z.T @ beta) * squared


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_squared_losses_know_their_duality_gap(penalty):
    """Primal minus dual objective, written out from the answer after a few iterations."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X, t = StandardScaler().fit_transform(X), 2.0 * y - 1
    with pytest.warns(ConvergenceWarning):
        early = LinearSVC(penalty=penalty, C=0.1, max_iter=2).fit(X, y)
    for model in (early, LinearSVC(penalty=penalty, C=0.1).fit(X, y)):
        z = model.decision_function(X)
        beta = 2 * 0.1 * t * np.maximum(1 - t * z, 0)
        steps = model.history_
        gap = steps["objective"][-1] - dual_of_squares(X, t, beta, 0.0, 0.1, penalty == "l2")
        assert steps["duality_gap"][-1] == pytest.approx(gap, rel=1e-6, abs=1e-8)
    assert (steps["duality_gap"] >= -1e-9).all() and steps["duality_gap"][-1] <= 1e-4
    assert steps["duality_gap"][0] > 1


@pytest.mark.parametrize("Model", [LinearSVC, LinearSVR])
def test_hard_margins_are_had_elsewhere(Model):
    with pytest.raises(
        ParameterError, match=r"'C' .*for C=inf use SVC or SVR with kernel='linear'"
    ):
        Model(C=np.inf).fit([[0.0], [1.0]], [0, 1])


def test_columns_that_cannot_be_centred():
    """Without an intercept, or with zeros to keep, columns are only divided."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((100, 6)) < 0.3, rng.normal(3, 1, (100, 6)), 0.0) * np.logspace(
        -3, 3, 6
    )
    y = (X[:, 2] > 0).astype(int)
    thin = LinearSVC(standardize=True).fit(csr_array(X), y)
    divided = LinearSVC().fit(X / X.std(axis=0), y)
    assert np.allclose(thin.coef_ * X.std(axis=0), divided.coef_, atol=1e-8)
    free = LinearSVC(standardize=True, fit_intercept=False).fit(X, y)
    divided = LinearSVC(fit_intercept=False).fit(X / X.std(axis=0), y)
    assert np.allclose(free.coef_ * X.std(axis=0), divided.coef_, atol=1e-8)
    assert (free.intercept_ == 0).all()


def test_a_standardised_tube_is_that_of_a_scaler():
    X, y = datasets.load_diabetes(return_X_y=True)
    X, scaler = X * 1e3 + 5, StandardScaler()
    own = LinearSVR(standardize=True).fit(X, y)
    by_hand = LinearSVR().fit(scaler.fit_transform(X), y)
    assert np.allclose(own.predict(X), by_hand.predict(scaler.transform(X)), atol=1e-6)


@pytest.mark.parametrize(("name", "C"), [("breast_cancer", 1.0), ("wine", 100.0), ("iris", 10.0)])
def test_columns_of_very_different_units_converge(name, C):
    """Raw columns, where LIBLINEAR stops far from the minimum: every solver ends at a gap of nothing."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    for given in ({"multi_class": "crammer_singer"}, {"loss": "hinge"}):
        model = LinearSVC(C=C, **given).fit(X, y)
        assert model.status_.ok
        steps = model.history_
        assert steps["violation"][-1] <= 1e-4
        assert abs(steps["duality_gap"][-1]) <= 1e-7 * steps["objective"][-1]
    assert LinearSVC(C=C, penalty="l1").fit(X, y == 1).status_.ok


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_tube_around_columns_of_very_different_units(epsilon):
    X = datasets.load_breast_cancer(return_X_y=True)[0]
    model = LinearSVR(epsilon=epsilon).fit(X[:, 1:], X[:, 0])
    assert model.status_.ok
    assert abs(model.history_["duality_gap"][-1]) <= 1e-7 * model.history_["objective"][-1]


def options_of(kind, bias=0.7):
    rng = np.random.default_rng(3)
    X, y, c = rng.normal(size=(40, 4)) * [1, 9, 0.1, 1], rng.integers(0, 3, 40), rng.random(40)
    if kind == "classes":
        return interior_point.class_options(
            primal.LinearProblem(X, np.zeros(40), c, bias, np.nan), y, 3
        )
    targets, epsilon = (np.where(y > 1, 1.0, -1.0), np.nan) if kind == "margin" else (y * 2.0, 0.3)
    return interior_point.single_score_options(primal.LinearProblem(X, targets, c, bias, epsilon))


@pytest.mark.parametrize("kind", ["classes", "margin", "tube"])
@pytest.mark.parametrize("sparse", [False, True])
def test_steps_from_inside_end_at_the_minimum(kind, sparse):
    """Primal and dual objectives, written out, agree; so does the sum of the squares of a step."""
    options = options_of(kind)
    line = options.problem
    W = np.random.default_rng(0).random(options.d.shape)
    Z = np.column_stack([line.X, np.full(40, 0.7)])
    M = [options.B.T @ (np.diag(w) - np.outer(w, w) / w.sum()) @ options.B for w in W]
    plain = np.eye(len(M[0]) * 5) + sum(np.kron(m, np.outer(z, z)) for m, z in zip(M, Z))
    if sparse:
        options = replace(options, problem=replace(line, X=csr_array(line.X)))
    assert np.allclose(options.hessian(W), plain, rtol=1e-12, atol=1e-8)
    A = interior_point.solve(options, np.zeros(1, dtype=np.int32))
    assert (A >= 0).all()
    assert np.allclose(A.sum(axis=1), line.costs, rtol=1e-12)
    V = options.transposed(options.moves(A))
    own = (options.b * (Z @ V.T)).sum(axis=1)
    cost = 0.5 * (V * V).sum() + line.costs @ (options.values(V).max(axis=1) - own)
    assert cost == pytest.approx((A * options.d).sum() - 0.5 * (V * V).sum(), rel=1e-6)


def test_bad_input():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ParameterError, match="penalty='l1' and loss='hinge'"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter of LinearSVC"):
        LinearSVC(C=0).fit(X, y)
    with pytest.raises(ValueError, match=r"must be one of \{'ovr', 'crammer_singer'\}"):
        LinearSVC(multi_class="ovo").fit(X, y)
    with pytest.raises(DataError, match="exceeds"):
        LinearSVC().fit(X * 1e200, y)
    X, y = datasets.make_classification(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="violated by"):
        LinearSVC(loss="hinge", C=100, max_iter=2).fit(X, y)


@pytest.mark.parametrize("part", ["coef_", "means_"])
def test_forged_files_are_refused(part, tmp_path):
    X, y = datasets.load_iris(return_X_y=True)
    for model in (LinearSVC().fit(X, y), LinearSVR(loss="squared_epsilon_insensitive").fit(X, y)):
        setattr(model, part, getattr(model, part)[..., 1:].copy())
        model.save(tmp_path / "m.pellucid")
        with pytest.raises(ModelFileError):
            pellucid.load(tmp_path / "m.pellucid")
