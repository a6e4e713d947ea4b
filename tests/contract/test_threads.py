"""Equal bits for any number of threads, and predictions that write nothing."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy._core._internal
import pytest

import pellucid.parallel
from pellucid.errors import NotFittedError
from tests.contract.classes import applies_to, has, make, takes
from tests.contract.compare import answers, asks, assert_same_bits, fitted, learned
from tests.contract.data import mixed, numbers

pytestmark = pytest.mark.xdist_group("threads")
SMALL = 32  # rows in a block, so that small tables have many


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 32 rows wherever a module of ours cuts a table."""

    def row_blocks(n, p):
        return [slice(start, min(start + SMALL, n)) for start in range(0, max(n, 1), SMALL)]

    small = {"block_rows": lambda p: SMALL, "row_blocks": row_blocks}
    for name, function in small.items():
        original = getattr(pellucid.parallel, name)
        for module in [m for n, m in sys.modules.items() if n.startswith("pellucid")]:
            if getattr(module, name, None) is original:
                monkeypatch.setattr(module, name, function)


def test_equal_bits_for_any_number_of_threads(Model, threads, small_blocks):
    sample = numbers(Model, n=200)
    threads(1)
    base = fitted(Model, sample, sample.weights)
    expected = learned(base), answers(base, sample.X)
    for count in (2, 4, 2, 4, 1):
        threads(count)
        model = fitted(Model, sample, sample.weights)
        found = learned(model), answers(model, sample.X)
        assert_same_bits(expected, found, f"{count} threads: ")


@applies_to(takes("n_jobs"))
def test_equal_bits_for_any_number_of_jobs(Model, small_blocks):
    sample = numbers(Model, n=200)
    expected = None
    for count in (1, 2, 3, -1, None):
        model = fitted(Model, sample, n_jobs=count)
        found = answers(model, sample.X)
        expected = expected or found
        assert_same_bits(expected, found, f"n_jobs={count}: ")


@applies_to(has("predict"))
def test_a_fit_that_begins_during_a_prediction_leaves_no_strange_error(Model, monkeypatch):
    """Another thread may fit the same model: when the columns are encoded, what was learned is gone."""
    sample = numbers(Model)
    model, encode = fitted(Model, sample), Model._encode_table
    expected = model.predict(sample.X)

    def encoded_too_late(self, *args, **kwargs):
        table = encode(self, *args, **kwargs)
        for name in self._learned():
            delattr(self, name)
        return table

    monkeypatch.setattr(Model, "_encode_table", encoded_too_late)
    try:
        assert_same_bits(expected, model.predict(sample.X))  # what was needed had been read before
    except NotFittedError as error:
        assert "is not fitted yet" in str(error)


@applies_to(takes("random_state"))
def test_every_kind_of_seed_is_repeatable(Model):
    sample = numbers(Model)
    for seed in (
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
        lambda: np.random.SeedSequence(7),
    ):
        one, other = (fitted(Model, sample, random_state=seed()) for _ in range(2))
        assert_same_bits(answers(one, sample.X), answers(other, sample.X))
    fitted(Model, sample, random_state=None)


@pytest.mark.slow
def test_equal_bits_on_blocks_of_full_size(Model, threads):
    sample = numbers(Model, n=9000, p=32)
    threads(1)
    base = fitted(Model, sample, sample.weights)
    expected = learned(base), answers(base, sample.X[:3000])
    for count in (2, 4):
        threads(count)
        model = fitted(Model, sample, sample.weights)
        assert_same_bits(expected, (learned(model), answers(model, sample.X[:3000])), f"{count}: ")


def test_fitting_twice_gives_the_same_bits(Model):
    sample = mixed(Model)
    model = make(Model)
    first = copy.deepcopy(learned(model.fit(sample.X, sample.y)))
    assert_same_bits(first, learned(model.fit(sample.X, sample.y)))


