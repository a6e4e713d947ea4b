"""LogisticRegression: digits, documented traces, peers, separation, weights, threads."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import log_softmax, softmax
from tests.linear_model.precise import precise_logistic


def data(n=150, p=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    Z = X @ rng.normal(size=(p, K)) + rng.gumbel(size=(n, K))
    return X, Z.argmax(axis=1)


def objective(model, X, y, w=None):
    Z = X @ model.coef_.T + model.intercept_
    Z = np.column_stack([np.zeros(len(Z)), Z]) if Z.shape[1] == 1 else Z
    losses = -log_softmax(Z)[np.arange(len(y)), y] * (1.0 if w is None else w)
    return losses.sum() + np.sum(model.coef_**2) / (2 * model.C)


def worst_digits(model, X, y, units=None):
    B = precise_logistic(X, y, len(model.classes_), model.C, model.fit_intercept)
    ours = np.column_stack([model.coef_, model.intercept_])
    if not model.fit_intercept:
        ours = ours[:, :-1]
    return -np.log10(max(1e-17, np.max(np.abs(ours - B) / np.abs(B))))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("units", [None, [1e-6, 1.0, 1e5]])
def test_twelve_digits_against_forty(K, C, intercept, units):
    X, y = data(80, 3, K)
    X = X if units is None else X * units
    model = LogisticRegression(C=C, fit_intercept=intercept).fit(X, y)
    assert model.status_.code == "converged"
    # A coefficient that the penalty holds at 1e-7 of its size has fewer digits of its own.
    assert worst_digits(model, X, y) >= 12


def test_an_offset_of_1e8_costs_no_digits():
    X, y = data(200, 3, seed=1)
    X = np.round(X * 2**10) / 2**10
    base = LogisticRegression(C=np.inf).fit(X, y)
    moved = LogisticRegression(C=np.inf).fit(X + 1e8, y)
    np.testing.assert_allclose(moved.coef_, base.coef_, rtol=1e-12)
    # The rows are multiples of 2**-10, but scores near 1e8 have few decimals: compare signs.
    assert np.array_equal(moved.predict(X + 1e8), base.predict(X))


@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_powers_of_two_without_penalty(power):
    X, y = data(seed=2)
    base = LogisticRegression(C=np.inf).fit(X, y)
    moved = LogisticRegression(C=np.inf).fit(np.ldexp(X, [power, 0, -power]), y)
    np.testing.assert_allclose(np.ldexp(moved.coef_, [power, 0, -power]), base.coef_, rtol=1e-12)


def iris():
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_iris(return_X_y=True)
    return X[:, :2], (y > 0).astype(int)


TRACE = {
    50_000: (-0.021507, (8.13681723, -11.26325282, -9.11337848)),
    100_000: (-0.015330, (9.33914805, -11.61365201, -14.49849471)),
    150_000: (-0.012063, (10.30466628, -12.01813107, -18.3878038)),
    200_000: (-0.010077, (11.14193308, -12.48802556, -21.3829143)),
}
PRINTED = {50_000: -0.021506, 100_000: -0.015329, 150_000: -0.012062, 200_000: -0.010076}


def test_documented_descent_on_iris():
    X, y = iris()
    model = LogisticRegression(
        C=np.inf, solver="gd", step=0.1, tol=0, max_iter=50_000, warm_start=True
    )
    for iteration, (value, theta) in TRACE.items():
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, y)
        found = np.append(model.coef_[0], model.intercept_)
        np.testing.assert_allclose(found, theta, atol=5e-7)
        assert -model.history_["objective"][-1] / 150 == pytest.approx(value, abs=5e-7)
        p = model.predict_proba(X)[:, 1]
        printed = np.mean(y * np.log(p + 1e-6) + (1 - y) * np.log(1 - p + 1e-6))
        assert printed == pytest.approx(PRINTED[iteration], abs=5e-7)
    assert model.history_["iteration"][-1] == 50_000
    assert len(model.history_["objective"]) <= 10_000


def test_documented_stopping_rule_of_descent():
    X, y = iris()
    model = LogisticRegression(C=np.inf, solver="gd", step=0.1, tol=5e-5, max_iter=10**6)
    model.fit(X, y)
    assert model.n_iter_[0] == 234669 and model.status_.code == "converged"
    np.testing.assert_allclose(
        np.append(model.coef_[0], model.intercept_),
        (11.65976942, -12.81530848, -23.12053766),
        atol=5e-7,
    )
    p = model.predict_proba(X)[:, 1]
    value = np.mean(y * np.log(p + 1e-6) + (1 - y) * np.log(1 - p + 1e-6))
    assert value == pytest.approx(-0.0090950876, abs=5e-10)
    assert model.history_["objective"][0] == pytest.approx(150 * np.log(2))
    assert model.score(X, y) == 1


def cancer():
    return pytest.importorskip("sklearn.datasets").load_breast_cancer(return_X_y=True)


def test_raw_breast_cancer_reaches_the_optimum():
    X, y = cancer()
    model = LogisticRegression(C=1e5).fit(X, y)
    assert model.score(X, y) == 0.984182776801406
    assert objective(model, X, y) == pytest.approx(20.5340212419, abs=1e-8)
    assert model.history_["objective"][-1] == pytest.approx(20.5340212419, abs=1e-8)
    penalty = np.sum(model.coef_**2) / 2e5
    assert -(objective(model, X, y) - penalty) == pytest.approx(-19.4047294114, abs=1e-8)


def test_descent_on_standardised_breast_cancer():
    X, y = cancer()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="gd", step=1e-4 * 569, tol=0, max_iter=10_000)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert round(model.score(X, y) * 569) == 562
    assert model.history_["objective"][-1] == pytest.approx(27.6199358, abs=1e-6)


def test_wine_softmax():
    X, y = pytest.importorskip("sklearn.datasets").load_wine(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="gd", step=1e-4 * 178, tol=0, max_iter=10_000)
    with pytest.warns(ConvergenceWarning):
        model.fit(Z, y)
    assert model.score(Z, y) == 1
    assert model.history_["objective"][-1] == pytest.approx(2.6769753772, abs=1e-6)
    assert LogisticRegression(C=1e5).fit(X, y).score(X, y) == 1


def test_standardised_logistic_in_a_pipeline():
    """Iris, scikit-learn's default split: 37 of 38."""
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, X_test, y, y_test = train_test_split(*load_iris(return_X_y=True), random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert model.score(X_test, y_test) == pytest.approx(37 / 38)


def test_one_vector_added_to_all_classes_changes_nothing_but_a_factor_does():
    X, y = data(60, 3, 3)
    model = LogisticRegression().fit(X, y)
    P = model.predict_proba(X)
    model.coef_, model.intercept_ = model.coef_ + np.arange(3.0), model.intercept_ + 4
    np.testing.assert_allclose(model.predict_proba(X), P, rtol=1e-12)
    model.coef_, model.intercept_ = 2 * model.coef_, 2 * model.intercept_
    assert np.abs(model.predict_proba(X) - P).max() > 0.05
    np.testing.assert_allclose(softmax(np.array([[0.0, 2.0]])), [[0.1192029220, 0.8807970780]])
    np.testing.assert_allclose(softmax(np.array([[1.0, 0.3]]))[0, 0], expit(0.7), rtol=1e-15)


def test_separation_is_named():
    X, y = cancer()
    with pytest.warns(ConvergenceWarning, match="separate"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert model.status_.code == "separated" and model.score(X, y) == 1
    assert np.all(np.isfinite(model.coef_))


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("K", [2, 3])
def test_small_separated_tables(solver, K):
    y = np.repeat(np.arange(K), 4)
    X = (y + np.tile(np.arange(4), K) / 10)[:, None]
    with pytest.warns(ConvergenceWarning, match="separate"):
        model = LogisticRegression(C=np.inf, solver=solver, tol=0, max_iter=5000).fit(X, y)
    assert model.status_.code == "separated" and model.score(X, y) == 1


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gd", "saga"])
@pytest.mark.parametrize("K", [2, 4])
def test_all_solvers_find_one_optimum(solver, K):
    X, y = data(200, 4, K, seed=3)
    best = LogisticRegression(C=0.5).fit(X, y)
    model = LogisticRegression(C=0.5, solver=solver, tol=1e-9, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, best.intercept_, atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_equal_to_the_peer(K, intercept, sparse, class_weight):
    peer = pytest.importorskip("sklearn.linear_model")
    scipy_sparse = pytest.importorskip("scipy.sparse")
    X, y = data(120, 4, K, seed=4)
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.3] = 0.0
    labels = np.array(["a", "b", "c"])[y]
    arguments = {"C": 0.7, "fit_intercept": intercept, "class_weight": class_weight}
    theirs = peer.LogisticRegression(**arguments, tol=1e-10, max_iter=10_000).fit(X, labels)
    table = scipy_sparse.csr_array(X) if sparse else X
    for solver in ("newton", "lbfgs"):
        ours = LogisticRegression(**arguments, solver=solver, tol=1e-10, max_iter=1000)
        ours.fit(table, labels)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-6)
        proba = theirs.predict_proba(X)
        np.testing.assert_allclose(ours.predict_proba(table), proba, atol=2e-6)
        assert ours.decision_function(table).shape == theirs.decision_function(X).shape
        assert ours.intercept_.shape == theirs.intercept_.shape
        assert np.array_equal(ours.predict(table), theirs.predict(X))


def test_class_weights_by_label():
    X, y = data(seed=5)
    labels = np.array(["no", "yes"])[y]
    weighted = LogisticRegression(class_weight={"yes": 3}).fit(X, labels)
    by_row = LogisticRegression().fit(X, labels, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(weighted.coef_, by_row.coef_, rtol=1e-12)
    with pytest.raises(ParameterError, match="maybe"):
        LogisticRegression(class_weight={"maybe": 1}).fit(X, labels)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("K", [2, 3])
def test_weights_mean_repetition(K, class_weight):
    X, y = data(90, 3, K, seed=6)
    w = np.random.default_rng(1).integers(0, 4, 90)
    weighted = LogisticRegression(class_weight=class_weight).fit(X, y, sample_weight=w)
    repeated = LogisticRegression(class_weight=class_weight)
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("K", [2, 3])
def test_equal_bits_for_any_number_of_threads_and_a_large_table(K):
    X, y = data(70_000, 12, K, seed=7)
    models = [LogisticRegression(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4)]
    bits = {m.coef_.tobytes() + m.predict_proba(X).tobytes() for m in models}
    assert len(bits) == 1
    # The head start on a sample changes the way, not the goal.
    warm = LogisticRegression(warm_start=True).fit(X[:500], y[:500]).fit(X, y)
    np.testing.assert_allclose(warm.coef_, models[0].coef_, rtol=1e-11, atol=1e-13)
    assert np.all(np.diff(models[0].history_["objective"]) <= 1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 4])
def test_the_compiled_visit_of_small_tables_equals_the_blocks(K, intercept, monkeypatch):
    from pellucid.linear_model._logistic import objective as likelihood
    from pellucid.numerics.row_blocks import Rows

    X, y = data(90, 3, K, seed=17)
    w = np.random.default_rng(2).uniform(0.2, 3, 90)
    x = np.random.default_rng(3).normal(size=(K - 1) * 4)
    x[3::4] *= intercept
    found = []
    for cells in (2**14, 0):
        monkeypatch.setattr(likelihood, "SMALL", cells)
        F = likelihood.Likelihood(
            Rows(X), y.astype(np.int32), w, K, np.full(3, 0.7), intercept, X.mean(axis=0)
        )
        assert F.small == (cells > 0)
        value, g = F.evaluate(x)
        found.append((value, g, F.curvature(x), F.curvature(np.zeros_like(x))))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    # The curvature is the derivative of the gradient, the gradient that of the value.
    h = 1e-5
    for j in np.flatnonzero(np.arange(len(x)) % 4 < 3 + intercept):
        step = np.zeros_like(x)
        step[j] = h
        (up, g_up), (down, g_down) = F.evaluate(x + step), F.evaluate(x - step)
        assert (up - down) / (2 * h) == pytest.approx(found[0][1][j], abs=1e-7)
        np.testing.assert_allclose((g_up - g_down) / (2 * h), found[0][2][j], atol=1e-7)


def test_sorted_rows_and_rare_classes_on_a_large_table():
    X, y = data(70_000, 5, 2, seed=8)
    order = np.argsort(y, kind="stable")
    shuffled, ordered = (LogisticRegression().fit(X[o], y[o]) for o in (slice(None), order))
    np.testing.assert_allclose(ordered.coef_, shuffled.coef_, rtol=1e-11)
    rare = np.zeros(70_000, dtype=int)
    rare[[5, 77, 1234]] = 1
    model = LogisticRegression().fit(X, rare)
    assert model.status_.ok
    assert np.abs(np.sum(model.predict_proba(X)[:, 1]) - 3) < 1e-8


def test_dependent_columns_without_penalty_give_the_shortest_coefficients():
    X, y = data(seed=9)
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    base, model = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(C=np.inf).fit(twice, y)
    np.testing.assert_allclose(model.coef_[0, 0], base.coef_[0, 0] / 2, rtol=1e-8)
    np.testing.assert_allclose(model.coef_[0, 3], base.coef_[0, 0] / 2, rtol=1e-8)
    assert abs(model.coef_[0, 4]) < 1e-8
    np.testing.assert_allclose(model.predict_proba(twice), base.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("n", [60, 4000])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gd", "sgd", "saga"])
def test_no_iterations_are_no_crash(solver, n):
    X, y = np.random.default_rng(3).normal(size=(n, 5)), np.arange(n) % 2
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver=solver, max_iter=0, random_state=0).fit(X, y)
    assert model.status_.code == "max_iter" and not model.coef_.any()


def test_a_warm_start_with_one_class_is_refused_and_changes_nothing():
    X, y = data(seed=10)
    model = LogisticRegression(warm_start=True).fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(DataError, match="only one class: 1"):
        model.fit(X[y == 1], y[y == 1])
    np.testing.assert_array_equal(model.coef_, before)


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = data(seed=10)
    model = LogisticRegression(warm_start=True).fit(X, y)
    cold = model.n_iter_[0]
    again = model.fit(X, y)
    assert again.n_iter_[0] < cold
    with pytest.raises(DataError, match="2 features, but LogisticRegression is expecting"):
        model.fit(X[:, :2], y)  # coefficients of other columns are no start
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_running_out_of_iterations_is_said_once():
    X, y = data(400, 8, seed=11)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        LogisticRegression(solver="lbfgs", max_iter=2).fit(X, y)
    assert len(caught) == 1


def test_history_and_states():
    X, y = data(seed=12)
    with pellucid.watching() as watch:
        model = LogisticRegression().fit(X, y)
    history = model.history_
    assert set(history) >= {"iteration", "objective", "gradient_norm", "parameter_norm"}
    assert history["objective"][0] == pytest.approx(150 * np.log(2))
    assert history["objective"][-1] == pytest.approx(objective(model, X, y))
    norm = np.hypot(np.linalg.norm(model.coef_), model.intercept_[0])
    assert history["parameter_norm"][-1] == pytest.approx(norm)
    assert len(watch.steps) == len(history["iteration"])


def test_states_of_class_against_the_rest_have_all_classes():
    """Classes before the current one are final, those behind it are 0."""
    X, y = data(120, 3, 4, seed=12)
    with pellucid.watching() as watch:
        model = LogisticRegression(multiclass="one_vs_rest").fit(X, y)
    states = [step.state["coef_"] for step in watch.steps]
    assert {state.shape for state in states} == {model.coef_.shape}
    done = [int((state == model.coef_).all(axis=1).sum()) for state in states]
    assert done == sorted(done) and done[-1] == 4
    for state in states:
        begun = np.flatnonzero(state.any(axis=1)).max(initial=-1)
        np.testing.assert_array_equal(state[: max(begun, 0)], model.coef_[: max(begun, 0)])


@pytest.mark.parametrize("K", [2, 3])
def test_explanations_add_up_on_log_odds(K):
    X, y = data(100, 3, K, seed=13)
    model = LogisticRegression().fit(X, y)
    found = model.explain(X[:9])
    assert found.scale == "log-odds" and found.is_additive(1e-12)
    scores = model.decision_function(X[:9])
    np.testing.assert_allclose(found.prediction.squeeze(), scores)


def test_save_and_load(tmp_path):
    X, y = data(seed=14)
    model = LogisticRegression().fit(X, np.array(["no", "yes"])[y])
    model.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert again.history_["objective"].tobytes() == model.history_["objective"].tobytes()


@pytest.mark.parametrize(
    "wrong",
    [{"C": 0}, {"C": -1.0}, {"l1_ratio": 1.5}, {"dual": True}, {"solver": "magic"}, {"step": 0},
     {"tol": -1}, {"max_iter": 1.5}, {"class_weight": "even"}],
)  # fmt: skip
def test_wrong_parameters_are_named(wrong):
    X, y = data()
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        LogisticRegression(**wrong).fit(X, y)


def test_parameters_without_effect():
    X, y = data(seed=15)
    plain = LogisticRegression().fit(X, y)
    other = LogisticRegression(intercept_scaling=5.0, random_state=1, verbose=2).fit(X, y)
    assert plain.coef_.tobytes() == other.coef_.tobytes()


def test_coefficients_are_arrays():
    model = LogisticRegression().fit(*data(seed=16))
    assert type(model.coef_) is np.ndarray and not hasattr(model, "sparsify")


def test_check_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    checks.check_estimator(LogisticRegression(), expected_failed_checks={})


def test_scores_beyond_the_largest_float_are_refused_by_all_methods():
    X = [[-2, -1], [-1, -2], [1, 2], [2, 1], [-1, -1.5], [1.5, 1]]
    model = LogisticRegression(C=100).fit(X, [0, 0, 1, 1, 0, 1])
    for ask in (model.decision_function, model.predict, model.predict_proba, model.explain):
        with pytest.raises(DataError, match="no finite prediction for row 0"):
            ask([[1.7e308, -1.5e308]])


@pytest.mark.parametrize("multiclass", ["softmax", "one_vs_rest"])
@pytest.mark.parametrize("K", [2, 3])
def test_labels_are_those_of_the_probabilities_where_two_are_equal(K, multiclass):
    """Scores may differ where probabilities do not: near 1/2, and where both are 1."""
    X, y = data(60, 3, K)
    model = LogisticRegression(multiclass=multiclass).fit(X, y)
    model.intercept_ = np.zeros_like(model.intercept_)
    for size in (1e-17, 1e-16, 1.0, 1e3):
        P = model.predict_proba(size * X)
        np.testing.assert_array_equal(model.predict(size * X), model.classes_[P.argmax(axis=1)])


@pytest.mark.parametrize("Model", [LinearRegression, LogisticRegression])
def test_contributions_add_up_at_large_offsets(Model, rng):
    X = np.column_stack([1e10 + np.round(64 * rng.normal(size=80)), rng.normal(size=80)])
    y = X[:, 0] - 1e10 + X[:, 1]
    explained = Model().fit(X, y if Model is LinearRegression else y > 0).explain(X)
    assert explained.is_additive(1e-13)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_weights_are_repetition_where_the_solver_stops_early(solver):
    """700 parameters: too many for Newton's method, so the stopping point must not depend on it."""
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(300, 140)) + 3.0, rng.integers(0, 4, 300)
    y = (X[:, :6] + rng.normal(size=(300, 6))).argmax(axis=1)
    found = LogisticRegression(solver=solver).fit(X, y, weights)
    again = LogisticRegression(solver=solver).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(found.predict_proba(X), again.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_many_parameters_end_no_higher_than_scikit_learn(solver):
    from sklearn.linear_model import LogisticRegression as Peer

    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 120))
    y = (X @ rng.normal(size=(120, 6)) + 3 * rng.gumbel(size=(400, 6))).argmax(axis=1)

    def objective(model):
        chance = model.predict_proba(X)[np.arange(len(y)), y]
        return -np.log(chance).sum() + 0.5 * np.square(model.coef_).sum()

    found = LogisticRegression(solver=solver).fit(X, y)
    assert objective(found) <= objective(Peer().fit(X, y))


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("columns", ["as they are", "words", "dependent"])
def test_lbfgs_ends_at_the_optimum(columns, C):
    """Gentle slopes are not enough: along directions of little curvature they lead far down."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    if columns == "words":
        rng = np.random.default_rng(7)
        y = rng.integers(0, 3, 500)
        X = (rng.random((500, 60)) < (0.3 + 0.1 * rng.random((3, 60)))[y]) * 1.0
        X[:, 0] = rng.random(500) < 0.995  # in nearly every row
    elif columns == "dependent":
        X = np.column_stack([X[:, :5], X[:, :3] @ [[1.0, 2.0], [1.0, 0.0], [3.0, 1.0]]])
    table = pytest.importorskip("scipy.sparse").csr_array(X) if columns == "words" else X
    best = LogisticRegression(C=C, solver="newton").fit(X, y).history_["objective"][-1]
    model = LogisticRegression(C=C, solver="lbfgs").fit(table, y)
    assert model.status_.code == "converged"
    assert model.history_["objective"][-1] <= best * (1 + 1e-11)


@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs", "cd", "gd", "sgd"])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
def test_every_solver_writes_down_the_same_things(solver, K):
    X, y = data(80, 3, K, seed=12)
    for rows in (1, 60):  # of a small table, and of one that is not
        model = LogisticRegression(solver=solver, max_iter=30).fit(
            np.tile(X, (rows, 1)), np.tile(y, rows)
        )
        history = model.history_
        for name in ("objective", "gradient_norm", "parameter_norm", "learning_rate"):
            assert np.isfinite(history[name][1:]).all() and len(history[name]) > 2, name
        assert (history["learning_rate"][1:] > 0).all()
        if solver in ("auto", "newton"):
            assert (history["learning_rate"][1:] == 1).all()  # full steps on so easy a road


def test_learning_rate_tells_steps_that_were_shortened():
    """From far away a full step of Newton's method would climb: part of it is taken."""
    X, y = data(80, 2, 2, seed=3)
    model = LogisticRegression(C=1e3, warm_start=True).fit(X, y)
    model.coef_, model.intercept_ = model.coef_ + 30.0, model.intercept_ - 40.0
    rates = model.fit(X, y).history_["learning_rate"][1:]
    assert rates.min() < 1 and rates[-1] == 1


