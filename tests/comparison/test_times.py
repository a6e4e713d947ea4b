"""Times written as text are put in their order, or refused with the way to write them."""

import numpy as np
import pandas as pd
import pytest

from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.time_parsing import ranks
from pellucid.errors import DataError

DAYS = pd.date_range("2018-01-01 07:05:09", periods=100, freq="9D8h")
BY_TIME = Settings.of({"target": "y", "time": "when", "models": "tree"})


@pytest.mark.parametrize(
    "written",
    [
        "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%-m-%-d-%Y", "%Y-%-m-%-d", "%Y/%m/%d", "%Y%m%d",
        "%b %d %Y", "%d %B %Y", "%d-%b-%Y", "%B %d, %Y", "%a, %d %b %Y", "%Y %b %d",
        "%d/%m/%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%dT%H:%M:%S+02:00", "%d %b %Y %H:%M:%S.25",
    ],
)  # fmt: skip
def test_usual_spellings_are_in_the_order_of_time(rng, written):
    """The latest rows are locked away, whatever the order of the rows."""
    shuffled = rng.permutation(100)
    table = pd.DataFrame({"a": rng.normal(size=100), "y": rng.normal(size=100)})
    table["when"] = DAYS.strftime(written)[shuffled]
    plan = make_plan(load_dataset(table, BY_TIME), BY_TIME)
    assert (np.argsort(plan.dataset.times, kind="stable") == np.argsort(shuffled)).all()
    assert set(shuffled[plan.test]) == set(range(80, 100))


@pytest.mark.parametrize(
    "texts",
    [
        ["2018-9", "2018-10", "2019-01"],
        ["9/2018", "10/2018", "01/2019"],
        ["Apr 2018", "Aug 2018", "Jan 2019"],
        ["2018Q2", "2018Q3", "2019Q1"],
        ["Q2 2018", "Q4 2018", "Q1 2019"],
        ["2018-W9", "2018-W10", "2019-W01"],
        ["1 Sept 2018", "2nd September 2018", "Oct 1st, 2018"],
        ["01/01/2018", "02/02/2018", "03/03/2018"],
        ["2018-01-01T01:00+03:00", "2018-01-01T00:30Z", "2018-01-01T00:00-01:30"],
        ["01/31/2018 12:05 AM", "01/31/2018 11:05 AM", "01/31/2018 12:05 PM"],
    ],
)
def test_months_quarters_weeks_zones_and_halves_of_the_day(texts):
    assert ranks("when", texts).tolist() == [0, 1, 2]
    assert ranks("when", [*texts[::-1], texts[0]]).tolist() == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            ["01/02/2018", "03/04/2018"],
            "'01/02/2018' may start with the day or the month, and no",
        ),
        (["31/01/2018", "01/31/2018"], "'31/01/2018', which starts with the day, and '01/31/2018'"),
        (["2018-01-05", "monday"], "contains 'monday', which cannot be read as a time"),
        (["31/02/2018"], "'31/02/2018', which cannot be read"),
        (["5 Marble 2018"], "'5 Marble 2018', which cannot be read"),
        (["31/12/18"], "'31/12/18', which cannot be read"),
        (["2018 Spring", "2018 Autumn"], "cannot be read"),
        (["2018Q3", "2018-W10"], "cannot be read"),
        (["2018Q5"], "cannot be read"),
        (["2018-01-05 25:00"], "cannot be read"),
    ],
)
def test_what_is_unclear_or_no_time_is_refused(texts, said):
    with pytest.raises(DataError, match=said) as caught:
        ranks("when", texts)
    assert str(caught.value).startswith("column 'when' ")
    assert str(caught.value).endswith("Write times as 2019-12-31 or 2019-12-31 23:59:59.")
