"""Arrow and NumPy convert into each other as Arrow's own functions do, but without pandas."""

import datetime
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from pellucid.data.arrow_numpy import to_arrow, to_numpy

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12, 0, 0, 250_000)
CASES = {
    "int8": ([1, -2, 3, 4, 5], pa.int8()),
    "uint32": ([1, 2, 3, 4, 2**32 - 1], pa.uint32()),
    "int64": ([1, -2, 3, 2**62, 5], pa.int64()),
    "float32": ([1.5, -2, 3, 4, 5], pa.float32()),
    "float64": ([1.5, -2, np.inf, 4, 5], pa.float64()),
    "bool": ([True, False, True, True, False], pa.bool_()),
    "date32": ([DAY] * 5, pa.date32()),
    "date64": ([DAY] * 5, pa.date64()),
    "timestamp": ([NOON] * 5, pa.timestamp("us")),
    "duration": ([datetime.timedelta(minutes=1)] * 5, pa.duration("s")),
}


@pytest.mark.parametrize("case", CASES)
def test_to_numpy(case):
    cells, kind = CASES[case]
    whole = pa.array(cells, kind)
    expected = whole.to_numpy(zero_copy_only=False)
    if case == "date64":
        expected = expected.astype("datetime64[ms]")
    chunked = pa.chunked_array([whole.slice(1, 2), whole.slice(3, 0), whole.slice(3)])
    np.testing.assert_array_equal(to_numpy(whole), expected)
    np.testing.assert_array_equal(to_numpy(chunked), expected[1:])
    assert to_numpy(whole).dtype == expected.dtype
    assert len(to_numpy(whole.slice(0, 0))) == len(to_numpy(pa.chunked_array([], kind))) == 0


@pytest.mark.parametrize("case", CASES)
def test_to_numpy_with_missing_cells(case):
    cells, kind = CASES[case]
    cells = [None, *cells[:2], None, *cells[3:]]
    whole = pa.array(cells, kind)
    for column in (whole, whole.slice(1), pa.chunked_array([whole.slice(0, 3), whole.slice(3)])):
        absent = np.array([cell is None for cell in column.to_pylist()])
        found = to_numpy(column)
        isna = np.isnat if found.dtype.kind in "mM" else np.isnan
        np.testing.assert_array_equal(isna(found), absent)
        np.testing.assert_array_equal(found[~absent], to_numpy(column.drop_null()))
    if case == "int64":
        assert to_numpy(whole, missing=-1).tolist() == [-1, 1, -2, -1, 2**62, 5]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.5, np.nan, -2]),
        np.arange(10)[::2],
        np.array([1, 2], dtype=np.uint8),
        np.array([True, False, True] * 5),
        np.array(["a", "größe", ""]),
        np.array(["a", None, "🐧"], dtype=object),
        ["x", None, "y"],
        [1, 2, 3],
        [],
    ],
    ids=str,
)
def test_to_arrow(values):
    made = to_arrow(values)
    made.validate(full=True)
    cells = [None if cell is None else cell for cell in np.asarray(values).tolist()]
    np.testing.assert_equal(made.to_pylist(), cells)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(TypeError, match="strings, not complex128"):
        to_arrow(np.array([1j]))
    with pytest.raises(TypeError, match="not string"):
        to_numpy(pa.array(["a"]))


def test_pandas_stays_out():
    pytest.importorskip("pandas")
    code = """
import sys
import numpy as np
from pellucid.data.arrow_numpy import to_arrow, to_numpy
from pellucid.data.io.read import read
table = read(b"a,b,c,d\\n1,x,2020-01-01,01\\n,y,,02\\n", note=print)
assert np.isnan(to_numpy(table["a"])[1]) and np.isnat(to_numpy(table["c"])[1])
assert to_arrow(["x", None]).null_count == 1 and len(to_arrow(np.arange(3.0))) == 3
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
