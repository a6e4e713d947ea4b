"""The digests see every number and every label, and no text; equal runs have equal digests."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse

from pellucid.linear_model import Ridge
from scorecard.same_bits import __main__ as same_bits
from scorecard.same_bits.digests import digest, digests, learned
from scorecard.same_bits.fits import public_classes, record
from scorecard.same_bits.settings import SETTINGS


@dataclass(frozen=True)
class Record:
    values: np.ndarray
    message: str = ""
    seconds: float = 0.0


A = np.arange(6.0)
DIFFERENT = [
    (A, np.nextafter(A, 9)), (A, A.astype(np.float32)), (A, A.reshape(2, 3)), (0.0, -0.0),
    (1, 1.0), (1, True), (None, 0), ([1, 2], [1, [2]]), ({"a": 1}, {"b": 1}),
    (np.array(["a"], object), np.array(["b"], object)), (np.array(["a"]), np.array(["b"])),
    (Record(A), Record(A + 1)), ((np.int32(1),), (np.int64(1),)), ({1, 2}, {1, 3}),
    (scipy.sparse.csr_matrix([[1.0, 0]]), scipy.sparse.csr_matrix([[0, 1.0]])),
]  # fmt: skip
EQUAL = [
    (A.reshape(2, 3), np.asfortranarray(A.reshape(2, 3))), (Record(A, "a"), Record(A, "b")),
    (Record(A, "a", 1.0), Record(A, "a", 2.0)), ("text", "other text"), ([1, "a"], [1, "b"]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.float64("nan"), np.float64("nan")),
    ({"a": 1, "seconds": 2}, {"a": 1, "seconds": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_changed_number_or_label_changes_the_digest(one, other):
    assert digest(one) != digest(other)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_text_clocks_and_memory_layout_do_not_count(one, other):
    assert digest(one) == digest(other)


def test_an_unknown_kind_of_value_is_an_error():
    with pytest.raises(TypeError, match="complex"):
        digest(1j)


def test_the_parts_of_a_record_have_keys_of_their_own():
    assert dict(digests("key", Record(A, "text"))) == {"key.values": digest(A)}
    assert dict(digests("key", "text")) == {}


def test_learned_attributes_include_properties():
    model = Ridge().fit(A.reshape(3, 2), [1.0, 2.0, 4.0])
    assert {"coef_", "intercept_", "terms_"} <= dict(learned(model)).keys()


def test_every_public_class_has_settings():
    known = public_classes().keys() - {"Toy"}  # a toy of other tests in the same process
    assert SETTINGS.keys() == known


def test_a_class_is_recorded_the_same_way_twice():
    found = dict(record("DummyRegressor"))
    assert found == dict(record("DummyRegressor"))
    assert "DummyRegressor/default/numbers/predict" in found


def test_compare_lists_what_differs(tmp_path, capsys):
    path = tmp_path / "bits.json"
    assert same_bits.main(["record", str(path), "--only", "LogTargetRidge"]) == 0
    assert same_bits.main(["compare", str(path), "--only", "LogTargetRidge"]) == 0
    stored = json.loads(path.read_text())
    first, second, *_ = sorted(stored)
    stored["LogTargetRidge/gone"] = stored.pop(first)
    stored[second] = "0"
    path.write_text(json.dumps(stored))
    capsys.readouterr()
    assert same_bits.main(["compare", str(path), "--only", "LogTargetRidge"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert {f"added    {first}", "removed  LogTargetRidge/gone", f"changed  {second}"} <= {*lines}
