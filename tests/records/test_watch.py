"""What `watching` records: outermost fits, thinned and bounded, in the thread that asked for it."""

import io
import threading
import time
import warnings
from typing import ClassVar

import numpy as np
import pytest

import pellucid
from pellucid.base import Regressor
from pellucid.data.datasets import load
from pellucid.errors import ConvergenceWarning, ParameterError, PellucidError, PellucidWarning
from pellucid.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    SGDClassifier,
)
from pellucid.records import Recorder, fitting, unwatched, watch, watching
from pellucid.records.progress_line import ProgressLine
from pellucid.svm import SVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)


def descent(**options):
    return LogisticRegression(solver="gd", tol=0, **options)


def quiet_fit(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@pytest.mark.parametrize("limit", [2, 3, 10, 500])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 11, 1000])
def test_steps_are_thinned_evenly_and_keep_both_ends(n, limit):
    with watching(max_states=limit) as seen, fitting("path"):
        recorder = Recorder()
    for i in range(n):
        recorder.add(iteration=i, state=lambda i=i: {"w": np.array([i])})
    kept = [step.iteration for step in seen.steps]
    assert kept == [int(step.state["w"][0]) for step in seen.steps]
    assert len(kept) <= limit
    assert (kept[0], kept[-1]) == (0, n - 1)
    assert n > limit or len(kept) >= min(n, limit - 1)
    assert len(set(np.diff(kept[:-1]))) <= 1


def test_states_are_computed_only_if_kept():
    with watching(max_states=10) as seen:
        model = quiet_fit(Counted(), X, Y)
    assert len(Counted.calls) < 10 * np.log2(10_000)
    assert seen.steps[-1].state == {"level_": 9999} == {"level_": model.level_}


class Counted(Regressor):
    """A model of many iterations that counts how often its state is asked for."""

    calls: ClassVar[list] = []

    def fit(self, X, y):
        return self._learn(X, y)

    def _fit(self, problem):
        recorder = Recorder()
        for i in range(10_000):
            recorder.add(iteration=i, state=lambda i=i: self.calls.append(0) or {"level_": i})
        return {"level_": i}


def test_a_compiled_loop_may_skip_what_is_not_kept():
    with watching(max_states=8) as seen, fitting("path"):
        recorder = Recorder()
    done, visited = 0, []
    while done < 1000:
        recorder.step(done, {"w": done})
        visited.append(done)
        done += recorder.skip()
    assert len(visited) < 8 * 8
    kept = [step.iteration for step in seen.steps]
    assert len(kept) <= 8 and len(set(np.diff(kept[:-1]))) == 1


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(watch, "STATE_BYTES", 100_000)
    with watching() as seen, fitting("path"):
        recorder = Recorder()
    for i in range(300):
        recorder.add(iteration=i, state={"w": np.full(1000, float(i))})
    held = sum(step.state["w"].nbytes for step in seen.steps)
    assert held <= 100_000 + 8000 and (seen.steps[0].iteration, seen.steps[-1].iteration) == (
        0,
        299,
    )


def test_two_fits_of_one_block_are_two_fits():
    model = descent(max_iter=3)
    with watching() as seen:
        quiet_fit(model, X, Y)
        first = model.coef_.copy()
        quiet_fit(model.set_params(max_iter=5), X, Y)
    assert [len(fit.steps) for fit in seen.fits] == [4, 6]
    assert [step.fit for step in seen.steps] == [0] * 4 + [1] * 6
    np.testing.assert_array_equal(seen.fits[0].estimator.coef_, first)
    np.testing.assert_array_equal(seen.model(3).coef_, first)
    np.testing.assert_array_equal(seen.model(-1).coef_, model.coef_)


class Committee(Regressor):
    """A model that fits others, one step each."""

    def fit(self, X, y):
        return self._learn(X, y)

    def _fit(self, problem):
        recorder, total = Recorder(), 0.0
        for k in range(2):
            inner = LinearRegression(solver="gd", tol=1e9)  # converges at once, without a warning
            total = total + inner.fit(problem.X, problem.y).coef_
            recorder.add(iteration=k, state={"sum_": total})
        return {"sum_": total}


def test_fits_inside_a_fit_are_part_of_it():
    with watching() as seen:
        Committee().fit(X, X[:, 0])
    assert [fit.source for fit in seen.fits] == ["Committee"]
    assert [step.iteration for step in seen.fits[0].steps] == [0, 1]
    assert not any("coef_" in step.state for step in seen.steps)


