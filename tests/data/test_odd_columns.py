"""Columns that come from broken files, or hold what no table can: levels, or an error that says it."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet
from scipy import sparse

from pellucid import Table, Text
from pellucid.data.arrow_numpy import to_arrow
from pellucid.data.io.read import read
from pellucid.ensemble import BaggingClassifier
from pellucid.errors import DataError, DataTypeError, ParameterError, shown
from pellucid.linear_model import LinearRegression, LogisticRegression, Ridge
from pellucid.tree import DecisionTreeClassifier

Y = [0, 1, 0, 1, 1, 0]


def test_half_characters_are_levels_like_others():
    cells = pd.array(["x\ud800", "y", "y", "x\ud800", "y", "y"], dtype="string[python]")
    frame = pd.DataFrame({"a": cells})
    model = DecisionTreeClassifier().fit(frame, Y)
    assert set(model.schema_.levels[0]) == {"x\ud800", "y"}


def test_levels_that_are_structures_are_refused():
    levels = pa.array([{"l": 0}, {"l": 1}])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, 1, 0]), levels)
    with pytest.raises(DataTypeError, match="'a' has levels of type struct"):
        DecisionTreeClassifier().fit(pa.table({"a": column}), Y)


def test_the_type_of_an_unknown_column_is_named():
    frame = pd.DataFrame({"a": pd.period_range("2020-01", periods=6, freq="M")})
    with pytest.raises(DataTypeError, match=r"'a' has type period\[M\]"):
        DecisionTreeClassifier().fit(frame, Y)


def test_dates_as_categories_keep_their_dates():
    days = [datetime.date(2020, 1, 1 + k % 3) for k in range(6)]
    frame = pd.DataFrame({"d": pd.to_datetime(days)})
    model = LogisticRegression(table=Table(kinds={"d": "categorical"})).fit(frame, Y)
    assert model.terms_ == ("d=2020-01-01", "d=2020-01-02", "d=2020-01-03")
    assert model.predict(frame).shape == (6,)


def test_categories_of_days_are_met_again_as_days():
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 4))
    model = LogisticRegression().fit(pd.DataFrame({"day": pd.Categorical(days)}), [0, 1] * 4)
    assert model.predict(pd.DataFrame({"day": days})).tolist() == [0, 1] * 4


@pytest.mark.parametrize(
    "given", [np.float64(1.5), np.str_("a"), np.int64(3), np.bool_(True), np.array(2.0)]
)
def test_values_are_shown_without_the_names_of_their_types(given):
    assert shown(given) == repr(given.tolist())
    assert shown([1, "a"]) == "[1, 'a']"
    assert "datetime64" in shown(np.datetime64("2020-01-01T00:00:00.000000001"))


def test_kinds_of_sparse_columns_are_refused():
    X = sparse.csr_array(np.eye(6))
    with pytest.raises(DataTypeError, match="sparse X holds numbers"):
        Ridge(table=Table(kinds={0: "categorical"})).fit(X, Y)


def test_a_class_is_no_learner():
    with pytest.raises(ParameterError, match="an instance, not a class"):
        BaggingClassifier(LogisticRegression).fit(np.eye(6), Y)


def test_scores_of_another_shape_and_of_huge_numbers():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    model = LinearRegression().fit(X, y)
    with pytest.raises(DataError, match=r"shape \(6, 2\), but LinearRegression predicts \(6,\)"):
        model.score(X, np.column_stack([y, y]))
    assert LinearRegression().fit(X, y * 1e300).score(X, y * 1e300) == pytest.approx(1.0)


def test_a_target_in_other_letters_is_guessed():
    frame = pd.DataFrame({"a": [1.0, 2, 3], "y": [0, 1, 0]})
    with pytest.raises(DataError, match="Did you mean 'y'"):
        DecisionTreeClassifier().fit(frame, "Y")


def test_numbers_and_days_declared_as_text_keep_their_digits():
    days = pd.to_datetime(["2020-01-01", "2021-05-06"] * 3)
    frame = pd.DataFrame({"n": [1234567, 1234568, 2.5, 1234567, 1234568, 2.5], "d": days})
    kinds = Table(kinds={"n": "text", "d": "text"}, text=Text(pattern=r"\S+"))
    terms = " ".join(LogisticRegression(table=kinds).fit(frame, Y).terms_)
    assert all(word in terms for word in ("1234567", "1234568", "2.5", "2021-05-06"))


def test_arrow_keeps_large_unsigned_numbers_and_gaps_among_words():
    assert to_arrow(np.array([2**63 + 5], dtype=np.uint64)).to_pylist() == [2**63 + 5]
    assert to_arrow(["a", float("nan"), None]).to_pylist() == ["a", None, None]


def test_times_of_day_with_fractions_of_a_second(tmp_path):
    times = [datetime.time(1, 2, 3, 500_000), datetime.time(0, 0, 1)]
    parquet.write_table(pa.table({"t": pa.array(times, pa.time64("us"))}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet")["t"].to_pylist() == [
        datetime.timedelta(hours=1, minutes=2, seconds=3.5), datetime.timedelta(seconds=1)
    ]  # fmt: skip


def test_sparse_columns_of_pandas_and_runs_of_arrow_are_columns():
    X = np.array([[0.0, 1], [2, 0], [0, 3], [4, 0], [0, 0], [1, 1]])
    plain = LogisticRegression().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    packed = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=["a", "b"])
    runs = pa.table({name: pc.run_end_encode(pa.array(X[:, j])) for j, name in enumerate("ab")})
    for table in (packed, runs):
        np.testing.assert_array_equal(LogisticRegression().fit(table, Y).coef_, plain.coef_)


@pytest.mark.parametrize("kind", [int, Decimal, np.float64])
def test_weights_in_an_array_of_objects(kind):
    X, weights = np.arange(6.0)[:, None], np.array([kind(1 + k % 2) for k in range(6)], object)
    expected = LogisticRegression().fit(X, Y, [1, 2, 1, 2, 1, 2]).coef_
    np.testing.assert_array_equal(LogisticRegression().fit(X, Y, weights).coef_, expected)
