"""SVC against worked examples, LIBSVM's optimum, its own optimality conditions, and bad input."""

import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn import svm as peer
from sklearn.preprocessing import StandardScaler

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError
from pellucid.svm import (
    SVC,
    _loops,
    contributions,
    dual,
    kernel_base,
    kernel_cache,
    kernel_checks,
    kernels,
)

FOUR = np.array([[0.0, 0], [2, 2], [-1, 0], [3, 3]]), np.array([0, 1, 0, 1])


def test_gaussian_kernel_is_exact_in_both_builds():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(9, 3)) * 4, rng.normal(size=(21, 3)) * 4
    squared = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    norms = (X**2).sum(axis=1), (Z**2).sum(axis=1)
    found = []
    for wide in (True, False):
        _loops.use_wide(wide)
        products = np.ascontiguousarray(X @ Z.T)
        _loops.gaussian(products, *norms, 0.7)
        found.append(products)
    _loops.use_wide(True)
    assert found[0].tobytes() == found[1].tobytes()
    assert np.allclose(found[0], np.exp(-0.7 * squared), rtol=1e-12, atol=0)
    far = np.array([[0.0, 0.0]])
    _loops.gaussian(far, np.array([0.0]), np.array([0.0, 2000.0]), 1.0)
    assert far.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize("p, m", [(1, 1), (3, 21), (20, 700), (kernels.NARROW, 40)])
def test_sums_of_gaussians_without_the_kernel_are_those_of_the_kernel(p, m):
    rng = np.random.default_rng(p)
    kernel = kernels.Kernel("rbf", 0.7 / p, 3.0, 0.0)
    X, Z, weights = rng.normal(size=(263, p)), rng.normal(size=(m, p)), rng.normal(size=(m, 1))
    X[:m] = Z[:263]  # rows that are vectors
    found = []
    for wide in (True, False):
        _loops.use_wide(wide)
        found.append(kernels.weighted_sum(kernel, X, Z, weights))
    _loops.use_wide(True)
    assert found[0].tobytes() == found[1].tobytes()
    squared = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    expected = np.exp(-kernel.gamma * squared) @ weights
    assert np.abs(found[0] - expected).max() < 2e-14 * np.abs(weights).sum()
    alone = [kernels.weighted_sum(kernel, X[[i]], Z, weights)[0] for i in (0, 1, 130, 262)]
    assert np.array(alone).tobytes() == found[0][[0, 1, 130, 262]].tobytes()


def test_rows_beyond_all_numbers_are_far_from_every_vector():
    kernel = kernels.Kernel("rbf", 1.0, 3.0, 0.0)
    Z, far = np.array([[1.0, 1e100], [2.0, -1e100]]), np.array([[1e300, 1e300], [-1e200, 0.0]])
    with np.errstate(over="ignore"):
        assert kernels.weighted_sum(kernel, far, Z, np.ones((2, 1))).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("megabytes", [0.001, 3.0, 200.0])
def test_kernel_rows_stay_below_the_limit(monkeypatch, megabytes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1700, 3)), rng.integers(0, 2, 1700)
    kept, store = [], kernel_cache.KernelRows._store
    monkeypatch.setattr(
        kernel_cache.KernelRows, "_store", lambda *given: kept.append(store(*given)) or kept[-1]
    )
    model = SVC(cache_size=megabytes).fit(X, y)
    room = [array.nbytes for array in kept]
    least = dual.WORKING * 1700 * 4
    assert max(room) <= max(megabytes * 2**20, least)  # one working set is always held,
    assert max(room) < 1700 * 1700 * 4  # and never all rows
    assert model.status_.ok


def plain_steps(K, s, C, a, g, tol):
    """The textbook loop, one pair at a time."""
    while True:
        pull = -s * g
        up = np.where(s > 0, a < C, a > 0)
        low = np.where(s > 0, a > 0, a < C)
        i = int(np.flatnonzero(up)[np.argmax(pull[up])])
        if pull[i] - pull[low].min() <= tol:
            return
        curve = np.maximum(K[i, i] + np.diagonal(K) - 2 * K[i], 1e-12)
        gain = np.where(low & (pull < pull[i]), (pull[i] - pull) ** 2 / curve, -np.inf)
        j = int(np.argmax(gain))
        step = (pull[i] - pull[j]) / curve[j]
        step = min(step, C[i] - a[i] if s[i] > 0 else a[i], a[j] if s[j] > 0 else C[j] - a[j])
        a[i] += s[i] * step
        a[j] -= s[j] * step
        g += s * step * (K[i] - K[j])


