"""Order, errors, thread policy, seeds and interruption of the parallel layer."""

import contextvars
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from pellucid import parallel
from pellucid.errors import ParameterError
from pellucid.parallel import pool, stop
from pellucid.parallel import threads as policy


@pytest.fixture(autouse=True)
def default_threads():
    yield
    parallel.set_threads(None)


def test_block_rows_follow_the_formula():
    for p in [1, 2, 3, 4, 5, 31, 50, 100, 1000, 1024, 1025, 10**6]:
        assert parallel.block_rows(p) == 2 ** int(np.clip(np.floor(np.log2(2**18 / p)), 8, 16))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 10_000])
def test_row_blocks_cover_every_row_once(n):
    blocks = parallel.row_blocks(n, 2000)
    assert np.concatenate([np.arange(n)[block] for block in blocks]).tolist() == list(range(n))
    assert max(block.stop - block.start for block in blocks) <= parallel.block_rows(2000)


@pytest.mark.parametrize("jobs", [1, 2, 4, None, -1, -99])
def test_map_keeps_task_order(jobs):
    def slow_square(i):
        time.sleep(0.002 * (i % 3))
        return i * i

    assert parallel.map(slow_square, range(20), n_jobs=jobs) == [i * i for i in range(20)]
    assert parallel.map(slow_square, [], n_jobs=jobs) == []


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_reduce_combines_in_block_order(jobs):
    def partial(i):
        time.sleep(0.001 * (7 * i % 5))
        return [i]

    def combine(a, b):
        a.extend(b)
        return a

    assert parallel.reduce(partial, combine, range(40), n_jobs=jobs) == list(range(40))


def test_one_block_is_called_in_the_calling_thread():
    assert parallel.reduce(lambda b: threading.current_thread(), None, [0], n_jobs=4) is (
        threading.current_thread()
    )


def test_sums_have_equal_bits_for_any_number_of_threads():
    X = np.random.default_rng(0).normal(size=(50_000, 40))
    grams = []
    for threads in [1, 2, 4]:
        parallel.set_threads(threads)
        blocks = parallel.row_blocks(*X.shape)
        grams.append(parallel.reduce(lambda b: X[b].T @ X[b], np.add, blocks).tobytes())
    assert len(set(grams)) == 1


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_the_error_of_the_first_failing_task_is_raised(jobs):
    def fail(i):
        time.sleep(0.001 * (10 - i))
        raise ValueError(str(i))

    with pytest.raises(ValueError, match=r"^0$"):
        parallel.map(fail, range(10), n_jobs=jobs)
    assert parallel.map(abs, [-1], n_jobs=jobs) == [1]


def test_inside_a_worker_there_is_one_thread():
    parallel.set_threads(3)
    assert parallel.map(lambda _: parallel.get_threads(), range(6)) == [1] * 6
    nested = parallel.map(lambda _: parallel.map(lambda i: i, [1, 2], n_jobs=4), range(3))
    assert nested == [[1, 2]] * 3
    assert parallel.get_threads() == 3


def test_workers_see_the_context_of_the_caller():
    variable = contextvars.ContextVar("variable", default=0)
    token = variable.set(5)
    try:
        assert parallel.map(lambda _: variable.get(), range(4), n_jobs=2) == [5] * 4
        assert parallel.interruptible(variable.get) == 5
    finally:
        variable.reset(token)


def test_inside_joblib_there_is_one_thread():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_backend("threading", n_jobs=2):
        inside = joblib.Parallel()(joblib.delayed(parallel.get_threads)() for _ in range(4))
    assert inside == [1] * 4


def test_environment_and_set_threads_decide(monkeypatch):
    monkeypatch.setenv("PELLUCID_NUM_THREADS", "3")
    assert parallel.get_threads() == 3
    parallel.set_threads(2)
    assert parallel.get_threads() == 2
    parallel.set_threads(None)
    monkeypatch.setenv("PELLUCID_NUM_THREADS", "many")
    with pytest.raises(ParameterError, match="PELLUCID_NUM_THREADS"):
        parallel.get_threads()
    monkeypatch.delenv("PELLUCID_NUM_THREADS")
    assert parallel.get_threads() == len(os.sched_getaffinity(0))


