"""Damaged and forged files give `ModelFileError`: no crash, no hang, no code, no large allocation."""

import copy
import json
import os
import tracemalloc

import numpy as np
import pytest

from pellucid import persist
from pellucid.errors import ModelFileError
from pellucid.persist.container import BLANK, FORMAT, KEY, MAX_ITEMS, MAX_VALUES
from tests.persist.forgery import cases, mutated, parts, sealed, sealed_text
from tests.persist.toys import Options, Pair, Toy

STRANGE = [
    None, True, -1, 0, 1.5, "", "x", "__class__", "os.system", [], {}, {"@": "x"}, {"@": []}, 10**30,
    {"@": "tuple", "items": None}, {"@": "same", "record": 0}, {"@": "array", "tensor": "array_"},
    {"@": "repeat", "times": 10**12, "item": 0}, {"@": "repeat", "times": 300, "item": []},
    {"@": "record", "class": "Pair", "fields": {"left": 1}},
    {"@": "scalar", "dtype": "<f8", "hex": "00"}, {"@": "int", "hex": "zz"}, [[[[]]]],
]  # fmt: skip


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """A small file that uses every tag of the format."""
    from scipy import sparse

    shared = Pair((1, 2.5), {"a": (), 2: b"x"}, 3)
    model = Toy(
        alpha=float("inf"), options=Options(mode=np.float32(1.5)), child=Toy(options=shared)
    )
    model.array_ = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    model.values_, model.width_ = np.array([True, False]), 2
    model.labels_ = np.array(["a", 1, None, 2**70], object)
    model.classes_, model.raw_ = np.array(["é", "zz"]), np.array([b"ab"])
    model.dates_ = np.array(["2020-01-01", "NaT"], "M8[D]")
    model.matrix_ = sparse.csr_array(np.eye(3))
    model.levels_ = (tuple(f"l{i}" for i in range(300)), list(range(300)), ((),) * 300)
    model.moment_, model.text_, model.again_ = np.datetime64(5, "ns"), np.str_("q"), shared
    path = tmp_path_factory.mktemp("valid") / "m"
    persist.save(model, path)
    return path.read_bytes()


def test_the_valid_file_loads(valid, outcome):
    assert outcome(valid) is not None
    table, document, data = parts(valid)
    assert outcome(sealed(table, document, data)) is not None


def test_random_bytes_are_refused(outcome, rng):
    for i in cases(1000):
        raw = rng.bytes(rng.integers(0, 200))
        if i % 2:
            raw = int(rng.integers(0, 300)).to_bytes(8, "little") + b"{" + raw
        assert outcome(raw) is None


def test_every_flipped_bit_is_noticed(valid, outcome, rng):
    total = 8 * len(valid)
    count = min(total, len(cases(2000)))
    for bit in rng.choice(total, count, replace=False):
        raw = bytearray(valid)
        raw[bit // 8] ^= 1 << (bit % 8)
        assert outcome(raw) is None


def test_every_truncation_is_noticed(valid, outcome, rng):
    lengths = rng.choice(len(valid), min(len(valid), len(cases(300))), replace=False)
    for length in [*range(20), *lengths]:
        assert outcome(valid[:length]) is None
    for tail in (b"\0", b" " * 8, valid):
        assert outcome(valid + tail) is None


def test_forged_documents_are_refused_or_make_sense(valid, outcome, rng):
    """Whatever the document says: an error, or a model that its own check accepts."""
    table, document, data = parts(valid)
    loaded = 0
    for _ in cases(700):
        forged = document
        for _ in range(rng.integers(1, 4)):
            forged = mutated(forged, rng, STRANGE)
        model = outcome(sealed(table, forged, data))
        if model is not None:
            loaded += 1
            model._check_state()
            assert all(name.endswith("_") for name in vars(model).keys() - vars(Toy()).keys())
    assert loaded < len(cases(700))  # most are refused


def test_forged_tables_of_tensors_are_refused_or_make_sense(valid, outcome, rng):
    table, document, data = parts(valid)
    loaded = 0
    for _ in cases(700):
        model = outcome(sealed(mutated(table, rng, STRANGE), document, data))
        if model is not None:
            loaded += 1
            model._check_state()
    assert loaded < len(cases(700))


def test_forged_data_are_refused_or_loaded(valid, outcome, rng):
    """Other numbers are other numbers; texts, truth values and sparse structure are checked."""
    table, document, data = parts(valid)
    loaded = 0
    for _ in cases(300):
        raw = bytearray(data)
        for place in rng.integers(len(raw), size=rng.integers(1, 20)):
            raw[place] = rng.integers(256)
        model = outcome(sealed(table, document, bytes(raw)))
        if model is not None:
            loaded += 1
            model.classes_.tolist()
            model.matrix_ @ np.ones(3)
    assert 0 < loaded < len(cases(300))  # both happen, or one of them is not tested


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [2**61], "data_offsets": [0, 2**64]},
        {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]},
        {"dtype": "F64", "shape": [2**32, 2**32], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [8, 0]},
        {"dtype": "F64", "shape": [1], "data_offsets": [-8, 0]},
        {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": "1", "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": {"0": 1}, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1], "data_offsets": [0]},
        {"dtype": "F64", "shape": [1], "data_offsets": {"0": 0, "8": 0}},
        {"dtype": "F64", "shape": [1] * 40, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [], "data_offsets": [8, 16]},
        {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": ["F64"], "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [0, 2**63, 2**63], "data_offsets": [0, 0]},
        {"shape": [1], "data_offsets": [0, 8]},
        [], None, "F64", 1,
    ],
)  # fmt: skip
def test_impossible_tensors(outcome, entry):
    tree = {"@": "estimator", "class": "Toy", "parameters": {},
            "learned": {"a_": {"@": "array", "tensor": "a_"}}}  # fmt: skip
    document = {"format": FORMAT, "model": tree}
    good = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    assert outcome(sealed({"a_": good}, document, b"\0" * 8)).a_ == 0
    assert outcome(sealed({"a_": entry}, document, b"\0" * 8)) is None