def test_compiled_steps_follow_the_plain_loop():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    s = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    K, C = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)), np.full(40, 2.0)
    ours, theirs = (np.zeros(40), -np.ones(40)), (np.zeros(40), -np.ones(40))
    stop = np.zeros(1, dtype=np.int32)
    _loops.steps(K, np.diagonal(K).copy(), s, C, *ours, 1e-6, 10**6, np.inf, stop)
    plain_steps(K, s, C, *theirs, 1e-6)
    assert np.allclose(ours[0], theirs[0], atol=1e-9)
    assert np.allclose(ours[1], s * (K @ (s * ours[0])) - 1, atol=1e-12)
    assert abs(s @ ours[0]) < 1e-12


def test_hard_margin():
    model = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(*FOUR)
    assert np.allclose(model.coef_, [[0.5, 0.5]], atol=1e-6)
    assert np.allclose(model.intercept_, [-1.0], atol=1e-6)
    assert dict(zip(model.support_, model.dual_coef_[0].round(6))) == {0: -0.25, 1: 0.25}
    iris = datasets.load_iris()
    X, y = iris.data[:100, 2:], iris.target[:100]
    petals = SVC(kernel="linear", C=np.inf, tol=1e-9).fit(X, y)
    assert np.allclose(petals.coef_, [[1.294117, 0.823529]], atol=1e-6)
    assert np.allclose(petals.intercept_, [-3.788235], atol=1e-6)
    assert sorted(petals.support_) == [44, 98]
    assert 1 / np.linalg.norm(petals.coef_) == pytest.approx(0.65192035, abs=1e-6)
    with pytest.raises(DataError, match="C=inf"):
        SVC(kernel="linear", C=np.inf).fit(iris.data[50:], iris.target[50:])
    with pytest.raises(DataError, match="C=inf"):
        SVC(C=np.inf).fit([[0.0], [0.0]], [0, 1])


def test_soft_margin_with_rows_at_their_bounds():
    model = SVC(kernel="linear", C=0.1, tol=1e-9).fit(*FOUR)
    assert np.allclose(model.coef_, [[0.296, 0.272]], atol=1e-6)
    assert np.allclose(model.intercept_, [-0.704], atol=1e-6)
    found = dict(zip(model.support_, np.abs(model.dual_coef_[0]).round(6)))
    assert found == {0: 0.1, 1: 0.1, 2: 0.024, 3: 0.024}


@pytest.mark.parametrize(
    ("gamma", "count", "objective", "b"),
    [(1.0, [8, 11], 3.14374140386, 0.10727471), ("auto", [6, 5], 2.40342103578, 0.04034385)],
)
def test_two_classes_of_iris(gamma, count, objective, b):
    iris = datasets.load_iris()
    model = SVC(gamma=gamma, tol=1e-9).fit(iris.data[:100], iris.target[:100])
    assert model.n_support_.tolist() == count
    assert model.history_["objective"][-1] == pytest.approx(objective, abs=1e-9)
    assert model.intercept_[0] == pytest.approx(b, abs=1e-6)
    if gamma == 1.0:
        rows = [13, 14, 15, 20, 22, 24, 41, 44, 50, 60, 62, 64, 68, 70, 77, 83, 84, 85, 98]
        assert sorted(model.support_) == rows
        assert np.abs(model.dual_coef_).max() == pytest.approx(0.8673057889, abs=1e-6)


def tables():
    scale = StandardScaler().fit_transform
    for load in (datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer):
        X, y = load(return_X_y=True)
        yield load.__name__, scale(X), (y == 1).astype(int)
    for seed in range(4):
        X, y = datasets.make_classification(300, 8, n_informative=4, flip_y=0.2, random_state=seed)
        yield f"noise {seed}", X, y
    X, y = datasets.make_circles(200, noise=0.2, factor=0.5, random_state=0)
    yield "circles", X, y
    X, y = datasets.make_moons(200, noise=0.3, random_state=0)
    yield "moons", X, y
    rng = np.random.default_rng(0)
    yield "no signal", rng.normal(size=(150, 3)), rng.integers(0, 2, 150)


