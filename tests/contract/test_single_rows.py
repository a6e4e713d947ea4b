"""`pellucid.compile`: a row alone gets the answer that a table of this row gets."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import DataError, UnseenLevelWarning
from tests.contract.classes import applies_to, has, supervised
from tests.contract.compare import fitted
from tests.contract.data import mixed, numbers


def same(one, of_table) -> bool:
    """Labels equal, numbers but for the order of sums (one row need not go through BLAS)."""
    if np.asarray(of_table).dtype.kind == "f":
        return bool(np.allclose(one, of_table, rtol=1e-12, atol=1e-12))
    return bool(one == of_table)


@applies_to(supervised)
def test_rows_of_numbers(Model):
    sample = numbers(Model)
    model = fitted(Model, sample)
    one = pellucid.compile(model)
    for i in range(5):
        table = sample.X[i : i + 1]
        assert same(one.predict(sample.X[i]), model.predict(table)[0])
        assert same(one.predict(sample.X[i].tolist()), model.predict(table)[0])


@applies_to(supervised)
def test_rows_with_categories_and_gaps(Model):
    sample = mixed(Model)
    sample = sample.with_X(sample.X.drop(columns="when"))
    model = fitted(Model, sample)
    one = pellucid.compile(model)
    for i in (0, 1, 5, 7, 11):
        table = sample.X.iloc[i : i + 1]
        row = table.iloc[0].to_dict()
        backwards = dict(reversed(row.items()))
        assert same(one.predict(list(row.values())), model.predict(table)[0])
        assert same(one.predict(backwards), model.predict(table)[0])
        if has("predict_proba")(Model):
            assert same(one.predict_proba(row), model.predict_proba(table)[0])


@applies_to(supervised)
def test_rows_with_dates_new_levels_and_bad_cells(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    one = pellucid.compile(model)
    row = sample.X.iloc[3].to_dict()
    assert same(one.predict(row), model.predict(sample.X.iloc[3:4])[0])
    plain = sample.with_X(sample.X.drop(columns="when"))
    one = pellucid.compile(fitted(Model, plain))
    row = plain.X.iloc[3].to_dict()
    with pytest.warns(UnseenLevelWarning, match="'town'"):
        one.predict(row | {"town": "Oz"})
    for wrong in (row | {"height": np.inf}, row | {"height": "tall"}, {"height": 1.0}, [1.0]):
        with pytest.raises(DataError):
            one.predict(wrong)
