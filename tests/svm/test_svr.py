"""SVR and OneClassSVM against LIBSVM's optimum, their own optimality conditions, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn import svm as peer

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, ModelFileError
from pellucid.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM, dual


def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    yield "sine", X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
    yield "offset", X, 500 + 20 * X[:, 0] + rng.normal(size=120)
    yield "steps", np.round(X), np.round(3 * X[:, 1])
    X, y = datasets.load_diabetes(return_X_y=True)
    yield "diabetes", X[:200] * 20, y[:200]


def kernel_matrix(name, X, Z, gamma):
    if name == "rbf":
        return np.exp(-gamma * ((X[:, None] - Z[None]) ** 2).sum(axis=2))
    return X @ Z.T if name == "linear" else (gamma * (X @ Z.T)) ** 3


@pytest.mark.parametrize("case", list(tables()), ids=lambda case: case[0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_tube_of_libsvm(case, kernel):
    """The dual objective from the multipliers, in one formula for both."""
    _, X, y = case
    ours = SVR(kernel=kernel, tol=1e-8, epsilon=0.2).fit(X, y)
    theirs = peer.SVR(kernel=kernel, tol=1e-10, epsilon=0.2).fit(X, y)
    assert ours.status_.code == "converged"

    def objective(model):
        a = model.dual_coef_[0]
        K = kernel_matrix(kernel, model.support_vectors_, model.support_vectors_, theirs._gamma)
        return a @ y_of(model) - 0.2 * np.abs(a).sum() - 0.5 * a @ K @ a

    def y_of(model):
        return y[model.support_]

    # Equal rows with different targets are told apart by both; equal (x, y) are one row of ours.
    assert objective(ours) == pytest.approx(objective(theirs), rel=1e-8)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-4 * np.abs(y).max())
    assert abs(ours.dual_coef_.sum()) < 1e-9
    gaps = ours.history_["duality_gap"]
    assert 0 <= gaps[-1] <= 1e-6 * max(1.0, abs(ours.history_["objective"][-1])) + 1e-6


def test_straight_line_by_hand():
    """Four rows on y = 2x + 1; a tube of half width 0.5 around a flatter line."""
    X, y = np.arange(4.0)[:, None], 2 * np.arange(4.0) + 1
    model = SVR(kernel="linear", C=100, epsilon=0.5, tol=1e-9).fit(X, y)
    # slope (6 - 2 * 0.5) / 3 touches the tube at both ends, the flattest line that costs nothing
    assert model.coef_[0, 0] == pytest.approx(5 / 3, abs=1e-7)
    assert model.intercept_[0] == pytest.approx(1.5, abs=1e-7)
    assert sorted(model.support_) == [0, 3]
    why = model.explain([[2.0]])
    # half a step from the mean of the rows, where the line says 4
    assert why.contributions[0, 0, 0] == pytest.approx(5 / 6, abs=1e-6)
    assert why.base[0] == pytest.approx(4.0, abs=1e-6)


def test_hard_tubes():
    """C=inf: the flattest function that leaves no row outside, or the news that there is none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] + 50
    hard = SVR(kernel="linear", C=np.inf, epsilon=0.1, tol=1e-8).fit(X, y)
    dear = SVR(kernel="linear", C=1e6, epsilon=0.1, tol=1e-8).fit(X, y)
    assert hard.status_.ok and np.abs(hard.predict(X) - y).max() <= 0.1 + 1e-7
    assert np.allclose(hard.coef_, dear.coef_, atol=1e-6)
    assert np.linalg.norm(hard.coef_) < np.linalg.norm([1.0, 2.0, 3.0])
    for unit in (1.0, 1e6):
        with pytest.raises(DataError, match="no function of this kernel"):
            SVR(kernel="linear", C=np.inf).fit(X, unit * (y + np.sin(9 * X[:, 0])))
    bent = SVR(C=np.inf).fit(X, y + np.sin(9 * X[:, 0]))
    assert np.abs(bent.predict(X) - y - np.sin(9 * X[:, 0])).max() <= 0.1 + 1e-3


def test_large_tables_use_working_sets(monkeypatch):
    X, y = datasets.make_friedman1(500, random_state=0)
    whole = SVR(tol=1e-7).fit(X, y)
    monkeypatch.setattr(dual, "WHOLE", 100)
    monkeypatch.setattr(dual, "WORKING", 64)
    parts = SVR(tol=1e-7, cache_size=0.3).fit(X, y)
    assert len(parts.history_["iteration"]) > 5
    a, b = (model.history_["objective"][-1] for model in (whole, parts))
    assert a == pytest.approx(b, rel=1e-11)
    coarse = SVR(tol=1e-3).fit(X, y)  # rows in single precision
    assert np.allclose(coarse.predict(X), whole.predict(X), atol=5e-3)