@pytest.mark.parametrize("case", list(tables()), ids=lambda case: case[0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_objective_of_libsvm_and_optimality(case, kernel):
    """Both objectives from the multipliers, in one formula; conditions violated by at most tol."""
    _, X, y = case
    tol = 1e-9
    ours = SVC(kernel=kernel, tol=tol).fit(X, y)
    theirs = peer.SVC(kernel=kernel, tol=1e-10).fit(X, y)
    assert ours.status_.code == "converged"
    assert ours.history_["violation"][-1] <= tol

    def objective(a, vectors):
        reference = peer.SVC(kernel=kernel, gamma=theirs._gamma)
        K = kernel_matrix(reference, vectors, theirs._gamma)
        return np.abs(a).sum() - 0.5 * a @ K @ a

    found = objective(ours.dual_coef_[0], ours.support_vectors_)
    expected = objective(theirs.dual_coef_[0], theirs.support_vectors_)
    assert found == pytest.approx(expected, rel=1e-8)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.5 / len(y))


def kernel_matrix(model, X, gamma):
    if model.kernel == "rbf":
        return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return X @ X.T if model.kernel == "linear" else (gamma * (X @ X.T)) ** 3


@pytest.mark.parametrize("load", [datasets.load_iris, datasets.load_breast_cancer])
def test_accuracies_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    for table in (X, StandardScaler().fit_transform(X)):
        ours, theirs = SVC().fit(table[::2], y[::2]), peer.SVC().fit(table[::2], y[::2])
        assert ours.score(table[1::2], y[1::2]) == theirs.score(table[1::2], y[1::2])


@pytest.mark.parametrize("gamma", [1.0, "auto"])
def test_iris_is_divided_without_error(gamma):
    X, y = datasets.load_iris(return_X_y=True)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(100)
        model = SVC(gamma=gamma).fit(X[order[:60]], y[order[:60]])
        assert model.score(X[order[60:]], y[order[60:]]) == 1.0


def test_bits_do_not_depend_on_threads():
    """A table that takes several working sets."""
    X, y = datasets.make_classification(2500, 8, n_informative=4, flip_y=0.1, random_state=0)
    found = []
    for threads in (1, 2, 4):
        pellucid.set_threads(threads)
        found.append(SVC().fit(X, y).decision_function(X).tobytes())
    pellucid.set_threads(None)
    assert len(set(found)) == 1


def test_the_history_holds_the_duality_gap():
    X, y = datasets.make_classification(2000, 8, n_informative=4, flip_y=0.1, random_state=0)
    model = SVC(tol=1e-7).fit(X, y)
    gap = model.history_["duality_gap"]
    assert (gap >= 0).all()
    # primal minus dual, from the fitted model itself
    signs = np.where(y == 1, 1.0, -1.0)
    slack = np.maximum(0, 1 - signs * model.decision_function(X)).sum()
    a = model.dual_coef_[0]
    size = a @ (model.decision_function(model.support_vectors_) - model.intercept_[0])
    assert 0.5 * size + slack - (np.abs(a).sum() - 0.5 * size) == pytest.approx(gap[-1], abs=1e-4)
    assert gap[-1] < 1e-3 < gap[0]


def test_small_tables_have_a_history_too():
    """One working set holds all rows; the objective rises and the gap closes on the way."""
    X, y = datasets.make_classification(800, 8, n_informative=4, flip_y=0.1, random_state=0)
    steps = SVC(C=10, tol=1e-6).fit(X, y).history_
    assert len(steps["iteration"]) > 10 and (np.diff(steps["iteration"]) > 0).all()
    assert (np.diff(steps["objective"]) >= -1e-9).all()
    assert steps["duality_gap"][-1] < 0.1 < steps["duality_gap"][5]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_several_classes_as_in_scikit_learn(kernel, shape):
    X, y = datasets.load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    gamma = 0.01 if kernel == "sigmoid" else "scale"
    given = {"kernel": kernel, "decision_function_shape": shape, "gamma": gamma}
    ours, theirs = SVC(tol=1e-8, **given).fit(X, y), peer.SVC(tol=1e-10, **given).fit(X, y)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99
    if kernel == "linear":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_each_class_against_the_rest(kernel, tmp_path):
    """Every machine is that of two classes; scikit-learn's OneVsRestClassifier says the same."""
    from sklearn.multiclass import OneVsRestClassifier

    X, y = datasets.load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    labels = np.array(["a", "b", "c"])[y]
    given = X @ X.T if kernel == "precomputed" else X
    ours = SVC(kernel=kernel, multi_class="ovr", tol=1e-8).fit(given, labels)
    scores = ours.decision_function(given)
    name = "linear" if kernel == "precomputed" else kernel
    theirs = OneVsRestClassifier(peer.SVC(kernel=name, tol=1e-10)).fit(X, labels)
    assert np.allclose(scores, theirs.decision_function(X), atol=1e-5)
    assert np.array_equal(ours.predict(given), theirs.predict(X))
    assert np.array_equal(ours.predict(given), ours.classes_[scores.argmax(axis=1)])
    assert ours.dual_coef_.shape == (3, len(ours.support_))
    assert ours.intercept_.shape == ours.n_iter_.shape == (3,)
    for k in range(3):
        alone = SVC(kernel=kernel, tol=1e-8).fit(given, y == k)
        assert np.allclose(scores[:, k], alone.decision_function(given), atol=1e-5)
    ours.save(tmp_path / "m.pellucid")
    assert np.array_equal(pellucid.load(tmp_path / "m.pellucid").decision_function(given), scores)
    why = ours.explain(given[:4])
    assert why.gap() < 1e-10
    assert np.allclose(why.prediction, scores[:4])
    if kernel == "linear":
        assert ours.coef_.shape == (3, 13)
        assert why.contributions.shape == (4, 13, 3)


def test_the_rest_and_its_refusals():
    X, y = datasets.load_iris(return_X_y=True)
    two = SVC(multi_class="ovr").fit(X[:100], y[:100])
    pair = SVC().fit(X[:100], y[:100])
    assert np.array_equal(two.decision_function(X), pair.decision_function(X))
    with pytest.raises(ParameterError, match="multi_class='ovr' learns one score per class"):
        SVC(multi_class="ovr", decision_function_shape="ovo").fit(X, y)
    with pytest.raises(DataError, match="class 1 from the rest"):
        SVC(kernel="linear", C=np.inf, multi_class="ovr").fit(X[:, 2:], y)
    noise = np.random.default_rng(0)
    X, y = noise.normal(size=(90, 3)), noise.integers(0, 3, 90)
    sure = SVC(multi_class="ovr", calibrate=True).fit(X, y)
    assert np.array_equal(sure.predict(X), sure.predict_proba(X).argmax(axis=1))
    w = noise.integers(0, 3, 90)
    copies = SVC(multi_class="ovr").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    by_weight = SVC(multi_class="ovr").fit(X, y, sample_weight=w)
    assert np.array_equal(copies.decision_function(X), by_weight.decision_function(X))


def test_large_tables_use_working_sets(monkeypatch):
    """The same optimum as with one working set."""
    from pellucid.svm import dual

    X, y = datasets.make_classification(600, 6, n_informative=4, flip_y=0.1, random_state=0)
    whole = SVC(tol=1e-8).fit(X, y)
    monkeypatch.setattr(dual, "WHOLE", 100)
    monkeypatch.setattr(dual, "WORKING", 64)
    parts = SVC(tol=1e-8, cache_size=0.5).fit(X, y)
    assert len(parts.history_["iteration"]) > 5
    assert parts.history_["objective"][-1] == pytest.approx(
        whole.history_["objective"][-1], rel=1e-12
    )
    assert np.allclose(whole.decision_function(X), parts.decision_function(X), atol=1e-6)


def test_weights_are_repetition():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(80, 3)), rng.integers(0, 2, 80), rng.integers(1, 4, 80)
    for balance in (None, "balanced"):
        by_weight = SVC(class_weight=balance).fit(X, y, sample_weight=w)
        repeated = SVC(class_weight=balance).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        assert np.array_equal(by_weight.decision_function(X), repeated.decision_function(X))
        assert by_weight.n_support_.tolist() == repeated.n_support_.tolist()
        assert len(np.unique(by_weight.support_vectors_, axis=0)) == len(by_weight.support_)