class Wrapper(Regressor):
    """A model that is what its inner model learns."""

    _records_inner_fits = True

    def fit(self, X, y):
        return self._learn(X, y)

    def _fit(self, problem):
        inner = LinearRegression(solver="gd", tol=0, max_iter=4)
        quiet_fit(inner, problem.X, problem.y)
        return {"coef_": inner.coef_, "intercept_": inner.intercept_}


def test_a_class_may_record_its_inner_fit_as_its_own():
    with watching() as seen:
        model = Wrapper().fit(X, X[:, 0])
    assert [fit.source for fit in seen.fits] == ["Wrapper"]
    assert [step.iteration for step in seen.steps] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(seen.steps[-1].state["coef_"], model.coef_)


def test_unwatched_blocks_record_nothing():
    with watching() as seen, unwatched():
        quiet_fit(descent(max_iter=3), X, Y)
    assert seen.fits == []


def test_two_threads_each_see_their_own_fits():
    found = {}

    def run(name, n):
        with watching() as seen:
            for _ in range(3):
                Committee().fit(X[:n], X[:n, 0])
        found[name] = [len(fit.steps) for fit in seen.fits]

    threads = [threading.Thread(target=run, args=(n, n)) for n in (5, 9)]  # no warnings in them
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {5: [2] * 3, 9: [2] * 3}


def test_one_model_fitted_in_two_threads_of_one_watch():
    import contextvars

    model = SGDClassifier(random_state=0, max_iter=3, tol=None)
    with watching() as seen:
        contexts = [contextvars.copy_context() for _ in range(2)]
        threads = [threading.Thread(target=c.run, args=(model.fit, X, Y)) for c in contexts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    one, other = (fit.steps for fit in seen.fits)
    assert len(one) == len(other) > 3
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a.state["coef_"], b.state["coef_"])


def test_a_direct_fit_warns_and_names_the_way_out():
    with (
        pytest.warns(PellucidWarning, match=r"Ridge recorded no steps.*solver='gd'"),
        watching() as seen,
    ):
        pellucid.linear_model.Ridge().fit(X, Y)
    assert seen.steps == [] and len(seen.fits) == 1
    with warnings.catch_warnings(), watching(state=False):
        warnings.simplefilter("error")
        pellucid.linear_model.Ridge().fit(X, Y)


def test_a_fit_that_fails_keeps_its_steps_but_has_no_model():
    def stop(row):
        if row["iteration"] == 2:
            raise KeyboardInterrupt

    X_large = RNG.normal(size=(50_000, 4))  # more than one compiled loop
    with pytest.raises(KeyboardInterrupt), watching(progress=stop) as seen:
        descent(max_iter=9).fit(X_large, X_large[:, 0] > 0)
    assert [step.iteration for step in seen.steps] == [0, 1, 2]
    with pytest.raises(PellucidError, match="no fitted model"):
        seen.model(0)


def test_models_of_steps_end_there():
    with watching() as seen:
        model = quiet_fit(descent(max_iter=9), X, Y)
    then = seen.model(4)
    assert then.n_iter_.tolist() == [4] and then.history_["iteration"][-1] == 4
    assert then.status_.message == "The model after step 4 of a longer fit."
    assert then is not model and model.n_iter_.tolist() == [9]
    np.testing.assert_array_equal(seen.model(4).coef_, then.coef_)
    exact = seen.model(-1)
    assert exact.history_ is model.history_


def test_models_of_steps_count_epochs_where_the_fit_does():
    for model in (
        SGDClassifier(max_iter=4, tol=None, random_state=0),
        LogisticRegression(solver="sgd", batch_size=20, max_iter=4, tol=0, random_state=0),
    ):
        with watching() as seen:
            model.fit(X, Y)
        i = next(i for i, step in enumerate(seen.steps) if step.event["epoch"] == 2)
        then = seen.model(i)
        assert np.max(then.n_iter_) == 2 == then.history_["iteration"][-1]
        assert np.max(model.n_iter_) == 4 == model.history_["iteration"][-1]


def test_models_of_steps_keep_the_table_of_a_search():
    with watching() as seen:
        model = LogisticRegressionCV(Cs=30, cv=3, scoring="accuracy").fit(X, Y)
    assert len(seen.model(1).history_["C"]) == 30
    np.testing.assert_array_equal(seen.model(1).n_iter_, model.n_iter_)


def test_a_model_of_a_step_has_no_inference_of_the_optimum():
    with watching() as seen:
        LogisticRegression(C=np.inf).fit(X, Y)
    assert "inference_" in vars(seen.model(-1)) and "inference_" not in vars(seen.model(1))