def test_overlaps_gaps_and_shared_tensors(outcome):
    tree = {"@": "estimator", "class": "Toy", "parameters": {}, "learned": {}}
    document = {"format": FORMAT, "model": tree}

    def entry(begin, end):
        return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}

    assert outcome(sealed({"a": entry(0, 4), "b": entry(4, 8)}, document, b"12345678")) is not None
    for places in (
        [(0, 5), (4, 8)],
        [(0, 3), (4, 8)],
        [(0, 8), (0, 8)],
        [(1, 4), (4, 8)],
        [(0, 4)],
    ):
        table = {f"t{i}": entry(*place) for i, place in enumerate(places)}
        assert outcome(sealed(table, document, b"12345678")) is None
    twice = [{"@": "array", "tensor": "a"}, {"@": "array", "tensor": "a"}]
    document = {"format": FORMAT, "model": {**tree, "parameters": {"options": twice}}}
    assert outcome(sealed({"a": entry(0, 8)}, document, b"12345678")) is None


@pytest.mark.parametrize(
    "name", ["__class__", "__dict__", "alpha", "fit", "_x_", "x y_", "é_", "_"]
)
def test_only_learned_names_are_set(outcome, name):
    tree = {"@": "estimator", "class": "Toy", "parameters": {}, "learned": {name: 1}}
    assert outcome(sealed({}, {"format": FORMAT, "model": tree}, b"")) is None


def test_unknown_keys_are_skipped_and_unknown_arguments_refused(valid, outcome):
    table, document, data = parts(valid)
    newer = copy.deepcopy({**document, "colour": {"@": "later"}})
    newer["model"]["learned"]["array_"]["compression"] = "none"
    newer["model"]["note"] = [1]
    assert outcome(sealed(table, newer, data)) is not None
    record = newer["model"]["parameters"]["child"]["parameters"]["options"]["fields"]
    for arguments in (newer["model"]["parameters"], record):
        arguments["beta"] = 1
        assert outcome(sealed(table, newer, data)) is None
        del arguments["beta"]
    assert outcome(sealed(table, newer, data)) is not None


def test_a_newer_format_says_which_release_reads_it(valid, tmp_path):
    table, document, data = parts(valid)
    document = {**document, "format": 7, "reader": "2.5", "model": {"@": "another world"}}
    (tmp_path / "m").write_bytes(sealed(table, document, data))
    for read in (persist.load, persist.describe):
        with pytest.raises(ModelFileError, match=r"format 7.*\n.*Pellucid 2\.5 or newer"):
            read(tmp_path / "m")