def test_predictions_follow_the_decision_function():
    X, y = datasets.make_blobs(200, centers=5, cluster_std=4.0, random_state=0)
    model = SVC().fit(X, y)
    assert np.array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


def test_given_and_own_kernels():
    X, y = datasets.load_iris(return_X_y=True)
    own = SVC(kernel=lambda A, B: A @ B.T, tol=1e-6).fit(X, y)
    given = SVC(kernel="precomputed", tol=1e-6).fit(X @ X.T, y)
    exact = SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert np.allclose(exact.decision_function(X), own.decision_function(X), atol=1e-4)
    expected = exact.decision_function(X[:20])
    assert np.allclose(given.decision_function(X[:20] @ X.T), expected, atol=1e-4)


def test_bad_kernels_are_named():
    y = [0, 1, 0]
    with pytest.raises(DataError, match="semi-definite"):
        SVC(kernel="precomputed").fit(-np.eye(3), y)
    with pytest.raises(DataError, match="square"):
        SVC(kernel="precomputed").fit(np.ones((3, 2)), y)
    with pytest.raises(DataError, match="symmetric"):
        SVC(kernel="precomputed").fit(np.triu(np.ones((3, 3))), y)
    with pytest.raises(DataError, match="one number per pair"):
        SVC(kernel=lambda A, B: np.ones(len(A))).fit(np.eye(3), y)
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        SVC(C=0.0).fit(np.eye(3), y)
    with pytest.raises(ValueError, match="'gamma' parameter of SVC"):
        SVC(gamma=-1.0).fit(np.eye(3), y)
    with pytest.raises(ValueError, match=r"'gamma' parameter of SVC .* \(0, inf\)"):
        SVC(gamma=0.0).fit(np.eye(3), y)
    with pytest.raises(DataError, match="returned nan: one number per pair"):
        SVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(np.eye(3), y)
    with pytest.raises(DataError, match="returned 'near': one number per pair"):
        SVC(kernel=lambda A, B: "near").fit(np.eye(3), y)
    with pytest.raises(DataError, match="contains NaN"):
        SVC(kernel="precomputed").fit(np.where(np.eye(3) == 1, np.nan, 0.0), y)
    known = SVC(kernel="precomputed").fit(np.eye(3), y)
    with pytest.raises(DataError, match="contains NaN"):
        known.predict([[1.0, np.nan, 0.0]])


