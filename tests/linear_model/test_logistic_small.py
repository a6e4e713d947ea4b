"""Small tables are solved in one compiled call: the same optimum as the general way, or none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import watching
from pellucid.linear_model import LogisticRegression
from pellucid.linear_model._logistic import small


def table(seed: int, n: int, p: int, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3, size=p)
    y = np.arange(n) % classes
    X[:, 0] += y
    return X, y, rng.integers(0, 4, size=n) + (np.arange(n) < 2 * classes)


def general(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small, "applies", lambda F: False)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(12, 120), p=st.integers(1, 6),
    classes=st.integers(2, 4), C=st.sampled_from([1e-3, 1.0, 1e3]), intercept=st.booleans(),
)  # fmt: skip
def test_the_compiled_way_finds_the_general_optimum(
    seed: int, n: int, p: int, classes: int, C: float, intercept: bool
) -> None:
    X, y, w = table(seed, n, p, classes)
    model = LogisticRegression(C=C, fit_intercept=intercept)
    quick = model.fit(X, y, w)
    found = quick.coef_, quick.intercept_, quick.history_["objective"][-1]
    with pytest.MonkeyPatch.context() as patch:
        general(patch)
        slow = model.fit(X, y, w)
    assert slow.status_.ok
    size = np.abs(slow.coef_ * X.std(axis=0)).max() + 1e-300
    np.testing.assert_allclose(
        found[0] * X.std(axis=0), slow.coef_ * X.std(axis=0), rtol=0, atol=1e-10 * size
    )
    np.testing.assert_allclose(found[1], slow.intercept_, rtol=0, atol=1e-9 * (1 + size))
    assert found[2] == pytest.approx(slow.history_["objective"][-1], rel=1e-13)


def test_the_common_case_takes_the_compiled_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, w = table(0, 90, 4, 3)
    monkeypatch.setattr("pellucid.linear_model._logistic.solver.optimise.newton", None)
    with watching(state=True) as watch:
        model = LogisticRegression().fit(X, y, w)
    assert model.status_.code == "converged"
    watched = ["iteration", "objective", "gradient_norm", "parameter_norm", "learning_rate"]
    assert list(model.history_) == watched
    steps = len(model.history_["iteration"])
    assert steps == model.n_iter_[0] + 1 == len(watch.steps)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-12)
    assert model.history_["gradient_norm"][-1] < 1e-9 * model.history_["gradient_norm"][0]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the compiled way said, call by call."""
    said: list[object] = []
    whole = small.solve_small

    def listened(*arguments: object) -> object:
        said.append(whole(*arguments))
        return said[-1]

    monkeypatch.setattr(small, "solve_small", listened)
    return said


def test_nearly_singular_curvature_is_left_to_the_general_way(answers: list[object]) -> None:
    X, y = np.repeat(np.arange(20.0)[:, None], 2, axis=1), (np.arange(20) > 9).astype(int)
    y[[3, 12]] = 1 - y[[3, 12]]
    model = LogisticRegression(C=1e9).fit(X, y)
    assert answers == [None]
    assert model.status_.ok
    alone = LogisticRegression(C=1e9).fit(X[:, :1], y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X[:, :1]), rtol=1e-6)


def test_a_step_that_overshoots_is_left_to_the_general_way(answers: list[object]) -> None:
    X, y, w = table(2, 60, 3, 3)
    model = LogisticRegression(warm_start=True).fit(X, y, w)
    best = model.coef_
    model.coef_ = -30 * best
    again = model.fit(X, y, w)
    assert answers[0] is not None
    assert answers[1] is None
    np.testing.assert_allclose(again.coef_, best, rtol=1e-10, atol=1e-12)


def test_no_iterations_allowed_means_none() -> None:
    X, y, w = table(1, 40, 3, 2)
    with pytest.warns(UserWarning, match="max_iter"):
        model = LogisticRegression(max_iter=1).fit(X, y, w)
    assert model.status_.code == "max_iter"