def test_single_precision_is_left_when_it_is_too_coarse(monkeypatch):
    """Multipliers of 1e6 times a rounding of 6e-8 would exceed the tolerance."""
    monkeypatch.setattr(dual, "WHOLE", 50)
    monkeypatch.setattr(dual, "WORKING", 40)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = 1e5 * np.sin(3 * X[:, 0])
    model = SVR(C=1e6, tol=1e-2, gamma=0.5, max_iter=400_000)
    model.fit(X, y)
    assert model.status_.ok
    K = kernel_matrix("rbf", X, model.support_vectors_, 0.5)
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    free = np.abs(model.dual_coef_[0]) < 1e6
    errors = np.abs(y - f)[model.support_[free]]
    assert np.allclose(errors, 0.1, atol=0.02)


def test_weights_are_repetition():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(60, 3)), rng.normal(size=60), rng.integers(0, 4, 60)
    for Model in (SVR, OneClassSVM):
        ours = Model().fit(X, y, sample_weight=w)
        copies = Model().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert np.array_equal(ours.predict(X), copies.predict(X))


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.91])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_region_of_libsvm(nu, kernel):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3)) + 1.0
    ours = OneClassSVM(nu=nu, kernel=kernel, tol=1e-9).fit(X)
    theirs = peer.OneClassSVM(nu=nu, kernel=kernel, tol=1e-10).fit(X)
    scale = np.abs(theirs.score_samples(X)).max()
    assert np.allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-6 * scale)
    assert np.allclose(ours.offset_, theirs.offset_, atol=1e-6 * scale)
    outside = (ours.decision_function(X) < -1e-9 * scale).mean()
    assert outside <= nu + 1e-12 <= len(ours.support_) / 150 + 1e-9
    assert ours.dual_coef_.sum() == pytest.approx(nu * 150)
    assert set(ours.fit_predict(X)) <= {-1, 1}


@pytest.mark.parametrize("size", [1e-4, 1e-20])
@pytest.mark.parametrize("Model", [SVR, LinearSVR])
def test_small_targets_are_told_apart(Model, size):
    """tol counts in units of the targets: the tube of y * size is that of y."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X[:, 0] + X[:, 1]
    own = Model(epsilon=0.1 * size, C=10 * size).fit(X, y * size).predict(X) / size
    assert np.allclose(own, Model(epsilon=0.1, C=10).fit(X, y).predict(X), atol=0.005)


def test_a_region_of_few_outliers():
    """nu bounds the share of rows outside; 1e-6 of 150 rows leaves none far outside."""
    X = datasets.load_iris().data
    region = OneClassSVM(nu=1e-6).fit(X)
    assert (region.decision_function(X) > -1e-3 * region.offset_).all()
    assert (region.predict(X) > 0).mean() > 0.8


@pytest.mark.parametrize("size", [1e-10, 1e-30, 1e6])
@pytest.mark.parametrize("Model", [SVC, SVR])
def test_prices_and_units_that_cancel(Model, size):
    """w'x is the same for X / size and C size**2, though the kernel is tiny."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X[:, 0] + X[:, 1] ** 2
    y = (y > 0.5).astype(int) if Model is SVC else y
    own = Model(kernel="linear", C=size**-2, max_time=20, tol=1e-6).fit(X * size, y)
    plain = Model(kernel="linear", tol=1e-6).fit(X, y)
    assert own.status_.ok
    assert np.allclose(own.coef_ * size, plain.coef_, atol=1e-4)


def test_a_region_that_may_leave_out_all_rows():
    """nu = 1: every multiplier is 1, and LIBSVM has no finite offset."""
    X = np.random.default_rng(1).normal(size=(50, 2))
    model = OneClassSVM(nu=1.0, gamma=0.3).fit(X)
    assert np.array_equal(model.dual_coef_, np.ones((1, 50)))
    assert np.allclose(model.score_samples(X), kernel_matrix("rbf", X, X, 0.3).sum(axis=1))
    assert np.isfinite(model.offset_).all()


def test_explanations():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    for model in (SVR().fit(X, y), OneClassSVM().fit(X)):
        why = model.explain(X[:4])
        assert why.gap() < 1e-12
        assert (np.abs(why.votes[:, 0, 0]) >= np.abs(why.votes[:, -1, 0])).all()
    straight = OneClassSVM(kernel="linear").fit(X + 3).explain(X[:2] + 3)
    assert straight.gap() < 1e-10


def test_caps_are_honest():
    X, y = datasets.make_friedman1(300, random_state=0)
    with pytest.warns(ConvergenceWarning, match="2 steps were not enough"):
        model = SVR(max_iter=2).fit(X, y)
    assert model.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match="seconds .* were not enough"):
        late = SVR(C=1e4, tol=1e-9, max_time=1e-9).fit(X, y)
    assert late.status_.code == "max_time"