def test_large_kernels_are_refused_with_proof(monkeypatch):
    """Without a factor of the whole: by Lanczos' method, and by the rows that the solver works on."""
    monkeypatch.setattr(kernel_checks, "WHOLE", 20)
    X, y = datasets.load_iris(return_X_y=True)
    far = np.abs(X[:, None] - X[None]).sum(axis=2)
    K = np.exp(-far)
    s = np.random.default_rng(0).choice([-1.0, 1.0], 150)
    for wrong in (-far, np.tanh(X @ X.T / 20 - 2), K - np.outer(s, s) / 30):
        bound = np.linalg.eigvalsh(wrong)[0]
        with pytest.raises(DataError, match="semi-definite") as told:
            SVC(kernel="precomputed").fit(wrong, y)
        said = float(str(told.value).split("at most ")[1].split(")")[0])
        assert bound * 1.01 <= said < 0  # a proof: no eigenvalue is said to be below the smallest
    assert SVC(kernel="precomputed").fit(K, y).status_.ok
    monkeypatch.setattr(kernel_checks, "STEPS", 1)  # finds nothing, so the working sets have to
    monkeypatch.setattr(dual, "WHOLE", 20)
    monkeypatch.setattr(dual, "WORKING", 40)
    with pytest.raises(DataError, match="semi-definite"):
        SVC(kernel="precomputed").fit(K - 0.9 * np.eye(150), y > 0)
    assert SVC(kernel="precomputed").fit(K, y > 0).status_.ok


def test_kernels_that_are_not_symmetric_name_the_cells():
    K = np.eye(9)
    K[7, 2] = 0.5
    with pytest.raises(DataError, match=r"K\[2, 7\] = 0, but K\[7, 2\] = 0.5"):
        SVC(kernel="precomputed").fit(K, np.arange(9) > 4)


def test_an_unfinished_fit_says_so():
    X, y = datasets.make_classification(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="3 steps were not enough"):
        model = SVC(max_iter=3).fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [3]


