"""Records are plain, frozen and checked; histories stay short; watching sees only its own fits."""

import contextvars
import dataclasses
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import ParameterError
from pellucid.records import Recorder, Solution, Status, fitting, recorder, watching


@pytest.mark.parametrize("code", ["ok", "converged", "early_stopped"])
def test_status_ok(code):
    assert Status(code, "done").ok


def test_status_not_ok_says_what_to_try():
    status = Status("max_iter", "Stopped early.", "Raise max_iter.")
    assert not status.ok
    assert str(status) == "Stopped early. Raise max_iter."
    with pytest.raises(dataclasses.FrozenInstanceError):
        status.code = "ok"


@pytest.mark.parametrize(
    "fields", [("", "m"), ("Max Iter", "m"), (3, "m"), ("ok", None), ("ok", "m", 1), ("a\n", "m")]
)
def test_status_from_a_hostile_file_is_refused(fields):
    with pytest.raises(ParameterError, match="of Status must be"):
        Status(*fields)


def test_history_has_equal_float_columns_with_gaps():
    recorder = Recorder()
    recorder.add(iteration=0, objective=3)
    recorder.add(iteration=1, objective=2, step=0.5)
    recorder.add(iteration=2, step=np.float32(0.25))
    history = recorder.history()
    assert list(history) == ["iteration", "objective", "step"]
    assert all(column.dtype == np.float64 and column.shape == (3,) for column in history.values())
    np.testing.assert_array_equal(history["objective"], [3, 2, np.nan])
    np.testing.assert_array_equal(history["step"], [np.nan, 0.5, 0.25])


def test_empty_history_has_the_two_columns():
    history = Recorder().history()
    assert list(history) == ["iteration", "objective"]
    assert all(column.shape == (0,) and column.dtype == float for column in history.values())


def test_long_history_is_thinned_evenly_and_keeps_both_ends():
    recorder = Recorder()
    n = 123_457
    recorder.extend(iteration=np.arange(n), objective=np.arange(n) * 2.0)
    kept = recorder.history()["iteration"]
    assert 4_000 <= len(kept) <= 10_000
    assert (kept[0], kept[-1]) == (0, n - 1)
    assert len(set(np.diff(kept[:-1]))) == 1
    np.testing.assert_array_equal(recorder.history()["objective"], kept * 2)


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 300), st.integers(2, 20))
def test_thinning_properties(n, limit):
    thinned = recorder._Thinned(limit)
    for i in range(n):
        thinned.append(i)
    kept = thinned.entries()
    assert len(kept) <= limit
    assert kept == sorted(set(kept))
    if n <= limit - 1:
        assert kept == list(range(n))
    if n:
        assert (kept[0], kept[-1]) == (0, n - 1)


def test_extend_needs_equal_lengths():
    with pytest.raises(ParameterError, match="equal length"):
        Recorder().extend(iteration=[1, 2], objective=[1.0])


def test_states_are_copies_and_only_kept_when_watched():
    def never():
        raise AssertionError("nobody watches")

    w = np.zeros(2)
    Recorder().add(iteration=0, state=never)
    with watching(state=False), fitting("path"):
        Recorder().add(iteration=0, state=never)
    with watching():
        Recorder().add(iteration=0, state=never)  # outside of a fit
    with watching() as watch, fitting("path"):
        recorder = Recorder("sgd")
        for i in range(3):
            w[:] += 1
            recorder.add(iteration=i, state=lambda: {"w": w})
    assert not Recorder().watched
    assert [step.state["w"][0] for step in watch.steps] == [1, 2, 3]
    assert watch.steps[1].source == "path"


def test_states_are_thinned_per_fit():
    with watching(max_states=10) as watch:
        for source in "ab":
            with fitting(source):
                recorder = Recorder()
            for i in range(1000):
                recorder.add(iteration=i, state={"w": i})
    for source in "ab":
        seen = [step.iteration for step in watch.steps if step.source == source]
        assert len(seen) <= 10
        assert (seen[0], seen[-1]) == (0, 999)


def test_progress_gets_rows_and_may_stop_the_fit():
    rows = []
    with watching(state=False, progress=rows.append) as watch, fitting("path"):
        Recorder("newton", total=7).add(iteration=3, objective=1.5, step=1.0)
    assert rows == [{"source": "path", "total": 7, "iteration": 3, "objective": 1.5, "step": 1.0}]
    assert watch.steps == []

    def stop(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watching(progress=stop), fitting("path"):
        Recorder().add(iteration=0)
    assert not Recorder().watched


def test_watching_in_one_thread_does_not_reach_another():
    seen = {}

    def fit(name):
        with fitting(name):
            recorder = Recorder()
        seen[name] = recorder.watched
        recorder.add(iteration=0, state={"w": 1.0})

    with watching() as watch:
        context = contextvars.copy_context()
        threads = [
            threading.Thread(target=fit, args=("stranger",)),
            threading.Thread(target=context.run, args=(fit, "worker")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == {"stranger": False, "worker": True}
    assert [step.source for step in watch.steps] == ["worker"]


def test_nested_watching_restores_the_outer():
    with watching() as outer:
        with watching() as inner, fitting("in"):
            Recorder().add(iteration=0, state={})
        with fitting("out"):
            Recorder().add(iteration=0, state={})
    assert [step.source for step in inner.steps] == ["in"]
    assert [step.source for step in outer.steps] == ["out"]


def test_watching_checks_its_limit():
    with pytest.raises(ParameterError, match="max_states"), watching(max_states=1):
        pass


def test_solution_is_frozen():
    solution = Solution(np.ones(2), Status("ok", "direct"), {}, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.n_iter = 2


def test_progress_may_look_at_states_and_fit_models():
    """In a thread of its own: what fails here waits for ever."""
    seen = []

    def look(row):
        with fitting("inner"):  # not watched
            Recorder().add(iteration=0, state={"w": 2.0})
        seen.append((row["source"], len(watch.steps)))

    def fit():
        nonlocal watch
        with watching(progress=look) as watch, fitting("outer"):
            outer = Recorder()
            for i in range(2):
                outer.add(iteration=i, state={"w": 1.0})

    watch = None
    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert seen == [("outer", 1), ("outer", 2)]


def test_a_history_that_goes_on():
    first, then = Recorder(), Recorder()
    for i in range(3):
        first.add(iteration=i, objective=10.0 - i)
    then.extend(iteration=[2, 3], objective=[7.0, 6.0], step=[0.5, 0.25])
    both = recorder.joined(first.history(), then.history())
    assert both["iteration"].tolist() == [0, 1, 2, 3]
    assert both["objective"].tolist() == [10, 9, 7, 6]
    np.testing.assert_array_equal(both["step"], [np.nan, np.nan, 0.5, 0.25])
    long = {"iteration": np.arange(9_000.0)}
    more = {"iteration": np.arange(9_000.0, 18_000.0)}
    kept = recorder.joined(long, more)["iteration"]
    assert len(kept) <= recorder.HISTORY_ROWS and (kept[0], kept[-1]) == (0, 17_999)