def test_frames_are_plain_or_pandas():
    with watching() as seen:
        quiet_fit(descent(max_iter=3), X, Y)
    table = seen.frame("pandas")
    assert table.shape[0] == 4 and table["objective"].is_monotonic_decreasing
    assert list(table.columns) == [
        "fit", "source", "iteration", "objective", "gradient_norm", "parameter_norm",
    ]  # fmt: skip
    assert seen.steps[1].sentence.startswith("Iteration 1: objective 2")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Notebook(io.StringIO):
    """As IPython's kernel replaces the streams."""

    __module__ = "ipykernel.iostream"


def test_progress_is_one_line_in_a_terminal_and_nothing_in_a_file(monkeypatch):
    for stream, shown in ((Terminal(), True), (Notebook(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", stream)
        with watching(progress=True):
            quiet_fit(descent(max_iter=30), X, Y)
        text = stream.getvalue()
        assert bool(text) is shown
        if shown:
            assert text.endswith("\n") and text.count("\n") == 1
            last = text.rstrip().rpartition("\r")[2]
            assert last.startswith("LogisticRegression  iteration 30 of 30  objective ")


def test_a_shorter_line_wipes_the_longer_one():
    stream = Terminal()
    line = ProgressLine(stream)
    line({"source": "A long name", "iteration": 1, "total": None, "objective": 1.5})
    line({"source": "B", "iteration": 2, "total": 9, "objective": None})  # too soon to be shown
    line.end()
    assert stream.getvalue().split("\r")[1:] == [
        "A long name  iteration 1  objective 1.5",
        f"{'B  iteration 2 of 9':<39}\n",
    ]


def test_a_fit_that_nobody_watches_asks_one_question_only():
    """`fitting` and `converting` give a shared object back: no allocation, no copy."""
    from pellucid.records import converting

    assert fitting(descent()) is converting(dict) is unwatched()
    start = time.perf_counter()
    for _ in range(10_000):
        with fitting(None):
            pass
    assert (time.perf_counter() - start) / 10_000 < 20e-6


def test_a_step_that_was_not_recorded_has_no_model():
    with pellucid.watching() as watch:
        pass
    with pytest.raises(ParameterError, match="no step 0: 0 steps were recorded"):
        watch.model(0)


def test_chosen_iterations_stay_however_long_the_fit_is():
    """The log-likelihoods of a printed trace of 200,000 steps, read from the states (to 6 decimals)."""
    iris = load("iris")
    X, y = np.array([iris.X.column(k).to_numpy() for k in (0, 1)]).T, iris.y == "setosa"
    expected = {0: -0.693145, 50_000: -0.021506, 100_000: -0.015329, 150_000: -0.012062}
    with pellucid.watching(keep=[*expected], max_states=20) as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        LogisticRegression(solver="gd", step=0.1, max_iter=160_000, tol=0, C=np.inf).fit(X, y)
    assert len(watch.steps) <= 20 and watch.steps[-1].iteration == 160_000
    found = {step.iteration: step.state for step in watch.steps}
    for k, value in expected.items():
        p = 1 / (1 + np.exp(-X @ found[k]["coef_"][0] - found[k]["intercept_"][0]))
        trace = np.mean(np.where(y, np.log(p + 1e-6), np.log(1 - p + 1e-6)))
        assert trace == pytest.approx(value, abs=5e-7)


def test_chosen_steps_of_compiled_loops_are_those_of_a_full_record():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = X[:, 0] + rng.normal(size=700) > 0
    for model in (
        SGDClassifier(max_iter=3, tol=None, random_state=0),
        Perceptron(max_iter=9, tol=None, random_state=0),
        SVC(tol=1e-6),
    ):
        with pellucid.watching(max_states=10**6) as every:
            model.fit(X, y)
        with pellucid.watching(keep=[7, 401], max_states=12) as few:
            model.fit(X, y)
        steps = {step.iteration: step for step in every.steps}
        found = {step.iteration: step for step in few.steps}
        assert {7, 401} <= set(found) and len(few.steps) <= 12
        for k in (7, 401):
            name = "dual_coef_" if isinstance(model, SVC) else "coef_"
            np.testing.assert_allclose(found[k].state[name], steps[k].state[name], rtol=1e-12)
            assert found[k].sentence == steps[k].sentence


@pytest.mark.parametrize("keep", [[-1], ["a"], 7.5, range(19)])
def test_impossible_choices_are_refused(keep):
    options = {"keep": keep, "max_states": 20}
    said = "'keep' parameter must be a list of at most 18"
    with pytest.raises(ParameterError, match=said), pellucid.watching(**options):
        pass