def test_states_that_make_no_sense_are_refused(valid, outcome):
    table, document, data = parts(valid)
    for place, value in [("width_", 3), ("width_", None)]:
        forged = copy.deepcopy(document)
        forged["model"]["learned"][place] = value
        assert outcome(sealed(table, forged, data)) is None
    forged = copy.deepcopy(document)
    forged["model"]["parameters"]["child"]["parameters"]["options"]["fields"]["count"] = -1
    assert outcome(sealed(table, forged, data)) is None


def header_of(document_text):
    return json.dumps({"__metadata__": {KEY: document_text}})


def test_strange_json(outcome):
    model = '{"@":"estimator","class":"Toy","parameters":{"alpha":%s},"learned":{}}'
    start = f'{{"sha256":"{BLANK}","format":{FORMAT},"model":'
    plain = start + model + "}"
    assert outcome(sealed_text(header_of(plain % "1.5"))).alpha == 1.5
    deep = 100_000
    strange = [
        "NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * deep + "]" * deep, "[" * deep,
        '{"@":' * 2000 + "1" + "}" * 2000, '{"@":"tuple","items":[' * 200 + "]}" * 200,
        "[" * 150 + "]" * 150,
        '{"@":"int","hex":"1"}', '{"@":"int","hex":"0x"}', '{"@":"int","hex":"0x1_0"}',
        '{"@":"float","value":"1"}', '{"@":"float","value":"3ff0000000000000"}', '{"@":"float"}',
        '{"@":"date","iso":"2020-13-01"}', '{"@":"datetime","iso":"2020-01-01T00:00+01:00"}',
        '{"@":"bytes","hex":"0"}', '{"@":"scalar","dtype":"|b1","hex":"02"}',
        '{"@":"scalar","dtype":"<f16","hex":"00"}', '{"@":"scalar","dtype":"O","hex":""}',
        '{"@":"scalar","dtype":"<M8[2q]","hex":"0000000000000000"}', '{"@":"dict","items":[1]}',
        '{"@":"dict","items":[[[],1]]}', '{"@":"dict","items":[[1,1],[true,2]]}',
        '{"@":"dict","items":[["a",1],["a",2]]}', '{"@":"objects","shape":[2],"values":[1]}',
        '{"@":"objects","shape":[1],"values":[[1]]}', '{"@":"objects","shape":[0,1e9],"values":[]}',
        '{"@":"same","record":0}', '{"@":"same","record":-1}',
        '{"@":"tuple","items":{"@":"tuple","items":[]}}',
        '{"@":1}', "{}", '{"@":"repeat","times":-1,"item":1}', '{"@":"__class__"}',
        f'{{"@":"repeat","times":{MAX_ITEMS + 1},"item":1}}',
        '{"@":"csr","kind":"csr_array","shape":[1,1],"data":[1],"indices":[0],"indptr":[0,1]}',
    ]  # fmt: skip
    for text in strange:
        assert outcome(sealed_text(header_of(plain % text))) is None, text[:80]


def test_strange_headers(outcome):
    model = '{"@":"estimator","class":"Toy","parameters":{},"learned":{}}'
    stated = f'"format":{FORMAT},'
    good = f'{{"sha256":"{BLANK}",{stated}"model":{model}}}'
    assert outcome(sealed_text(header_of(good))) is not None
    documents = [
        good.replace(stated, f"{stated}{stated}"), good.replace(stated, '"format":true,'),
        good.replace(stated, '"format":0,'), good.replace(stated, f'"format":"{FORMAT}",'),
        good.replace(stated, ""), good[:-1], f"[{good}]", "", "null",
        good.replace(BLANK, "0" * 63),
        good.replace(BLANK, "A" * 64),
    ]  # fmt: skip
    headers = [header_of(document) for document in documents]
    headers += [
        " " + header_of(good), "", "[]", "{}", "null", '{"__metadata__":{}}', '{"__metadata__":[]}',
        '{"__metadata__":{"pellucid":{}}}', header_of(good)[:-1], header_of(good) + "x",
        header_of(good).replace("__metadata__", "\ud800"), header_of(good).replace("{", "{{", 1),
    ]  # fmt: skip
    for header in headers:
        assert outcome(sealed_text(header)) is None, header[:80]