@pytest.mark.parametrize(
    ("penalty", "meant"),
    [
        ("l1", {"l1_ratio": 1.0}),
        ("l2", {}),
        ("elasticnet", {"l1_ratio": 0.5}),
        (None, {"C": np.inf}),
    ],
)
def test_penalty_stands_for_l1_ratio_and_c(penalty, meant):
    """Code for older versions of scikit-learn runs; the parameters stay as they were given."""
    X, y = data(80, 3, 2, seed=3)
    share = {"l1_ratio": 0.5} if penalty == "elasticnet" else {}
    model = LogisticRegression(penalty, **share).fit(X, y)
    np.testing.assert_array_equal(model.coef_, LogisticRegression(**meant).fit(X, y).coef_)
    assert model.get_params()["penalty"] == penalty and model.C == 1.0
    assert hasattr(model, "inference_") == (penalty is None)
    if penalty in ("l1", "l2"):
        ratios = (float(penalty == "l1"),)
        chosen = LogisticRegressionCV(Cs=3, penalty=penalty).fit(X, y)
        meant = LogisticRegressionCV(Cs=3, l1_ratios=ratios).fit(X, y)
        np.testing.assert_array_equal(chosen.coef_, meant.coef_)
    with pytest.raises(ParameterError, match="penalty"):
        LogisticRegression(penalty="l3").fit(X, y)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numbers_of_other_precision_as_parameters(dtype):
    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 1, 0]
    found = LogisticRegression(C=np.dtype(dtype).type(1)).fit(X, y)
    np.testing.assert_array_equal(found.coef_, LogisticRegression(C=1.0).fit(X, y).coef_)


def test_no_warning_if_nothing_is_left_to_gain():
    """Separated classes with almost no penalty: the objective falls to 0 step by step."""
    X, y = load_iris(return_X_y=True)
    assert LogisticRegression(C=1e30).fit(X[:100], y[:100]).status_.ok  # warnings are errors here
