"""Mini-batches with decreasing steps, and one class against the others."""

import numpy as np
import pytest
from sklearn.base import clone

from pellucid.errors import ConvergenceWarning, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from pellucid.numerics.objectives.links import expit


def mixture(n, seed, share=0.4):
    """Two Gaussian clouds around (1, 1) and (-1, -1); the best line errs in .0765565 of cases."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n) < share, 1, -1)
    return y[:, None] + rng.normal(size=(n, 2)), y


def three(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(n, 3))).argmax(axis=1)


def test_documented_steps():
    """tau0 = 10: eta_0 = .1, eta_1 = 1/11 (kappa 1); .1995262315, .1866487649 (kappa .7)."""
    X, y = mixture(400, 0)
    for kappa, steps in ((1.0, (0.1, 1 / 11)), (0.7, (0.1995262315, 0.1866487649))):
        model = LogisticRegression(
            solver="sgd", tol=0, max_iter=1, kappa=kappa, eta0=1.0, random_state=0
        )
        rates = model.fit(X, y).history_["learning_rate"]
        np.testing.assert_allclose(rates, steps, rtol=1e-9)  # two batches of 200
    for kappa in (0.5, 1.1):
        with pytest.raises(ParameterError, match="kappa"):
            LogisticRegression(solver="sgd", kappa=kappa).fit(X, y)


def test_one_batch_of_all_rows_is_gradient_descent_with_that_step():
    X, y = three()
    options = {"tol": 0, "max_iter": 1, "C": 2.0}
    whole = LogisticRegression(solver="sgd", batch_size=1000, tau0=5.0, eta0=1.0, **options).fit(
        X, y
    )
    with pytest.warns(ConvergenceWarning):
        plain = LogisticRegression(solver="gd", step=1 / 5, **options).fit(X, y)
    np.testing.assert_allclose(whole.coef_, plain.coef_, rtol=1e-12)
    np.testing.assert_allclose(whole.history_["objective"], plain.history_["objective"])
    np.testing.assert_allclose(whole.history_["gradient_norm"], plain.history_["gradient_norm"])


@pytest.mark.parametrize("tau0", [0, 0.0, 3.0])
def test_steps_without_delay_begin_at_eta0(tau0):
    X, y = mixture(400, 0)
    model = LogisticRegression(
        solver="sgd", tol=0, max_iter=2, eta0=0.5, tau0=tau0, batch_size=400
    ).fit(X, y)
    first = tau0 or 1
    np.testing.assert_allclose(
        model.history_["learning_rate"], [0.5 / first, 0.5 / first, 0.5 / (first + 1)]
    )
    with pytest.raises(ParameterError, match="tau0"):
        LogisticRegression(solver="sgd", tau0=-1.0).fit(X, y)


@pytest.mark.parametrize("n", [40, 40_000])
def test_full_gradients_write_their_steps_down(n):
    """In one compiled loop for a small table, block by block for a large one."""
    X, y = mixture(n, 1)
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(solver="gd", step=0.3, tol=0, max_iter=5).fit(X, y)
    history = model.history_
    assert history["learning_rate"].tolist() == [0.3] * 6
    norm = np.hypot(np.linalg.norm(model.coef_), model.intercept_[0])
    assert history["parameter_norm"][-1] == pytest.approx(norm, rel=1e-12)
    assert len(history["gradient_norm"]) == 6


def test_two_clouds_as_documented():
    """100 passes, batches of 200 of 1000 rows: to the optimum, and the error of good lines."""
    new_X, new_y = mixture(200_000, 99)
    for seed in range(10):
        X, y = mixture(1000, seed)
        model = LogisticRegression(
            C=1 / 2e-9, solver="sgd", tol=0, max_iter=100, random_state=seed
        ).fit(X, y)
        assert 0.065 < 1 - model.score(new_X, new_y) < 0.087
        history = model.history_
        assert len(history["objective"]) == 101
        best = LogisticRegression(C=1 / 2e-9).fit(X, y)
        assert history["objective"][-1] == pytest.approx(best.history_["objective"][-1], rel=1e-3)
        assert np.linalg.norm(model.coef_) == pytest.approx(np.linalg.norm(best.coef_), rel=0.01)
        rates = history["learning_rate"]
        assert rates[-1] == pytest.approx(rates[0] * 200 / 509)  # constant until tau0 + k = 200
        norm = np.hypot(np.linalg.norm(model.coef_), model.intercept_[0])
        assert history["parameter_norm"][-1] == pytest.approx(norm)


def test_weights_are_repetition_and_row_order_does_not_matter():
    X, y = three(60, 1)
    w = np.random.default_rng(2).integers(0, 4, 60)
    options = {"solver": "sgd", "tol": 0, "max_iter": 3, "random_state": 0, "batch_size": 7}
    one = LogisticRegression(**options).fit(X, y, sample_weight=w)
    many = LogisticRegression(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(one.coef_, many.coef_)
    turned = LogisticRegression(**options).fit(X[::-1], y[::-1], sample_weight=w[::-1])
    np.testing.assert_array_equal(one.coef_, turned.coef_)


def test_sgd_stops_when_a_pass_brings_little():
    X, y = mixture(1000, 3)
    model = LogisticRegression(solver="sgd", tol=1e-3, random_state=0).fit(X, y)
    assert model.status_.code == "converged" and model.n_iter_[0] < 100
    falls = -np.diff(model.history_["objective"]) / 1000
    assert falls[-1] <= 1e-3 < falls[:-1].min()


def test_sgd_continues_a_warm_start():
    X, y = mixture(1000, 4)
    model = LogisticRegression(solver="sgd", tol=0, max_iter=5, warm_start=True, random_state=0)
    last = model.fit(X, y).history_["objective"][-1]
    assert model.fit(X, y).history_["objective"][0] == last


# One class against the others ---------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"l1_ratio": 1.0, "C": 0.1}, {"C": np.inf}])
def test_one_vs_rest_is_one_fit_per_class(options):
    X, y = three(seed=5)
    model = LogisticRegression(multiclass="one_vs_rest", **options).fit(X, y)
    chances = np.empty((len(X), 3))
    for k in range(3):
        own = LogisticRegression(**options).fit(X, y == k)
        np.testing.assert_array_equal(model.coef_[k], own.coef_[0])
        np.testing.assert_array_equal(model.intercept_[k], own.intercept_[0])
        chances[:, k] = expit(own.decision_function(X))
    np.testing.assert_allclose(
        model.predict_proba(X), chances / chances.sum(axis=1, keepdims=True), rtol=1e-12
    )
    assert model.n_iter_.shape == (3,)
    assert set(model.history_["class"]) == {0, 1, 2}


def test_one_vs_rest_equals_the_peer():
    multiclass = pytest.importorskip("sklearn.multiclass")
    peer = pytest.importorskip("sklearn.linear_model").LogisticRegression(tol=1e-10, max_iter=9999)
    X, y = three(seed=6)
    theirs = multiclass.OneVsRestClassifier(peer).fit(X, y)
    ours = LogisticRegression(multiclass="one_vs_rest").fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


def test_one_vs_rest_summary_and_far_away_rows():
    X, y = three(seed=7)
    model = LogisticRegression(C=np.inf, multiclass="one_vs_rest").fit(X, y)
    shown = model.summary().frame()
    single = LogisticRegression(C=np.inf).fit(X, y == 1).summary().frame()
    np.testing.assert_allclose(shown["std error"][4:8], single["std error"], rtol=1e-12)
    header = [name for name, _ in model.summary().header]
    assert header == ["rows", "standard errors"]  # no common likelihood
    assert "no common likelihood, AIC or test" in " ".join(model.summary().notes)
    far = model.predict_proba(1e5 * X[:5])  # every single chance may be 0
    np.testing.assert_allclose(far.sum(axis=1), 1)


def test_two_classes_have_nothing_to_choose():
    X, y = mixture(100, 8)
    one = LogisticRegression(multiclass="one_vs_rest").fit(X, y)
    np.testing.assert_array_equal(one.coef_, LogisticRegression().fit(X, y).coef_)


def test_a_pass_that_ends_above_the_start_has_not_converged():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="steps are too large"):
        model = LogisticRegression(solver="sgd", eta0=1.0, random_state=0).fit(X, y)
    assert model.status_.code == "diverged" and not model.status_.ok
    even = LogisticRegression(solver="sgd", random_state=0, tol=1e-3, standardize=True).fit(X, y)
    assert even.status_.ok and even.history_["objective"][-1] < even.history_["objective"][0]


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(solver="gd", tol=1e-4),
        LinearRegression(solver="gd", tol=1e-3),
        PoissonRegressor(solver="gd", tol=1e-4),
    ],
)
def test_short_steps_on_large_numbers_are_not_convergence(model):
    """The safe step on a column around 3000 is shorter than tol from the start."""
    X, y = mixture(300, 0)
    model = clone(model)
    with pytest.warns(ConvergenceWarning, match="each iteration still lowers the objective by"):
        model.fit(3000 + 1000 * X, (y > 0).astype(int))
    assert model.status_.code == "stopped" and model.n_iter_ < 10
    objective = model.history_["objective"]
    saved = float(str(model.status_).split("objective by about ")[1].split(" ")[0])
    assert saved == pytest.approx(-np.diff(objective)[-1], rel=0.6)


def test_a_loose_tol_is_an_early_end_on_purpose():
    X, y = mixture(300, 0)
    model = LogisticRegression(solver="gd", tol=0.01).fit(10 * X, y)
    assert model.status_.code == "converged"


def test_a_perfect_fit_by_descent_has_converged():
    """Its objective falls by the same share at every step, down to 0."""
    X = np.linspace(-1, 1, 20)[:, None]
    model = LinearRegression(solver="gd").fit(X, 2 * X[:, 0])
    assert model.status_.code == "converged"