def peak_of(function):
    """Result and peak allocation in bytes."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_that_of_the_file(tmp_path, rng):
    model = Toy()
    model.values_, model.width_ = rng.normal(size=400_000), 400_000
    model.classes_, model.flags_ = np.array(["abcd"] * 50_000), np.ones(300_000, bool)
    persist.save(model, tmp_path / "m")
    size = (tmp_path / "m").stat().st_size
    again, peak = peak_of(lambda: persist.load(tmp_path / "m"))
    assert peak < 1.2 * size and again.values_.tobytes() == model.values_.tobytes()


@pytest.mark.parametrize("length", [0, 7, 2**26 + 1, 2**40, 2**63, 2**64 - 1])
def test_claimed_sizes_cost_no_memory(tmp_path, length):
    (tmp_path / "m").write_bytes(length.to_bytes(8, "little") + b"{}" * 100)

    def refused():
        with pytest.raises(ModelFileError):
            persist.load(tmp_path / "m")

    assert peak_of(refused)[1] < 1_000_000


@pytest.mark.parametrize("item", ["[]", "{}", "0", '""', '{"@":"tuple","items":[]}'])
def test_the_number_of_values_is_bounded(outcome, item):
    model = '{"@":"estimator","class":"Toy","parameters":{"alpha":[%s]},"learned":{}}'
    text = (
        f'{{"sha256":"{BLANK}","format":{FORMAT},"model":{model % ",".join([item] * MAX_VALUES)}}}'
    )
    raw = sealed_text(header_of(text))
    result, peak = peak_of(lambda: outcome(raw))
    assert result is None and peak < 3 * len(raw) + 1_000_000


def test_unfolding_records_are_refused(outcome):
    """Each record holds the one before twice: sixty lines that unfold to 2**60 records."""
    same = {"@": "record", "class": "Pair", "fields": {"left": 1}}
    chain = [same]
    for i in range(60):
        again = {"@": "same", "record": i}
        chain.append({**same, "fields": {"left": again, "right": again}})
    tree = {"@": "estimator", "class": "Toy", "parameters": {"alpha": chain},
            "learned": {}}  # fmt: skip
    assert outcome(sealed({}, {"format": FORMAT, "model": tree}, b"")) is None
    tree["parameters"]["alpha"] = chain[:10]
    assert outcome(sealed({}, {"format": FORMAT, "model": tree}, b"")) is not None


COLLIDING = [k * (2**61 - 1) for k in range(1, 2001)]  # Python hashes each of them to 0


@pytest.mark.parametrize(
    "values",
    [COLLIDING, [(k,) * 9 for k in COLLIDING]],
    ids=["integers", "tuples"],
)
@pytest.mark.parametrize("kind", ["list", "tuple", "set", "frozenset", "objects", "dict"])
def test_values_of_one_hash_are_refused(outcome, kind, values):
    """A set or dictionary of n of them takes n * n steps: 464 kB held `load` for 14 seconds."""

    def loaded(values):
        items = [{"@": "tuple", "items": list(v)} if isinstance(v, tuple) else v for v in values]
        more = {"shape": [len(items)], "values": items} if kind == "objects" else {"items": items}
        if kind == "dict":
            more = {"items": [[item, 0] for item in items]}
        value = items if kind == "list" else {"@": kind, **more}
        tree = {"@": "estimator", "class": "Toy", "parameters": {"alpha": value}, "learned": {}}
        return outcome(sealed({}, {"format": FORMAT, "model": tree}, b""))

    assert loaded(values[:60]) is not None
    assert loaded(values) is None


def test_equal_values_are_no_collision(outcome):
    tree = {"@": "estimator", "class": "Toy", "parameters": {"alpha": [2**70] * 500}, "learned": {}}
    assert outcome(sealed({}, {"format": FORMAT, "model": tree}, b"")).alpha == [2**70] * 500


def test_things_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (
        tmp_path,
        tmp_path / "pipe",
        tmp_path / "absent",
        tmp_path / "a" / "b",
        "/dev/zero",
    ):
        for read in (persist.load, persist.describe):
            with pytest.raises(ModelFileError, match=str(path)):
                read(path)


def test_other_files_are_refused_with_advice(tmp_path):
    import pickle

    import safetensors.numpy

    (tmp_path / "pickle").write_bytes(pickle.dumps(Toy()))
    safetensors.numpy.save_file({"a": np.ones(3)}, tmp_path / "plain")
    (tmp_path / "csv").write_text("a,b\n1,2\n" * 100)
    for name in ("pickle", "plain", "csv"):
        with pytest.raises(ModelFileError, match="not a Pellucid model"):
            persist.load(tmp_path / name)