def test_parameters_without_effect():
    X, y = datasets.load_iris(return_X_y=True)
    plain = SVC().fit(X, y).decision_function(X)
    odd = SVC(shrinking=False, random_state=3, verbose=True, break_ties=True).fit(X, y)
    assert np.array_equal(plain, odd.decision_function(X))


def test_no_probabilities_that_contradict():
    assert not hasattr(SVC(), "predict_proba")
    assert not hasattr(SVC(), "predict_log_proba")


def test_explanations():
    X, y = datasets.load_iris(return_X_y=True)
    two = SVC().fit(X[:100], y[:100]).explain(X[:3])
    assert two.gap() < 1e-12
    assert (np.abs(two.votes[:, 0, 0]) >= np.abs(two.votes[:, -1, 0])).all()
    assert SVC().fit(X, y).explain(X[:3]).votes.shape[2] == 3
    straight = SVC(kernel="linear").fit(X[:100], y[:100]).explain(X[:3])
    assert straight.contributions.shape == (3, 4, 1)
    assert np.allclose(
        straight.contributions.sum(axis=(1, 2)) + straight.base, straight.prediction[:, 0]
    )


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_columns_explain_pairs_of_a_linear_kernel(offset):
    """Contributions add up to the decision function; what one column alone changes is its own doing."""
    X, y = datasets.load_iris(return_X_y=True)
    X, y = X + offset, np.array(["a", "b", "c"])[y]
    model = SVC(kernel="linear", tol=1e-6).fit(X, y)
    told = model.explain(X)
    assert told.contributions.shape == (150, 4, 3) and told.classes == ("a", "b", "c")
    assert told.gap() < 1e-10
    assert np.allclose(told.prediction, model.decision_function(X), atol=1e-12)
    means = X.mean(axis=0)
    assert np.allclose(told.base, model.decision_function(means[None])[0], atol=1e-9)
    one = np.tile(means, (4, 1)) + np.diag([3.0, -3.0, 2.0, 1.0])
    parts = model.explain(one).contributions
    for j in range(4):
        own = model.decision_function(one[j : j + 1])[0] - told.base
        assert np.allclose(parts[j, j], own, atol=1e-9)
        assert np.allclose(np.delete(parts[j], j, axis=0), 0, atol=1e-9)
    pairs = SVC(kernel="linear", tol=1e-6, decision_function_shape="ovo").fit(X, y)
    told = pairs.explain(X)
    assert told.classes == ("a over b", "a over c", "b over c") and told.gap() < 1e-9
    assert np.allclose(told.prediction, pairs.decision_function(X), atol=1e-12)
    assert np.allclose(told.contributions[7], (X[7] - means)[:, None] * pairs.coef_.T, atol=1e-9)


def test_scores_that_cancel_are_shared_by_size():
    parts = np.array([[[3.0], [-3.0 + 1e-9]], [[3.0], [-1.0]]])
    shares = contributions._shares(parts)
    assert np.allclose(shares[0, :, 0], 0.5) and np.allclose(shares[1, :, 0], [1.5, -0.5])


def test_kernel_functions_that_are_no_inner_products_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite .* one of several"):
        model = SVC(kernel=lambda A, B: np.tanh(A @ B.T - 1)).fit(X, y)
    assert model.status_.code == "indefinite" and model.score(X, y) > 0.8
    with pytest.raises(DataError, match="kernel function is not symmetric"):
        SVC(kernel=lambda A, B: A @ np.triu(np.ones((3, 3))) @ B.T).fit(X, y)
    assert SVC(kernel=lambda A, B: (1 + A @ B.T) ** 2).fit(X, y).status_.ok


