"""Displays take every kind of table and target that models take."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from pellucid import plot
from pellucid.linear_model import LinearRegression
from pellucid.naive_bayes import GaussianNB

X, Y = load_iris(return_X_y=True, as_frame=True)
PLAIN = X.to_numpy()
TABLES = {
    "pandas": (X, Y),
    "polars": (pl.from_pandas(X), pl.Series(Y.to_numpy())),
    "arrow": (pa.Table.from_pandas(X), pa.array(Y.to_numpy())),
    "lists": (PLAIN.tolist(), Y.tolist()),
    "sparse": (sp.csc_matrix(PLAIN), Y.to_numpy()),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_the_same_numbers(kind):
    table, target = TABLES[kind]
    if kind != "sparse":
        found = plot.roc(GaussianNB(), table, target, cv=3).frame()
        expected = plot.roc(GaussianNB(), PLAIN, Y.to_numpy(), cv=3).frame()
        assert found == expected
    lever = plot.residuals(LinearRegression().fit(table, target), table, target).leverage
    model = LinearRegression().fit(PLAIN, Y)
    np.testing.assert_allclose(lever, plot.residuals(model, PLAIN, Y).leverage)


def test_the_target_may_be_a_column_of_categories():
    frame = X.assign(species=pd.Categorical.from_codes(Y, ["a", "b", "c"]))
    model = GaussianNB().fit(frame, "species")
    display = plot.confusion_matrix(model, frame, "species")
    assert display.labels == ["a", "b", "c"]
    np.testing.assert_array_equal(
        display.matrix, plot.confusion_matrix(GaussianNB().fit(X, Y), X, Y).matrix
    )
