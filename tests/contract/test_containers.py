"""The same table in another container gives the same bits; columns are matched by name."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from pellucid.errors import DataError
from tests.contract.classes import applies_to, make, regressor, sparse, weighted
from tests.contract.compare import (
    answers,
    asks,
    assert_close,
    assert_same_bits,
    example,
    fitted,
    learned,
)
from tests.contract.data import COLUMNS, frame, mixed, numbers

NUMERIC = {
    "list": lambda X: X.tolist(),
    "F order": np.asfortranarray,
    "strided view": lambda X: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X: X.astype(np.float32),
    "big endian": lambda X: X.astype(">f8"),
    "object": lambda X: X.astype(object),
    "pandas": frame,
    "pandas float32": lambda X: frame(X).astype("float32"),
    "pandas Float64": lambda X: frame(X).astype("Float64"),
    "pandas arrow": lambda X: frame(X).astype(pd.ArrowDtype(pa.float64())),
    "pandas object": lambda X: frame(X).astype(object),
    "pandas odd index": lambda X: frame(X).set_index(np.arange(len(X))[::-1] * 7),
    "pandas column numbers": lambda X: pd.DataFrame(X),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS[: X.shape[1]]),
    "polars chunks": lambda X: pl.concat([polars(X[:11]), polars(X[11:])], rechunk=False),
    "arrow": lambda X: arrow(X),
    "arrow chunks": lambda X: pa.concat_tables([arrow(X[:11]), arrow(X[11:])]),
    "arrow batch": lambda X: arrow(X).to_batches()[0],
}
# Whole numbers and flags reach the same values by another road.
WHOLE = {
    "int8": lambda X: X.astype(np.int8),
    "int64": lambda X: X.astype(np.int64),
    "pandas Int64": lambda X: frame(X).astype("Int64"),
    "pandas mixed": lambda X: frame(X).astype({COLUMNS[0]: "int16", COLUMNS[1]: "Float32"}),
    "polars": lambda X: polars(X).cast(pl.Int32),
    "arrow": lambda X: arrow(X.astype(np.int64)),
}
FRAMES = {
    "polars": lambda table: to_polars(table),
    "arrow": lambda table: to_arrow(table),
    "pandas string": lambda table: table.astype({"town": "string"}),
    "pandas nullable": lambda table: table.convert_dtypes(),
    "pandas levels as words": lambda table: table.astype({"colour": object}),
    "pandas arrow": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "pandas town as category": lambda table: table.astype({"town": "category"}),
}


def polars(X):
    return pl.DataFrame(X, schema=COLUMNS[: X.shape[1]])


def arrow(X):
    return pa.table({name: X[:, j] for j, name in enumerate(COLUMNS[: X.shape[1]])})


def to_arrow(table: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(table, preserve_index=False)


def to_polars(table: pd.DataFrame) -> pl.DataFrame:
    return pl.from_arrow(to_arrow(table))


@pytest.mark.parametrize("container", NUMERIC)
def test_numbers_in_any_container(Model, container):
    assert_same_in(Model, NUMERIC[container], "numbers")


@pytest.mark.parametrize("container", WHOLE)
def test_whole_numbers_in_any_container(Model, container):
    assert_same_in(Model, WHOLE[container], "whole")


def assert_same_in(Model, convert, kind: str):
    base = example(Model, kind)
    other = convert(base.sample.X)
    model = fitted(Model, base.sample.with_X(other))
    assert_same_bits(base.said, answers(model, other), "fitted to it: ")
    assert_same_bits(base.said, answers(base.model, other), "predicting it: ")


@pytest.mark.parametrize("container", FRAMES)
def test_mixed_table_in_any_container(Model, container):
    assert_same_in(Model, FRAMES[container], "mixed")


def test_flags_are_zero_and_one(Model):
    sample = numbers(Model)
    whole = (sample.X > 0).astype(float)
    base = fitted(Model, sample.with_X(whole))
    for convert in (np.asarray, frame, polars):
        model = fitted(Model, sample.with_X(convert(whole.astype(bool))))
        assert_same_bits(answers(base, whole), answers(model, convert(whole.astype(bool))))


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow"])
def test_columns_in_another_order(Model, container):
    sample = mixed(Model)
    convert = {"pandas": pd.DataFrame, "polars": to_polars, "arrow": to_arrow}[container]
    model = fitted(Model, sample.with_X(convert(sample.X)))
    shuffled = convert(sample.X[["town", "height", "when", "flag", "colour", "count"]])
    assert_same_bits(answers(model, convert(sample.X)), answers(model, shuffled))


def test_missing_column_is_named(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    for ask in asks(model):
        with pytest.raises(DataError, match="count"):
            ask(sample.X.drop(columns="count"))


def test_extra_column_is_named(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    for ask in asks(model):
        with pytest.raises(DataError, match="surplus"):
            ask(sample.X.assign(surplus=1.0))


def test_duplicate_column_is_named(Model):
    sample = numbers(Model)
    twice = frame(sample.X)
    twice.columns = [*COLUMNS[:3], COLUMNS[0]]
    model = make(Model)
    with pytest.raises(DataError, match=COLUMNS[0]):
        model.fit(twice, sample.y)
    assert not learned(model)
    model = fitted(Model, sample.with_X(frame(sample.X)))
    for ask in asks(model):
        with pytest.raises(DataError, match=COLUMNS[0]):
            ask(twice)


def test_array_after_frame_goes_by_position(Model):
    sample = numbers(Model)
    model = fitted(Model, sample.with_X(frame(sample.X)))
    assert_same_bits(answers(model, frame(sample.X)), answers(model, sample.X))


def test_names_may_be_any_text(Model):
    sample = numbers(Model)
    names = ["", "a\nb <script>&\"'", "שלום e\u0301", "x" * 300]
    strange = pd.DataFrame(sample.X, columns=names)
    model = fitted(Model, sample.with_X(strange))
    assert list(model.feature_names_in_) == names
    assert_same_bits(answers(fitted(Model, sample), sample.X), answers(model, strange))
    assert "<script>" not in model._repr_html_()


def test_names_are_kept(Model):
    sample = numbers(Model)
    model = fitted(Model, sample.with_X(frame(sample.X)))
    assert model.feature_names_in_.dtype == object
    assert list(model.feature_names_in_) == COLUMNS
    assert model.n_features_in_ == len(COLUMNS)
    assert not hasattr(fitted(Model, sample), "feature_names_in_")


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow"])
def test_target_and_weights_from_the_same_library(Model, container):
    sample = numbers(Model)
    single = sample.y is not None and sample.y.ndim == 1
    convert = {"pandas": pd.Series, "polars": pl.Series, "arrow": pa.array}[container]
    base = fitted(Model, sample, sample.weights)
    other = sample.with_y(convert(sample.y)) if single else sample
    model = fitted(Model, other, convert(sample.weights))
    assert_same_bits(answers(base, sample.X), answers(model, sample.X))


@applies_to(sparse)
def test_sparse_tables_agree_with_each_other_and_with_dense_ones(Model):
    sample = numbers(Model)
    thin = np.where(np.abs(sample.X) > 1, sample.X, 0.0)
    dense = answers(fitted(Model, sample.with_X(thin)), thin)
    base = None
    for form in ("csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix"):
        table = getattr(scipy.sparse, form)(thin)
        model = fitted(Model, sample.with_X(table))
        said = answers(model, table)
        base = base or said
        assert_same_bits(base, said, f"{form}: ")
        assert_close(dense, said, model, tolerance=1e-10)


@applies_to(lambda Model: not sparse(Model))
def test_sparse_tables_are_refused_by_name(Model):
    sample = numbers(Model)
    model = make(Model)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(scipy.sparse.csr_array(sample.X), sample.y)
    assert not learned(model)


def test_input_is_never_changed(Model):
    sample = mixed(Model)
    before = sample.X.copy(deep=True)
    weights = sample.weights.copy()
    model = fitted(Model, sample, sample.weights)
    answers(model, sample.X)
    pd.testing.assert_frame_equal(before, sample.X)
    assert np.array_equal(weights, sample.weights)
    frozen = numbers(Model)
    for array in (frozen.X, frozen.weights, *([] if frozen.y is None else [frozen.y])):
        array.setflags(write=False)
    answers(fitted(Model, frozen, frozen.weights), frozen.X)


@applies_to(weighted, regressor)
def test_weights_may_be_a_list(Model):
    sample = numbers(Model)
    base, model = fitted(Model, sample, sample.weights), fitted(Model, sample, [*sample.weights])
    assert_same_bits(answers(base, sample.X), answers(model, sample.X))