@pytest.mark.parametrize(
    "kernel", [{"kernel": "sigmoid"}, {"kernel": "poly", "coef0": -3.0, "degree": 2}]
)
def test_kernels_by_name_that_bend_down_are_told(kernel):
    """A negative curvature between two rows proves that the kernel is no inner product."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] ** 2 > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match=f"The kernel '{kernel['kernel']}' is not positive"):
        model = SVC(**kernel).fit(X, y)
    assert model.status_.code == "indefinite" and model.fit_status_ == 1
    assert model.history_["violation"][-1] <= model.tol  # the conditions hold nevertheless
    assert (model.predict(X) == peer.SVC(**kernel).fit(X, y).predict(X)).mean() > 0.95
    assert SVC(kernel="sigmoid", gamma=0.01).fit(X, y).status_.ok
    assert SVC(kernel="poly", coef0=1.0).fit(X, y).status_.ok


def test_the_least_curvature_is_that_of_the_pairs():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    a, gradient, stop = np.zeros(2), -np.ones(2), np.zeros(1, dtype=np.int32)
    given = (K, np.ones(2), np.array([1.0, -1.0]), np.ones(2))
    *_, least = _loops.steps(*given, a, gradient, 1e-3, 100, np.inf, stop)
    assert least == -2.0 / 6.0 and a.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", [1e-305, 1e-200, 1e200, 1e305])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_rows_of_any_size_have_the_kernel_of_their_unit(kernel, size):
    """gamma="scale" has the unit of the rows, though their squares are no float64."""
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0.2).astype(int)
    given = {"kernel": kernel, "coef0": 0.5, "gamma": "scale", "tol": 1e-9}
    small, plain = SVC(**given).fit(X * size, y), SVC(**given).fit(X, y)
    assert np.allclose(small.decision_function(X * size), plain.decision_function(X), atol=1e-5)
    vectors = (np.sort(v, axis=0) for v in (small.support_vectors_ / size, plain.support_vectors_))
    assert np.allclose(*vectors)
    assert small.score(X * size, y) == plain.score(X, y) > 0.8


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"gamma": 0.5}, {"gamma": "auto"}])
def test_rows_whose_products_vanish_are_named(kernel):
    X = np.random.default_rng(0).normal(size=(20, 2)) * 1e-200
    with pytest.raises(DataError, match="below 1e-150: their products vanish"):
        SVC(**kernel).fit(X, [0, 1] * 10)
    assert SVC(**kernel, standardize=True).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9


def test_sparse_tables(monkeypatch):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = np.where(rng.random((120, 30)) < 0.2, rng.normal(size=(120, 30)), 0.0)
    y = (X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=120) > 0).astype(int)
    dense = SVC(tol=1e-8).fit(X, y)
    monkeypatch.setattr(kernel_base, "DENSE_CELLS", 10)
    thin = SVC(tol=1e-8).fit(csr_array(X), y)
    assert isinstance(thin.vectors_, tuple)
    assert np.allclose(dense.decision_function(X), thin.decision_function(csr_array(X)), atol=1e-6)


@pytest.mark.parametrize("part", ["dual_coef_", "vectors_", "support_", "n_support_", "intercept_"])
def test_forged_files_are_refused(part, tmp_path):
    X, y = datasets.load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    if part == "support_":
        model.support_ = model.support_ + np.int32(1000)
    elif part == "n_support_":
        model.n_support_ = model.n_support_ + np.int32(1)
    else:
        setattr(model, part, getattr(model, part)[..., 1:].copy())
    model.save(tmp_path / "model.pellucid")
    with warnings.catch_warnings(), pytest.raises(ModelFileError):
        warnings.simplefilter("ignore")
        pellucid.load(tmp_path / "model.pellucid")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_explanations_hold_votes_of_some_rows_at_a_time(kernel, monkeypatch, rng):
    from pellucid.svm import contributions

    X = rng.normal(size=(90, 2))
    model = SVC(kernel=kernel, C=1.0).fit(X, np.arange(90) % 3)
    whole = model._explain_vectors(X, single=False)
    seen = []
    values = model._values
    monkeypatch.setattr(model, "_values", lambda X: seen.append(len(X)) or values(X), raising=False)
    monkeypatch.setattr(contributions, "ENTRIES", 9 * 20 * len(model.support_))
    parts = model._explain_vectors(X, single=False)
    assert seen == [20, 20, 20, 20, 10]
    for name in ("rows", "distances", "votes", "others"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)


def test_the_number_of_steps_grows_with_the_rows():
    """As in LIBSVM, but for max_iter: 100 for each row, at least ten million."""
    assert dual.StoppingRule(1e-3).steps(10) == 10**7
    assert dual.StoppingRule(1e-3).steps(10**6) == 10**8
    assert dual.StoppingRule(1e-3, max_iter=7).steps(10**6) == 7