@pytest.mark.filterwarnings("ignore:SVR. The kernel 'sigmoid' is not positive")
def test_standardised_columns():
    rng = np.random.default_rng(3)
    X = rng.normal(loc=[1.0, -2.0, 3.0], size=(80, 3)) * [1e-4, 1.0, 1e5]
    y = X[:, 0] * 1e4 + X[:, 2] * 1e-5
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for kernel in ("rbf", "linear", "poly", "sigmoid", lambda A, B: (1 + A @ B.T) ** 2):
        own = SVR(standardize=True, kernel=kernel, tol=1e-7).fit(X, y)
        by_hand = SVR(kernel=kernel, tol=1e-7).fit(Z, y)
        assert np.allclose(own.predict(X), by_hand.predict(Z), atol=1e-5)
        assert np.allclose(own.support_vectors_, X[own.support_])
        assert np.isclose(own.explain(X[:3]).gap(), 0, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("Model", [SVC, SVR, OneClassSVM])
def test_standardised_columns_far_from_zero_have_the_width_of_z_scores(Model, container):
    """A year among lengths: its mean must not be taken for spread."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(90, 3)) * [1e-2, 1.0, 0.8] + [40.0, -3.0, 2008.0]
    y = (X[:, 0] > 40) if Model is SVC else X[:, 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    own, by_hand = Model(standardize=True).fit(container(X), y), Model().fit(Z, y)
    assert own.gamma_ == pytest.approx(by_hand.gamma_, rel=1e-6)
    assert own.gamma_ == pytest.approx(1 / 3, rel=1e-6)


def test_a_standardised_linear_region_is_that_of_a_scaler():
    """Behind a StandardScaler 0 is amid the rows: the border is another one than without."""
    X, _ = datasets.load_iris(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    own = OneClassSVM(kernel="linear", nu=0.3, tol=1e-8, standardize=True).fit(X)
    by_hand = OneClassSVM(kernel="linear", nu=0.3, tol=1e-8).fit(Z)
    theirs = peer.OneClassSVM(kernel="linear", nu=0.3, tol=1e-5).fit(Z)
    assert np.allclose(own.decision_function(X), by_hand.decision_function(Z), atol=1e-6)
    assert np.allclose(own.decision_function(X), theirs.decision_function(Z), atol=1e-4)
    line = X @ own.coef_[0] + own.intercept_
    assert np.allclose(line, own.decision_function(X), atol=1e-10)
    assert np.allclose(own.score_samples(X) - own.offset_, line, atol=1e-10)
    assert own.explain(X).gap() < 1e-10


@pytest.mark.parametrize(
    ("Model", "given"),
    [
        *((M, {"kernel": k}) for M in (SVC, SVR, OneClassSVM) for k in ("rbf", "linear")),
        (LinearSVC, {}),
        (LinearSVR, {}),
    ],
)
def test_only_numbers_are_divided_by_their_deviation(Model, given):
    """Levels and flags of missing cells keep their unit: they stand beside the scaler."""
    import pandas as pd

    rng = np.random.default_rng(0)
    x, level = rng.normal(3, 50, 60), np.where(rng.random(60) < 0.1, "rare", "usual")
    x[:4] = np.nan
    y = ((level == "rare") | (x > 40)).astype(int)
    filled, flag = np.where(np.isnan(x), np.nanmean(x), x), np.isnan(x)
    Z = np.column_stack([filled / filled.std(), flag, level == "rare", level == "usual"]) * 1.0
    Z -= Z.mean(axis=0)
    given = given | {"tol": 1e-8}
    own = Model(standardize=True, **given).fit(pd.DataFrame({"x": x, "level": level}), y)
    by_hand = Model(**given).fit(Z, y)
    ask = "predict" if Model in (SVR, LinearSVR) else "decision_function"
    ours = getattr(own, ask)(pd.DataFrame({"x": x, "level": level}))
    assert np.allclose(ours, getattr(by_hand, ask)(Z), atol=1e-5)


def test_bad_input():
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="'epsilon' parameter of SVR"):
        SVR(epsilon=-1).fit(X, y)
    with pytest.raises(ValueError, match="'C' parameter of SVR"):
        SVR(C=0).fit(X, y)
    with pytest.raises(ValueError, match="'nu' parameter of OneClassSVM"):
        OneClassSVM(nu=0.0).fit(X)
    with pytest.raises(DataError, match="semi-definite"):
        SVR(kernel="precomputed").fit(-np.eye(3), y)


@pytest.mark.parametrize("part", ["dual_coef_", "vectors_", "n_support_", "scale_", "support_"])
def test_forged_files_are_refused(part, tmp_path):
    rng = np.random.default_rng(0)
    model = SVR(standardize=True).fit(rng.normal(size=(30, 2)), rng.normal(size=30))
    value = getattr(model, part)
    forged = value + np.int32(99) if value.dtype.kind == "i" else value[..., 1:].copy()
    setattr(model, part, forged)
    model.save(tmp_path / "m.pellucid")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m.pellucid")
