"""Doors that are easy to break: odd containers, repeated content, exchanged kinds, names."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from pellucid.cluster import KMeans
from pellucid.data import InputSpec, Table, prepare
from pellucid.data.intake import raw_table
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.errors import DataConversionWarning, DataError, DataTypeError, ParameterError
from pellucid.linear_model import LinearRegression


def problem(X, weights=None, table=None, offset=None, **spec):
    return prepare(X, None, weights, offset, table, InputSpec("Model", **spec))[0]


@pytest.mark.parametrize("seed", range(5))
def test_row_order_and_copies_do_not_change_a_fit_with_gaps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    X[::9, 0] = np.nan
    w = rng.integers(1, 4, 60)
    shuffled = rng.permutation(np.repeat(np.arange(60), w))
    a = KMeans(3, random_state=1, n_init=1).fit(X, sample_weight=w)
    b = KMeans(3, random_state=1, n_init=1).fit(X[shuffled])
    assert np.array_equal(a.cluster_centers_, b.cluster_centers_)


def test_many_columns_with_gaps_are_counted_not_listed():
    with pytest.raises(
        DataError, match=r"'x0' \(2\), .*'x4' \(2\) and 295 more columns: 2 of 3 rows"
    ):
        problem(np.where([[1], [1], [0]], np.nan, np.ones((3, 300))), table=Table(missing="error"))


def test_sparse_training_knows_its_means():
    A = np.array([[1.0, 10], [2, 0], [3, 12], [4, 14]])
    w = [1, 2, 1, 1]
    dense, sparse = problem(A, w).schema, problem(sp.csr_array(A), w).schema
    for fact in ("mean", "low", "high"):
        assert np.array_equal(getattr(dense, fact), getattr(sparse, fact)), fact


def test_masked_cells_are_missing():
    masked = np.ma.array([[1.0], [2.0], [1e9]], mask=[[0], [0], [1]])
    assert problem(masked, layout="codes").X[2, 0] != problem(masked, layout="codes").X[2, 0]
    with pytest.raises(DataError, match="row 1 is masked"):
        DummyRegressor().fit(np.eye(2), np.ma.array([1.0, 2.0], mask=[0, 1]))


def test_objects_are_judged_by_all_cells():
    frame = pd.DataFrame({"a": ["u", "v"] * 50 + [1, 2, 3]}, dtype=object)
    for rows in (frame, frame.iloc[::-1]):
        with pytest.raises(DataError, match="mixes numbers and text"):
            problem(rows)


def test_offsets_separate_rows_whatever_their_order():
    for offset in ([0, 1, 0, 1], [0, 0, 1, 1]):
        assert problem(np.ones((4, 1)), offset=offset, rows="canonical").n == 2


def test_text_is_told_by_weights_not_by_copies():
    cells = [f"a sentence of several words number {i}" for i in range(25)]
    frame = pd.DataFrame({"c": cells})
    assert problem(frame, takes_text=True).schema.kinds == ("text",)
    assert problem(frame, [3] * 25, takes_text=True).schema.kinds == ("categorical",)
    copies = pd.DataFrame({"c": cells * 3})
    assert problem(copies, takes_text=True).schema.kinds == ("categorical",)


def test_levels_without_an_order_are_sorted_in_every_container():
    frame = pd.DataFrame({"c": pd.Categorical(["z", "m", "a"], categories=["z", "m", "a"])})
    for X in (frame, pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        assert problem(X).schema.levels == (("a", "m", "z"),)


def test_dictionaries_with_gaps_and_repeats():
    codes = pa.array([0, 1, 2, 3, 1])
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x", None, "y", "x"]))
    found = problem(pa.table({"a": column}))
    assert found.schema.terms == ("a=x", "a=y", "a missing")
    assert found.X.sum(axis=0).tolist() == [2, 1, 2]


def test_dates_and_numbers_are_not_exchanged():
    dates = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-01-02"]), "c": ["a", "b"]})
    schema = problem(dates).schema
    with pytest.raises(DataError, match="'d' held dates in training and holds numbers now"):
        schema.raw(raw_table(dates.assign(d=[1.0, 2.0])))


ODD = {
    "arrow dictionary": pd.Series(["a", "b", None]).astype(
        pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "arrow date": pd.Series([dt.date(2020, 1, 1), None, dt.date(2020, 1, 3)]).astype(
        pd.ArrowDtype(pa.date32())),
    "decimal": pd.Series([Decimal("1.5"), Decimal(2), None], dtype=object),
    "zoned": pd.Series([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 3, dtype=object),
    "interval": pd.Series(pd.cut([1, 2, 3], 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ODD)
def test_odd_columns_are_read_and_saved(kind, tmp_path):
    frame = pd.DataFrame({"a": ODD[kind], "x": [1.0, 2.0, 4.0]})
    model = DummyClassifier().fit(frame, [0, 1, 1])
    model.save(tmp_path / "m.pellucid")
    if kind == "decimal":
        assert model.schema_.kinds[0] == "number" and model.schema_.mean[0] == 1.75


def test_numbers_written_as_text_are_no_labels():
    mixed = np.array([[1.5, 2.0], [3, "x"]])
    with pytest.raises(DataError, match=r"column 'x0', row 0 holds the number '1.5'"):
        problem(mixed)
    assert problem(np.array([["a"], ["b"]])).schema.levels == (("a", "b"),)


def test_clear_refusals():
    with pytest.raises(DataError, match=r"Complex data not supported: column 'a'"):
        problem(pd.DataFrame({"a": [1j, 2j]}))
    with pytest.raises(DataError, match="too large for a float"):
        problem(np.array([[10**400], [1]], dtype=object))
    with pytest.raises(DataError, match="1D sparse"):
        problem(sp.coo_array([1.0, 2.0]))
    with pytest.raises(DataTypeError):
        problem(np.array([[dt.time(3)], [dt.time(4)]], dtype=object))
    with pytest.raises(ParameterError, match="'kinds'"):
        problem(np.eye(2), table=Table(kinds=["a"]))
    with pytest.raises(ParameterError, match="'tol'"):
        LinearRegression(tol=10**400).fit(np.eye(2), [1, 2])
    with pytest.raises(DataError, match="common factor"):
        DummyRegressor().fit(np.eye(2), [1, 2], [1e308, 1e308])


def test_score_reads_y_as_fit_does(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1], "w": [1, 0, 2]})
    model = DummyClassifier().fit(frame, "y", "w")
    assert model.feature_names_in_.tolist() == ["a"]
    assert model.score(frame.drop(columns="w"), "y") == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="inconsistent numbers"):
        model.score(frame[["a"]], [0])
    several = DummyRegressor().fit(frame, ["y", "w"])
    assert several.predict(frame[["a"]]).shape == (3, 2)


def test_rows_of_weight_zero_do_not_disturb_a_clusterer():
    frame = pd.DataFrame({"c": ["a", "b", "a", "b", "zz"], "x": [1.0, 2, 3, 4, np.inf]})
    model = KMeans(2, random_state=0, table=Table(unseen="error"))
    model.fit(frame, sample_weight=[1, 1, 1, 1, 0])
    assert model.labels_[-1] == -1 and set(model.labels_[:4]) == {0, 1}
    assert KMeans(2, random_state=0).fit(frame.iloc[:4], "x").n_features_in_ == 1


def test_gaps_in_numbers_equal_the_plain_rule():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = 5.0
    w = rng.integers(1, 4, 500).astype(float)
    found = problem(X, w)
    for j in (0, 1, 3):
        shown = ~np.isnan(X[:, j])
        assert found.schema.mean[j] == pytest.approx(np.average(X[shown, j], weights=w[shown]))
        assert found.schema.n_missing[j] == w[~shown].sum()
    assert found.schema.n_missing[2] == 0
    assert found.schema.terms[:3] == ("x0", "x0 missing", "x1")
    assert np.array_equal(found.X[:, 1] == 1, np.isnan(X[:, 0]))
    assert not np.isnan(found.X).any()


BIG = [5, 2**53 + 1, 2**53 + 2]
WHOLE_NUMBERS = {
    "array": lambda cells: np.array([cells]).T,
    "object array": lambda cells: np.array([[c, "a"] for c in cells], dtype=object),
    "pandas": lambda cells: pd.DataFrame({"x0": cells}),
    "pandas beside text": lambda cells: pd.DataFrame({"x0": cells, "s": "a"}),
    "pandas nullable": lambda cells: pd.DataFrame({"x0": pd.array([*cells, None], dtype="Int64")}),
    "polars": lambda cells: pl.DataFrame({"x0": [*cells, None]}),
    "arrow": lambda cells: pa.table({"x0": [*cells, None]}),
}


@pytest.mark.parametrize("container", WHOLE_NUMBERS)
def test_whole_numbers_that_floats_cannot_hold_are_named(container):
    make = WHOLE_NUMBERS[container]
    text = r"'x0' holds 1 integer.* \(row 1: 9007199254740993 becomes 9007199254740992\)"
    with pytest.warns(DataConversionWarning, match=text):
        raw_table(make(BIG))
    raw_table(make([2**53, -(2**53), 2**60]))  # exact: no warning, which were an error here


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_largest_whole_numbers(dtype):
    ends = np.iinfo(dtype)
    with pytest.warns(DataConversionWarning, match=f"holds 1 integer.*row 1: {ends.max} becomes"):
        raw_table(np.array([[ends.min], [ends.max]], dtype=dtype))


def test_every_term_has_a_name_of_its_own():
    frame = pd.DataFrame({
        "a": ["y", "n", "y", "n"], "a=y": [1.0, 2, 3, 5], "a=y (2)": [0.0, 1, 5, 6],
        "b": [1.0, None, 3, 4], "b missing": [0.0, 1, 0, 2],
    })  # fmt: skip
    terms = problem(frame).schema.terms
    expected = ("a=n", "a=y", "a=y (3)", "a=y (2)", "b", "b missing", "b missing (2)")
    assert terms == expected


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_an_entry_of_a_sparse_table_is_named(bad):
    X = sp.csr_array(np.array([[0.0, 1, 0], [2, 0, 3], [0, 4, 0]]))
    X.data[2] = bad
    with pytest.raises(DataError, match=rf"row 1, column 'x2' \({bad}\)"):
        problem(X)


def test_columns_of_codes_are_their_own_terms():
    frame = pd.DataFrame({"a": ["y", "n", None, "n"], "b": [1.0, None, 3, 4]})
    schema = problem(frame, layout="codes").schema
    assert schema.terms == ("a", "b") and len(schema.owner) == 2
