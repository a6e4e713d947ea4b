"""The one rule: kinds, levels, missing values, unseen levels, column order, in both layouts."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from pellucid.data import InputSpec, Table, prepare
from pellucid.data.encode import encode
from pellucid.data.intake import raw_table
from pellucid.errors import DataError, DataTypeError, UnseenLevelWarning

ROWS = {
    "age": [20.0, None, 40.0, 60.0],
    "sex": ["m", "f", None, "f"],
    "ok": [True, False, True, True],
    "day": [dt.date(1970, 1, 2), dt.date(1970, 1, 3), dt.date(1970, 1, 4), None],
}


def problem(X, weights=None, table=None, **spec):
    return prepare(X, None, weights, None, table, InputSpec("Model", **spec))[0]


def containers():
    frame = pd.DataFrame(ROWS)
    return {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "polars": pl.DataFrame(ROWS),
        "arrow": pa.table(ROWS),
        "objects": np.array([list(row) for row in zip(*ROWS.values(), strict=True)], dtype=object),
        "lists": [list(row) for row in zip(*ROWS.values(), strict=True)],
    }


@pytest.mark.parametrize("kind", containers())
@pytest.mark.parametrize("layout", ["matrix", "codes"])
def test_every_container_gives_the_same_bits(kind, layout):
    expected = problem(containers()["pandas"], layout=layout).X
    assert np.array_equal(problem(containers()[kind], layout=layout).X, expected, equal_nan=True)


def test_matrix_follows_the_one_rule():
    found = problem(pd.DataFrame(ROWS))
    assert found.schema.terms == (
        "age", "age missing", "sex=f", "sex=m", "sex missing", "ok", "day", "day missing",
    )  # fmt: skip
    expected = [
        [20, 0, 0, 1, 0, 1, 1, 0],
        [40, 1, 1, 0, 0, 0, 2, 0],
        [40, 0, 0, 0, 1, 1, 3, 0],
        [60, 0, 1, 0, 0, 1, 2, 1],
    ]
    assert np.array_equal(found.X, np.array(expected, float))
    assert found.schema.owner.tolist() == [0, 0, 1, 1, 1, 2, 3, 3]


def test_codes_follow_the_one_rule():
    found = problem(pd.DataFrame(ROWS), layout="codes")
    nan = np.nan
    expected = [[20, 1, 1, 1], [nan, 0, 0, 2], [40, nan, 1, 3], [60, 0, 1, nan]]
    assert np.array_equal(found.X, np.array(expected, float), equal_nan=True)
    assert found.X.flags.f_contiguous
    assert found.kinds.tolist() == [0, 1, 0, 0]
    assert found.n_levels.tolist() == [0, 2, 0, 0]


def test_weighted_means_are_those_of_repeated_rows():
    frame = pd.DataFrame(ROWS)
    repeated = problem(frame.loc[[0, 0, 0, 1, 2, 3, 3]])
    weighted = problem(frame, weights=[3, 1, 1, 2])
    assert np.allclose(weighted.schema.mean, repeated.schema.mean, rtol=1e-15)
    assert np.allclose(weighted.schema.shares, repeated.schema.shares, rtol=1e-15)
    assert np.array_equal(weighted.schema.n_missing, repeated.schema.n_missing)


def test_rows_of_weight_zero_teach_nothing():
    found = problem(pd.DataFrame({"c": ["a", "b", "z"]}), weights=[1, 1, 0])
    assert found.schema.levels == (("a", "b"),)
    assert found.n == 2
    assert found.position.tolist() == [0, 1, -1]


def test_reference_coding_drops_the_first_level_only():
    found = problem(pd.DataFrame({"c": ["a", "b", "z"]}), coding="reference")
    assert found.schema.terms == ("c=b", "c=z")
    constant = problem(pd.DataFrame({"c": ["a", "a"]}), coding="reference")
    assert constant.schema.terms == ("c=a",)


def test_unseen_level_is_the_mean_of_the_levels_and_warned_of_once():
    schema = problem(pd.DataFrame({"c": ["a", "a", "a", "b"], "d": ["x", "y", "x", "y"]})).schema
    new = pd.DataFrame({"c": ["q", "b", "q"], "d": ["x", "zz", "y"]})
    with pytest.warns(UnseenLevelWarning, match=r"'c': 2 cell.*'q'.*'d': 1 cell") as caught:
        X = encode(schema, raw_table(new), True, "Model")
    assert len(caught) == 1
    assert np.array_equal(X, [[0.75, 0.25, 1, 0], [0, 1, 0.5, 0.5], [0.75, 0.25, 0, 1]])


def test_unseen_level_is_missing_among_codes():
    schema = problem(pd.DataFrame({"c": ["a", "b"]}), layout="codes").schema
    with pytest.warns(UnseenLevelWarning):
        X = encode(schema, raw_table(pd.DataFrame({"c": ["q", "b"]})), True, "Model")
    assert np.array_equal(X, [[np.nan], [1]], equal_nan=True)


def test_unseen_can_be_an_error():
    schema = problem(pd.DataFrame({"c": ["a", "b"]}), table=Table(unseen="error")).schema
    with pytest.raises(DataError, match=r"'c'.*'q'"):
        encode(schema, raw_table(pd.DataFrame({"c": ["q"]})), True, "Model")


def test_missing_category_without_training_example_is_the_mean():
    schema = problem(pd.DataFrame({"c": ["a", "a", "a", "b"]})).schema
    X = encode(schema, raw_table(pd.DataFrame({"c": [None, "a"]})), True, "Model")
    assert np.array_equal(X, [[0.75, 0.25], [1, 0]])


def test_missing_number_without_training_example_is_the_mean():
    schema = problem(np.array([[1.0], [3.0]])).schema
    assert np.array_equal(encode(schema, raw_table([[np.nan]]), True, "Model"), [[2.0]])


def test_order_of_a_categorical_dtype_is_kept_and_unused_levels_are_not():
    ordered = pd.Categorical(["lo", "hi", "hi"], categories=["lo", "mid", "hi"], ordered=True)
    assert problem(pd.DataFrame({"c": ordered})).schema.levels == (("lo", "hi"),)
    enum = pl.DataFrame({"c": ["lo", "hi"]}).cast(pl.Enum(["lo", "mid", "hi"]))
    assert problem(enum).schema.levels == (("lo", "hi"),)
    assert problem(pl.DataFrame({"c": ["lo", "hi"]})).schema.levels == (("hi", "lo"),)


def test_columns_are_matched_by_name():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [3.0, 4.0]})
    schema = problem(frame).schema
    shuffled = schema.align(raw_table(frame[["c", "a", "b"]]), "Model")
    assert np.array_equal(encode(schema, shuffled, True, "Model"), problem(frame).X)
    with pytest.raises(DataError, match=r"(?s)unseen at fit time:\n- d.*yet now missing:\n- c"):
        schema.align(raw_table(frame.rename(columns={"c": "d"})), "Model")


def test_all_missing_and_constant_columns_keep_their_place():
    frame = pd.DataFrame({"a": [np.nan, np.nan], "b": [7.0, 7.0], "c": [None, None]})
    found = problem(frame)
    assert found.schema.terms == ("a", "b", "c")
    assert np.array_equal(found.X, [[0, 7, 0], [0, 7, 0]])


def test_many_levels_become_sparse_with_equal_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "x": rng.normal(size=300), "c": rng.integers(0, 80, 300).astype(str),
        "d": np.where(rng.random(300) < 0.2, None, rng.integers(0, 3, 300).astype(str)),
    })  # fmt: skip
    for coding in ("onehot", "reference"):
        sparse, dense = (problem(frame, takes_sparse=t, coding=coding) for t in (True, False))
        assert sp.issparse(sparse.X) and isinstance(dense.X, np.ndarray)
        assert np.array_equal(sparse.X.toarray(), dense.X)
        assert sparse.X.indices.dtype == np.int32
        new = pd.DataFrame({"x": [1.0, 2.0], "c": ["unseen", None], "d": ["unseen", None]})
        with pytest.warns(UnseenLevelWarning):
            a = encode(sparse.schema, raw_table(new), True, "Model").toarray()
        with pytest.warns(UnseenLevelWarning):
            b = encode(dense.schema, raw_table(new), False, "Model")
        assert np.array_equal(a, b)


def test_kinds_can_be_given():
    frame = pd.DataFrame({"zip": [10, 20, 10], "when": ["2020-01-01", "2020-01-02", None]})
    table = Table(kinds={"zip": "categorical", "when": "datetime"})
    found = problem(frame, table=table)
    assert found.schema.kinds == ("categorical", "datetime")
    assert found.schema.levels[0] == (10, 20)
    array = problem(np.array([[1.0, 5.0], [2.0, 6.0]]), table=Table(kinds={0: "categorical"}))
    assert array.schema.terms == ("x0=1", "x0=2", "x1")
    with pytest.raises(DataError, match="'nope'"):
        problem(frame, table=Table(kinds={"nope": "number"}))


def test_free_text_is_named():
    frame = pd.DataFrame({"note": [f"this is the long message number {i}" for i in range(30)]})
    with pytest.raises(DataError, match="'note' holds free text"):
        problem(frame)


def test_missing_can_be_dropped_or_refused():
    frame = pd.DataFrame(ROWS)
    assert problem(frame, table=Table(missing="drop")).n == 1
    with pytest.raises(DataError, match="3 of 4 rows have missing values"):
        problem(frame, table=Table(missing="error"))


BAD = {
    "inf": (np.array([[1.0, 2.0], [3.0, np.inf]]), DataError, "row 1, column 'x1'"),
    "-inf frame": (pd.DataFrame({"a": [1.0, -np.inf], "b": ["x", "y"]}), DataError, "row 1.*'a'"),
    "mixed": (np.array([[1.0, "a"], ["b", "c"]], object), DataError, "mixes numbers and text"),
    "dict": (np.array([[{}], [1.0]], object), DataTypeError, "argument must be a string or a"),
    "complex": (np.array([[1j]]), DataError, "Complex data not supported"),
    "1d": (np.arange(3.0), DataError, "Reshape your data"),
    "empty": (np.empty((0, 2)), DataError, r"0 sample\(s\)"),
    "no columns": (np.empty((3, 0)), DataError, r"0 feature\(s\) \(shape=\(3, 0\)\) while"),
    "duplicates": (pd.DataFrame([[1, 2]], columns=["a", "a"]), DataError, "duplicate.*'a'"),
    "bytes": (np.array([[b"a"]]), DataTypeError, "bytes"),
    "ragged": ([[1, 2], [3]], DataError, "rectangular"),
    "lazy": (pl.DataFrame({"a": [1]}).lazy(), DataTypeError, "collect"),
    "list cells": (pl.DataFrame({"a": [[1, 2]]}), DataTypeError, "'a'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_with_the_place(name):
    X, error, text = BAD[name]
    with pytest.raises(error, match=text):
        problem(X)


def test_rows_left_out_are_counted_by_weight():
    frame, drop = pd.DataFrame(ROWS), Table(missing="drop")
    assert problem(frame).schema.left_out == 0
    assert problem(frame, table=drop).schema.left_out == 3
    assert problem(frame, [2, 3, 0, 1], table=drop).schema.left_out == 4
    assert problem(frame, [0.5, 1.5, 1.0, 1.0], table=drop).schema.left_out == 3


@pytest.mark.parametrize("layout", ["matrix", "codes"])
@pytest.mark.parametrize("weights", [[1, 1, 1], [1, 1, 0]])
def test_levels_of_a_column_that_training_saw_empty_count_as_missing(layout, weights):
    cells = [None, None, "x" if weights[2] == 0 else None]
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "c": pd.Categorical(cells, categories=["x", "y"])})
    learned = problem(frame, weights, layout=layout).schema
    for new in (["x", "y", None], [None, None, None], [4.0, None, 5.0]):
        told = encode(learned, raw_table(frame.assign(c=new), "Model"), False, "Model")
        assert np.isfinite(told).all() if layout == "matrix" else np.isnan(told[1, 1])