def test_numpy_reads_no_buffer_format_in_python(Model, monkeypatch):
    """There, NumPy turns an interrupt into a ValueError, or drops it and the fit goes on."""
    read = numpy._core._internal.__dtype_from_pep3118
    formats = []

    def noted(stream, is_subdtype):
        formats.append(stream.s)
        return read(stream, is_subdtype)

    monkeypatch.setattr(numpy._core._internal, "__dtype_from_pep3118", noted)
    assert np.asarray(memoryview(b"x").cast("c")).size == len(formats) == 1  # what is looked for
    sample = numbers(Model, n=300)
    answers(fitted(Model, sample), sample.X)
    assert formats == ["c"]


def test_prediction_writes_nothing(Model):
    """Not to the model, and not to its arrays: they may be read-only."""
    for sample in (numbers(Model), mixed(Model)):
        model = fitted(Model, sample)
        freeze(model, set())
        before = pickle.dumps(model)
        keys = list(vars(model))
        answers(model, sample.X)
        if hasattr(model, "explain"):
            model.explain(sample.X)
        assert list(vars(model)) == keys
        assert pickle.dumps(model) == before


def freeze(thing, seen: set) -> None:
    """Make every array inside read-only."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        thing.setflags(write=False)
        parts = thing.tolist() if thing.dtype == object else ()
    elif isinstance(thing, dict):
        parts = thing.values()
    elif isinstance(thing, list | tuple):
        parts = thing
    else:
        parts = vars(thing).values() if hasattr(thing, "__dict__") else ()
    for part in parts:
        freeze(part, seen)


def test_eight_threads_may_predict_at_once(Model):
    sample = numbers(Model, n=120)
    model = fitted(Model, sample)
    expected = answers(model, sample.X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: answers(model, sample.X), range(16)):
            assert_same_bits(expected, found)


def test_a_row_is_answered_as_in_company(Model):
    """To 1e-12: equal bits are not promised across batch sizes."""
    sample = numbers(Model)
    model = fitted(Model, sample)
    for ask in asks(model):
        whole = np.asarray(ask(sample.X))
        alone = np.concatenate([np.asarray(ask(sample.X[i : i + 1])) for i in range(6)])
        if whole.dtype.kind == "f":
            assert np.allclose(whole[:6], alone, rtol=1e-12, atol=1e-12 * np.max(np.abs(whole)))
        else:
            assert np.array_equal(whole[:6], alone)


def test_four_estimators_may_fit_at_once(Model):
    sample = numbers(Model)
    expected = learned(fitted(Model, sample))
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(lambda _: fitted(Model, sample), range(4)):
            assert_same_bits(expected, learned(model))


def test_two_threads_may_fit_one_estimator_at_once(Model, monkeypatch):
    """Both fits are under way at the same time, on different data: the result is that of one fit,
    and nothing is written on the estimator meanwhile."""
    samples = [numbers(Model, n=60, seed=0), numbers(Model, n=80, p=3, seed=1)]
    expected = [learned(fitted(Model, sample)) for sample in samples]
    model, together, original = make(Model), threading.Barrier(2, timeout=10), Model._fit
    written, errors = [], []

    def fit_together(self, problem, **options):
        if threading.current_thread() not in threads:
            return original(self, problem, **options)
        together.wait()
        found = original(self, problem, **options)
        together.wait()
        return found

    def note(self, name, value):
        if self is model and name != "__dict__":  # all learned attributes in one step
            written.append(name)
        object.__setattr__(self, name, value)

    def fit(sample):
        try:
            model.fit(sample.X, sample.y)
        except Exception as error:
            errors.append(error)

    monkeypatch.setattr(Model, "_fit", fit_together)
    monkeypatch.setattr(Model, "__setattr__", note)
    threads = [threading.Thread(target=fit, args=(sample,)) for sample in samples]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and not written
    found = learned(model)
    assert_same_bits(expected[found["n_features_in_"] == 3], found)
