"""Targets and weights of every container and type; errors name the rows."""

from collections import deque

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pellucid.data.targets import as_vector, labels, numbers, weights_or_ones
from pellucid.errors import DataConversionWarning, DataError, DataTypeError, PellucidError

SAME = {
    "list": ["b", "a", "b"],
    "array": np.array(["b", "a", "b"]),
    "object": np.array(["b", "a", "b"], dtype=object),
    "pandas": pd.Series(["b", "a", "b"]),
    "category": pd.Series(["b", "a", "b"], dtype="category"),
    "polars": pl.Series(["b", "a", "b"]),
    "polars enum": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
    "arrow": pa.chunked_array([["b", "a"], ["b"]]),
}


@pytest.mark.parametrize("kind", SAME)
def test_labels_of_any_container(kind):
    codes, classes = labels(SAME[kind], "Model")
    assert codes.tolist() == [1, 0, 1] and codes.dtype == np.int32
    assert classes.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "y, classes",
    [
        ([True, False], [False, True]),
        (np.array([200, 3], dtype=np.uint8), [3, 200]),
        (np.array([2.0, -1.0]), [-1.0, 2.0]),
        (pd.Series([2, 1], dtype="Int64"), [1, 2]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
        (pd.Series(["x", "y"], dtype="string"), ["x", "y"]),
    ],
)
def test_labels_of_any_type(y, classes):
    codes, found = labels(y, "Model")
    assert found.tolist() == classes
    assert found[codes].tolist() == list(y)


def test_labels_in_foreign_byte_order_and_numpy_strings_become_plain():
    assert labels(np.array([3, 1], dtype=">i4"), "Model")[1].dtype == np.dtype("int32")
    codes, classes = labels(np.array(["b", "a"], dtype=np.dtypes.StringDType()), "Model")
    assert classes.tolist() == ["a", "b"] and classes.dtype == object and codes.tolist() == [1, 0]


BAD_LABELS = {
    "continuous": ([0.5, 1.0], "Unknown label type: continuous.*y\\[0\\] = 0.5"),
    "nan": ([1.0, np.nan], "contains NaN in row 1\\."),
    "none": (["a", None, None], "in 2 rows \\(1, 2\\)"),
    "null": (pl.Series(["a", None]), "contains NaN in row 1"),
    "nullable": (pd.Series([1, None], dtype="Int64"), "contains NaN"),
    "nan among words": (["a", "b", float("nan")], "in row 2\\."),
    "none among words, as a tuple": (("a", None), "in row 1\\."),
    "nan of NumPy's strings": (
        np.array(["a", np.nan], dtype=np.dtypes.StringDType(na_object=np.nan)),
        "in row 1\\.",
    ),
    "mixed": (np.array(["a", 1], dtype=object), "mixes labels"),
    "nan in another sequence": (deque(["a", float("nan")]), "in row 1\\."),
    "bytes and text": (["a", b"b"], "mixes labels"),
    "sets": ([{1}, {2}], "type set: labels are"),
    "mixed list": ([1, "a"], "mixes labels"),
    "dicts": (np.array([{"a": 1}, {"b": 2}], dtype=object), "type dict: labels are"),
    "two columns": (np.zeros((3, 2)), "shape \\(3, 2\\)"),
    "complex": ([1j, 2j], "Complex"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels(name):
    y, text = BAD_LABELS[name]
    with pytest.raises(PellucidError, match=text):
        labels(y, "Model")


def test_numbers():
    assert numbers(pd.Series([1, 2], dtype="Int64"), "Model").tolist() == [1.0, 2.0]
    assert numbers(["1.5", "2"], "Model").tolist() == [1.5, 2.0]
    assert numbers(np.eye(2), "Model", several=True).shape == (2, 2)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert numbers([[1.0], [2.0]], "Model").shape == (2,)
    with pytest.raises(DataError, match=r"'cat'.*predicts numbers"):
        numbers(["cat", "dog"], "Model")
    with pytest.raises(DataError, match=r"y holds 'dog' \(row 1\)"):
        numbers(np.array(["1", "dog"]), "Model")
    with pytest.raises(DataError, match="infinity"):
        numbers([1.0, np.inf], "Model")


def test_weights():
    assert weights_or_ones(None, 2).tolist() == [1.0, 1.0]
    assert weights_or_ones(2, 2).tolist() == [2.0, 2.0]
    for bad, text in {
        (1.0, -1.0): "row 1 has -1.0", (0.0, 0.0): "zero", (1.0,): "expected \\(2,\\)",
        (1.0, np.nan): "row 1", (1.0, np.inf): "row 1",
    }.items():  # fmt: skip
        with pytest.raises(DataError, match=text):
            weights_or_ones(list(bad), 2)
    with pytest.raises(DataTypeError):
        weights_or_ones(["a", "b"], 2)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "i4", "i8", "u8"])
def test_whole_labels_at_the_ends_of_their_type(kind, rng):
    """Near labels are looked up, far ones sorted: the same codes and classes."""
    ends = np.iinfo(kind)
    for first in (ends.min, 0, ends.max - 100):
        for step in (1, 25):
            y = np.array([first + step * int(v) for v in rng.integers(0, 5, 60)], dtype=kind)
            codes, classes = labels(y, "Model")
            expected, places = np.unique(y, return_inverse=True)
            assert codes.dtype == np.int32 and classes.dtype == y.dtype
            np.testing.assert_array_equal(codes, places)
            np.testing.assert_array_equal(classes, expected)


def test_a_weight_may_be_an_array_without_dimensions():
    assert weights_or_ones(np.array(2.0), 3).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    "column, expected",
    [
        (pa.array([1, 2, 3], pa.int8()), np.array([1, 2, 3])),
        (pa.array([1, None, 3], pa.int16()), np.array([1.0, np.nan, 3.0])),
        (pa.array([True, False]), np.array([True, False])),
        (pa.array([True, None]), np.array([1.0, np.nan])),
        (pa.array([0.5, None], pa.float32()), np.array([0.5, np.nan])),
        (pa.array([1, 2], pa.uint64()), np.array([1, 2])),
        (pa.array([1, 2**63], pa.uint64()), np.array([1.0, 2.0**63])),
        (pa.chunked_array([[1, 2], [], [3]]), np.array([1, 2, 3])),
        (pa.array([1, 2, 3, 4]).slice(1, 2), np.array([2, 3])),
        (pa.array([None, None], pa.int64()), np.array([None, None], dtype=object)),
    ],
)
def test_arrow_columns_become_arrays_of_their_numbers(column, expected):
    found = as_vector(column)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert found.flags.writeable or found.dtype == object