def test_using_sets_the_default_of_a_block():
    parallel.set_threads(2)
    with parallel.using(3):
        assert parallel.get_threads() == 3
        with parallel.using(None):
            assert parallel.get_threads() == 2
        assert parallel.get_threads() == 3
    assert parallel.get_threads() == 2
    with pytest.raises(ParameterError), parallel.using(0):
        pass


def test_using_holds_in_the_thread_of_an_interruptible_call():
    parallel.set_threads(2)
    with parallel.using(3):
        assert parallel.interruptible(parallel.get_threads) == 3
        assert parallel.map(lambda _: parallel.get_threads(), range(3)) == [1] * 3
    assert parallel.interruptible(parallel.get_threads) == 2


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"])
def test_set_threads_refuses(bad):
    with pytest.raises(ParameterError):
        parallel.set_threads(bad)


@pytest.mark.parametrize("bad", [0, 1.5, True])
def test_n_jobs_refuses(bad):
    with pytest.raises(ParameterError, match="n_jobs"):
        parallel.map(abs, [1, 2], n_jobs=bad)


def test_blas_is_limited_inside_and_restored_after():
    libraries = policy._blas_libraries()
    assert libraries
    for library in libraries:
        library.set(2)
    inside = parallel.map(lambda _: [lib.get() for lib in libraries], range(3), n_jobs=2)
    assert inside == [[1] * len(libraries)] * 3
    with parallel.one_blas_thread(), parallel.one_blas_thread():
        pass
    assert [library.get() for library in libraries] == [2] * len(libraries)


def test_blas_is_limited_from_any_thread():
    """threadpoolctl obeys one thread at a time; regions begin and end in whichever comes."""
    libraries = policy._blas_libraries()
    for library in libraries:
        library.set(2)  # the main thread takes control

    def counts(_=None):
        return [library.get() for library in libraries]

    inside = parallel.interruptible(lambda: parallel.map(counts, range(2), n_jobs=2))
    assert inside == [[1] * len(libraries)] * 2
    assert counts() == [2] * len(libraries)
    outer = parallel.one_blas_thread()
    thread = threading.Thread(target=outer.__enter__)
    thread.start()
    thread.join()
    assert counts() == [1] * len(libraries)
    outer.__exit__(None, None, None)
    assert counts() == [2] * len(libraries)


def test_streams_depend_on_seed_and_task_only():
    seed = parallel.seed_sequence(3)

    def draw(task):
        return parallel.stream(seed, "tree", task).random(4).tolist()

    serial = parallel.map(draw, range(8), n_jobs=1)
    assert parallel.map(draw, range(8), n_jobs=4) == serial
    assert len({tuple(row) for row in serial}) == 8
    assert parallel.stream(parallel.seed_sequence(4), "tree", 0).random(4).tolist() != serial[0]
    child = seed.spawn(1)[0]
    assert parallel.stream(child, "tree", 0).random(4).tolist() != serial[0]


def test_seed_sequences_from_every_kind_of_state():
    legacy = np.random.RandomState(0)
    first, second = (parallel.seed_sequence(legacy).entropy for _ in range(2))
    assert first != second
    assert parallel.seed_sequence(np.random.RandomState(0)).entropy == first
    modern = np.random.default_rng(0)
    assert parallel.seed_sequence(modern).entropy != parallel.seed_sequence(modern).entropy
    np.random.mtrand._rand.seed(5)
    drawn = parallel.seed_sequence(None).entropy
    np.random.mtrand._rand.seed(5)
    assert parallel.seed_sequence(None).entropy == drawn
    for bad in [-1, 1.5, "x", True]:
        with pytest.raises(ParameterError, match="random_state"):
            parallel.seed_sequence(bad)


