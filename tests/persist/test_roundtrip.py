"""What is saved comes back: equal bits, equal types, for every value a model may hold."""

import datetime
import math
import struct

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from pellucid import persist
from pellucid.errors import CannotSaveError
from pellucid.persist.container import MAX_DEPTH
from tests.persist.toys import Options, Pair, Toy


def through(value, folder):
    """`value` after a round trip as a parameter and as a learned attribute."""
    model = Toy(options=value)
    model.value_ = value
    persist.save(model, folder / "m")
    again = persist.load(folder / "m")
    return again.options, again.value_


def assert_same(a, b):
    """Equal type, shape, dtype and bits, all the way down."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype
        if a.dtype.kind == "O":
            for x, y in zip(a.flat, b.flat):
                assert_same(x, y)
        else:
            assert a.astype(b.dtype).tobytes() == b.tobytes()
    elif isinstance(a, float) and type(a) is float:
        assert struct.pack("d", a) == struct.pack("d", b)
    elif isinstance(a, np.generic) and not isinstance(a, str | bytes):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_same(x, y)
    elif isinstance(a, dict):
        assert_same(list(a.items()), list(b.items()))
    elif isinstance(a, Toy | Pair | Options):
        assert_same(vars(a), vars(b))
    else:
        assert a == b


text = st.text(st.characters(), max_size=8)  # lone surrogates included
dtypes = st.sampled_from(
    ["?", "i1", "<i2", ">i4", "<i8", "u1", "<u2", ">u4", "<u8", "<f2", "<f4", ">f8", "<f8",
     "<M8[ns]", "<M8[D]", "<M8[Y]", "<m8[s]", ">M8[25s]", "<U3", ">U2", "S4"]
)  # fmt: skip


@st.composite
def numeric_arrays(draw):
    """Arrays of random bits (payloads of NaN included), in C, Fortran or no order."""
    dtype = np.dtype(draw(dtypes))
    shape = draw(arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    if dtype.kind in "?bUS":
        array = draw(arrays.arrays(dtype, shape))
    else:
        size = math.prod(shape) * dtype.itemsize
        raw = draw(st.binary(min_size=size, max_size=size))
        array = np.ndarray(shape, dtype, raw).copy()
    layout = draw(st.sampled_from(["C", "F", "stride", "reverse"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "stride" and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif layout == "reverse" and array.ndim:
        array = array[::-1]
    return array


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(width=64),
    text, st.binary(max_size=5), st.dates(), text.map(np.str_),
    st.datetimes().map(lambda moment: moment.replace(fold=0)),
    st.binary(max_size=5).map(np.bytes_),
    numeric_arrays().filter(lambda a: a.size and a.dtype.kind not in "US").map(
        lambda a: a.astype(a.dtype.newbyteorder("=")).flat[0]
    ),
)  # fmt: skip
keys = st.one_of(text, st.integers(), st.booleans(), st.none(), st.tuples(text, st.integers()))


@st.composite
def object_arrays(draw):
    values = draw(st.lists(scalars, max_size=6))
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(draw(st.sampled_from([(-1,), (1, -1)]))) if values else array


values = st.recursive(
    st.one_of(scalars, numeric_arrays(), object_arrays()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
        st.sets(keys, max_size=4),
        st.frozensets(keys, max_size=4),
        st.builds(Pair, inner, inner, count=st.integers(0, 9)),
        st.builds(Options, inner),
        st.builds(Toy, inner, inner),
    ),
    max_leaves=12,
)


@given(values)
def test_every_value_comes_back_with_equal_bits(tmp_path_factory, value):
    folder = tmp_path_factory.getbasetemp()
    for again in through(value, folder):
        assert_same(value, again)
    first = (folder / "m").read_bytes()
    persist.save(persist.load(folder / "m"), folder / "n")
    assert (folder / "n").read_bytes() == first  # same model, same bytes


@given(st.integers(256, 600), st.sampled_from(["text", "float", "int", "large", "same", "mixed"]))
def test_long_lists_come_back(tmp_path_factory, length, kind):
    items = {
        "text": ["", "é\ud800", "abc", "\0"], "float": [0.5, math.nan, -0.0], "int": [1, -(2**63)],
        "large": [2**64, 1], "same": [()], "mixed": [1, True, 1.0, "1"],
    }[kind]  # fmt: skip
    value = (items * length)[:length]
    array = np.empty(length, object)
    array[:] = value
    for sequence in (value, tuple(value), array if kind != "same" else value):
        for again in through(sequence, tmp_path_factory.getbasetemp()):
            assert_same(sequence, again)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_is_kept(tmp_path, rng, order):
    """A product's last bit may depend on it."""
    array = np.array(rng.normal(size=(7, 5)), order=order)
    for again in through(array, tmp_path):
        assert again.flags.c_contiguous == (order == "C")
        assert again.flags.aligned and again.flags.writeable


def test_loaded_arrays_do_not_share_memory(tmp_path):
    model = Toy()
    model.a_, model.b_ = np.zeros(3), np.zeros(3)
    persist.save(model, tmp_path / "m")
    again = persist.load(tmp_path / "m")
    again.a_ += 1
    assert not again.b_.any()


def test_a_shared_record_is_written_once(tmp_path):
    schema = Pair(tuple(f"level {i}" for i in range(100)), np.arange(1000.0))
    model = Toy()
    model.learners_ = [Toy(options=schema) for _ in range(50)]
    persist.save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 30_000
    learners = persist.load(tmp_path / "m").learners_
    assert all(learner.options is learners[0].options for learner in learners)


def test_only_learned_attributes_are_saved(tmp_path):
    model = Toy()
    model.value_, model._sklearn_output_config, model._cache = 1, {"transform": "pandas"}, object()
    persist.save(model, tmp_path / "m")
    assert vars(persist.load(tmp_path / "m")) == {**vars(Toy()), "value_": 1}


def test_sparse_matrices_come_back(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random_array((20, 9), density=0.3, format="csr", rng=0)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        for again in through(kind(matrix), tmp_path):
            assert type(again) is kind and again.shape == (20, 9)
            assert (again != matrix).nnz == 0


def test_the_deepest_value_that_can_be_saved_can_be_loaded(tmp_path):
    for wrap in (lambda v: (v,), lambda v: [v], lambda v: {"k": v}, Pair):
        value, last = (), None
        for _ in range(MAX_DEPTH + 5):
            value = wrap(value)
            try:
                persist.save(Toy(options=value), tmp_path / "m")
            except CannotSaveError:
                break
            last = value
        assert_same(persist.load(tmp_path / "m").options, last)


def test_files_are_safetensors(tmp_path):
    model = Toy()
    model.coef_ = np.arange(6.0).reshape(2, 3)
    model.learners_ = [Toy(options={"a": np.ones(2, np.float32)})]
    persist.save(model, tmp_path / "m")
    found = safetensors.numpy.load_file(tmp_path / "m")
    assert sorted(found) == ["coef_", "learners_[0].options['a']"]
    assert_same(found["coef_"], model.coef_)


def test_dates_beyond_python_come_back(tmp_path):
    for value in (np.datetime64("NaT"), np.datetime64("-30000-01-01"), np.timedelta64("NaT", "s"),
                  datetime.datetime.max, datetime.date.min):  # fmt: skip
        for again in through(value, tmp_path):
            assert_same(value, again)
