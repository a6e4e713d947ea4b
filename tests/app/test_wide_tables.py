"""Tables of very many columns: `pellucid predict` takes steps by their number, not by its square."""

import numpy as np
import pyarrow as pa
import pytest

from pellucid.app.commands.predict import match_columns
from pellucid.app.messages import Messages
from pellucid.linear_model import Ridge


class Counted:
    """A table that counts how often its list of names is built, which takes a step for each column."""

    def __init__(self, table):
        self.table, self.asked = table, 0

    def __getattr__(self, name):
        self.asked += name == "column_names"
        return getattr(self.table, name)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    return pa.table({f"c{j}": rng.normal(size=6) for j in range(2000)})


def test_names_are_listed_a_few_times_however_many_there_are(table):
    model = Ridge().fit(table, np.arange(6.0))
    names = table.column_names
    given = table.select(names[:500:-1]).append_column("more", [[1.0] * 6])
    counted = Counted(given)
    matched = match_columns(model, counted, "data", Messages(-2), allow_missing=True)
    assert counted.asked < 6
    assert matched.column_names == names
    assert matched.select(names[501:]).equals(table.select(names[501:]))
    assert all(column.null_count == 6 for column in matched.columns[:501])