def test_interruptible_returns_results_and_errors():
    assert parallel.interruptible(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        parallel.interruptible(divmod, 7, 0)
    parallel.set_threads(2)
    assert parallel.interruptible(parallel.get_threads) == 2


INTERRUPTED = """
import os, signal, sys, threading, time
from pellucid import parallel

def loop(_=None):
    flag = parallel.StopFlag()
    while not flag.array[0]:
        time.sleep(0.01)

other = parallel.StopFlag()
other.root = -1
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
threading.Timer(0.3, os.kill, (os.getpid(), signal.{sent})).start()
start = time.perf_counter()
try:
    {call}
except {raised}:
    assert time.perf_counter() - start < 1.3
    assert not other.is_set()
    assert parallel.map(abs, [-1, -2], n_jobs=2) == [1, 2]
    print("stopped")
"""


@pytest.mark.parametrize("signals", ["SIGINT KeyboardInterrupt", "SIGTERM SystemExit"])
@pytest.mark.parametrize(
    "call",
    [
        "parallel.interruptible(loop)",
        "parallel.map(loop, range(9), n_jobs=2)",
        "parallel.interruptible(parallel.map, loop, range(9), 2)",
        "parallel.map(lambda _: parallel.map(time.sleep, [0.01] * 600), range(9), n_jobs=2)",
    ],
)
def test_a_signal_stops_the_tree_within_a_second(call, signals):
    sent, raised = signals.split()
    code = textwrap.dedent(INTERRUPTED).replace("{call}", call)
    code = code.replace("{sent}", sent).replace("{raised}", raised)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "stopped", done.stderr


FIT_INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import polars
from pellucid.tree import DecisionTreeClassifier

rng = np.random.default_rng(0)
X, y = rng.normal(size=(200_000, 20)), rng.integers(2, size=200_000)
model = DecisionTreeClassifier()
DecisionTreeClassifier().fit(X[:100], y[:100])  # what is imported late is imported now
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    assert 0.4 < time.perf_counter() - start < 2.5
    assert not model._learned()
    print("stopped")
"""


def test_ctrl_c_stops_a_fit_where_a_library_has_its_own_handler():
    """polars' handler lets a blocked lock sleep on."""
    pytest.importorskip("polars")
    run = [sys.executable, "-c", FIT_INTERRUPTED]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "stopped", done.stderr


def test_an_interrupt_that_takes_the_item_of_the_queue_loses_no_job(monkeypatch):
    """Ctrl-C may come when `get` has returned and nothing else was done yet."""

    class Interrupted(pool.SimpleQueue):
        first = True

        def get(self, *args, **kwargs):
            item = super().get(*args, **kwargs)
            if Interrupted.first:
                Interrupted.first = False
                raise KeyboardInterrupt
            return item

    parallel.map(abs, range(2), n_jobs=2)  # the pool's own queue is made
    monkeypatch.setattr(pool, "SimpleQueue", Interrupted)
    raised = []

    def caller():
        try:
            pool._run(pool._workers, lambda: None, 2)
        except KeyboardInterrupt:
            raised.append(True)

    thread = threading.Thread(target=caller, daemon=True)
    thread.start()
    thread.join(10)
    assert raised and not thread.is_alive()


def test_a_forked_child_has_its_own_pool():
    parallel.set_threads(2)
    parallel.map(abs, range(4))
    with stop._lock:  # as if another thread were making a flag
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            parallel.StopFlag().check()
            good = parallel.map(abs, range(4), n_jobs=2) == [0, 1, 2, 3] and policy._chosen is None
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_workers_of_a_server_that_asked_for_one_thread_have_one():
    parallel.set_threads(1)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if parallel.get_threads() == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(policy._cpu_here is None, reason="the system does not tell where a thread runs")
def test_workers_that_woke_on_one_cpu_part_and_stay_free(monkeypatch):
    allowed = os.sched_getaffinity(0)
    taken: set[int] = set()
    policy.move_apart(taken)
    assert taken <= allowed
    moves = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: moves.append(cpus))
    here = min(taken)
    monkeypatch.setattr(policy, "_cpu_here", lambda: here)
    policy.move_apart(taken)
    assert moves == ([allowed - {here}, allowed] if allowed - {here} else [])
    moves.clear()
    policy.move_apart(set(allowed))  # more workers than CPUs: nowhere to go
    assert moves == []
    monkeypatch.undo()
    left = parallel.map(lambda _: os.sched_getaffinity(0), range(8), n_jobs=4)
    assert all(cpus == allowed for cpus in left)
