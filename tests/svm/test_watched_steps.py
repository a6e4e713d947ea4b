"""Support vector machines along their steps: the dual objective, the optimum, the models of steps."""

import numpy as np
import pytest

import pellucid
from pellucid.svm import SVC, SVR, OneClassSVM


def rows(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.4 * rng.normal(size=n)


def watched(model, X, y=None, **options):
    with pellucid.watching(**options) as watch:
        model.fit(X, y)
    return watch


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))


def multipliers(state, n):
    """Signed multiplier of every row of a model with one function."""
    a = np.zeros(n)
    a[state["support_"]] = state["dual_coef_"][0]
    return a


def test_two_classes_climb_to_the_optimum():
    X, t = rows()
    y = t > 0.8
    model = SVC(gamma=0.7, C=2.0, tol=1e-6)
    watch = watched(model, X, y)
    K, signs = gaussian(X, X, 0.7), np.where(y, 1.0, -1.0)
    objectives = []
    for i, step in enumerate(watch.steps):
        b = multipliers(step.state, len(y))  # s_i a_i
        assert abs(b.sum()) < 1e-9 and (b * signs > -1e-12).all() and np.abs(b).max() <= 2.0
        objectives.append(np.abs(b).sum() - 0.5 * b @ K @ b)
        assert step.numbers["objective"] == pytest.approx(objectives[-1], abs=1e-9)
        scores = K @ b + step.state["intercept_"][0]
        assert watch.model(i).decision_function(X) == pytest.approx(scores, abs=1e-9)
    assert objectives[0] == 0.0 and (np.diff(objectives) > -1e-9).all()
    margin, a = signs * model.decision_function(X), np.abs(b)  # the conditions of the optimum
    assert (margin[a == 0] > 1 - 1e-5).all() and (margin[a >= 2.0] < 1 + 1e-5).all()
    assert margin[(a > 0) & (a < 2.0)] == pytest.approx(1.0, abs=1e-5)


def test_every_step_of_a_short_fit_is_a_state():
    X, t = rows(40)
    model = SVC(C=1.0)
    watch = watched(model, X, t > 0.8)
    steps = sorted({step.iteration for step in watch.steps})
    assert steps == list(range(int(model.n_iter_[0]) + 1))


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (SVC(C=3.0), 3),
        (SVC(kernel="linear", multi_class="ovr"), 3),
        (SVC(kernel="poly", calibrate=True), 2),
        (SVR(C=5.0), 0),
        (SVR(kernel="linear", standardize=True), 0),
        (OneClassSVM(nu=0.2), None),
    ],
)
def test_watching_changes_no_bit_and_ends_with_the_model(model, kind):
    X, t = rows()
    y = {3: np.digitize(t, [0.2, 1.0]), 2: t > 0.8, 0: t, None: None}[kind]
    plain = type(model)(**model.get_params()).fit(X, y)
    for limit in (7, 500):
        watch = watched(model, X, y, max_states=limit)
        assert len(watch.steps) <= limit
        for name, value in plain._learned().items():
            if isinstance(value, np.ndarray):
                assert np.array_equal(value, getattr(model, name)), name
        last = watch.steps[-1].state
        assert set(last) == {"support_", "vectors_", "dual_coef_", "intercept_", "n_support_"}
        for name, value in last.items():
            assert np.array_equal(value, getattr(model, name)), name
        assert np.array_equal(watch.model(-1).predict(X), model.predict(X))
        watch.model(0).predict(X)


def test_pairs_are_solved_one_after_the_other():
    X, t = rows()
    model = SVC()
    steps = watched(model, X, np.digitize(t, [0.2, 1.0])).steps
    pairs = [step.event["pair"] for step in steps]
    assert pairs == sorted(pairs) and set(pairs) == {(0, 1), (0, 2), (1, 2)}
    assert steps[0].sentence.startswith("Binary problem 1 of 3, step")
    assert steps[-1].sentence.startswith("Binary problem 3 of 3, step")
    assert [step.iteration for step in steps] == sorted(step.iteration for step in steps)
    assert steps[-1].iteration == model.n_iter_.sum()
    for pair in set(pairs):
        own = [step.numbers["objective"] for step in steps if step.event["pair"] == pair]
        assert (np.diff(own) > -1e-9).all()


def test_working_sets_are_states_of_large_tables():
    X, t = rows(1700, seed=1)
    y = t > 0.8
    model, plain = SVC(), SVC().fit(X, y)
    watch = watched(model, X, y)
    assert np.array_equal(plain.dual_coef_, model.dual_coef_)
    assert np.array_equal(plain.intercept_, model.intercept_)
    assert len(watch.steps) > 2
    objectives = [step.numbers["objective"] for step in watch.steps]
    assert (np.diff(objectives) > -1e-9).all()


def test_multipliers_count_as_memory(monkeypatch):
    monkeypatch.setattr("pellucid.records.watch.STATE_BYTES", 6000)
    X, t = rows(40)
    model = SVC()
    watch = watched(model, X, t > 0.8)
    assert len(watch.steps) <= 6000 // (8 * 40) + 1 < model.n_iter_[0]
    assert np.array_equal(watch.steps[-1].state["dual_coef_"], model.dual_coef_)


def test_states_are_those_of_the_fit_whatever_changes_later():
    X, t = rows(60)
    y = np.digitize(t, [0.5, 1.5])
    model = SVC(kernel="poly", gamma=0.5)
    first, second = watched(model, X, y), watched(model, X, y)
    read = [step.state for step in first.steps]
    X[:], y[:] = 0.0, 0
    model.set_params(kernel="rbf", C=9.0)
    for step, state in zip(second.steps, read, strict=True):
        for name in ("vectors_", "dual_coef_", "intercept_", "support_"):
            assert np.array_equal(step.state[name], state[name])
