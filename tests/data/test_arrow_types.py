"""Every Arrow type is read with one meaning, or refused before the first fit, by its column's name."""

import datetime
import decimal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import pellucid
from pellucid.app import cli
from pellucid.comparison.analysis import example_rows
from pellucid.data.arrow import arrow_column, plain
from pellucid.errors import DataTypeError
from pellucid.linear_model import LinearRegression

N = 48
NANOSECONDS = 1_500_000_000_000_000_123


def _codes():
    codes = np.random.default_rng(0).integers(0, 5, N).tolist()
    return [None if k == 3 else code for k, code in enumerate(codes)]


CODES = _codes()


def _each(cell, kind=None):
    return pa.array([None if code is None else cell(code) for code in CODES], kind)


def _stamps(kind):
    return _each(lambda k: NANOSECONDS + 86_400_000_000_123 * k).cast(kind)


def _numbers():
    kinds = [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32()]
    out = {str(kind): pa.array(CODES, kind) for kind in kinds}
    out["half"] = _each(lambda k: k / 2, pa.float16())
    out["boolean"] = _each(lambda k: k > 2)
    sizes = (pa.decimal32(5, 2), pa.decimal64(9, 2), pa.decimal128(20, 2), pa.decimal256(50, 2))
    out |= {str(t): _each(lambda k: decimal.Decimal(k) / 4, t) for t in sizes}
    return out


def _times():
    out = {}
    for unit in ("s", "ms", "us", "ns"):
        stamps = _stamps(pa.timestamp("ns")).cast(pa.timestamp(unit), safe=False)
        out[f"timestamp {unit}"] = stamps
        out[f"zoned {unit}"] = stamps.cast(pa.timestamp(unit, "America/New_York"))
        out[f"duration {unit}"] = _stamps(pa.duration("ns")).cast(pa.duration(unit), safe=False)
    out["date32"] = out["timestamp s"].cast(pa.date32(), safe=False)
    out["date64"] = out["date32"].cast(pa.date64())
    for kind, second in (
        (pa.time32("s"), 1), (pa.time32("ms"), 10**3), (pa.time64("us"), 10**6),
        (pa.time64("ns"), 10**9),
    ):  # fmt: skip
        raw = pa.int32() if kind.bit_width == 32 else pa.int64()
        out[str(kind)] = _each(lambda k, s=second: 3600 * s * k, raw).cast(kind)
    return out


def _labels():
    kinds = (pa.string(), pa.large_string(), pa.string_view())
    out = {str(kind): _each(lambda k: "abcde"[k], kind) for kind in kinds}
    out["runs"] = pa.RunEndEncodedArray.from_arrays([N // 2, N], ["a", "b"])
    out["json"] = pa.ExtensionArray.from_storage(pa.json_(), out["string"])
    flags = _each(lambda k: int(k > 2), pa.int8())
    out["bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), flags)
    return out


def _dictionaries(values):
    """Every type again, as the levels of categories."""
    index = pa.array(CODES, pa.int32())
    out = {}
    for name, column in values.items():
        if name not in ("runs", "json", "bool8"):
            firsts = [CODES.index(code) for code in range(5)]
            levels = pa.concat_arrays([column.slice(i, 1) for i in firsts])
            out[f"levels {name}"] = pa.DictionaryArray.from_arrays(index, levels)
    return out


READ = _numbers() | _times() | _labels()
READ |= _dictionaries(READ)
EMPTY = {
    "null": pa.nulls(N),
    "levels null": pa.DictionaryArray.from_arrays(pa.array([0] * N, pa.int32()), pa.nulls(1)),
}


def _bytes(kind):
    return _each(lambda k: b"x%d" % k, kind)


REFUSED = {
    "binary": _bytes(pa.binary()), "large binary": _bytes(pa.large_binary()),
    "fixed binary": _bytes(pa.binary(2)), "binary view": _bytes(pa.binary_view()),
    "list": _each(lambda k: [k]), "large list": _each(lambda k: [k], pa.large_list(pa.int8())),
    "fixed list": _each(lambda k: [k, k], pa.list_(pa.int8(), 2)),
    "list view": _each(lambda k: [k], pa.list_view(pa.int8())),
    "struct": _each(lambda k: {"a": k}),
    "map": _each(lambda k: [("a", k)], pa.map_(pa.string(), pa.int8())),
    "interval": _each(lambda k: pa.MonthDayNano([k, 1, 1])),
    "union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array(range(N))]),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"x" * 16] * N, pa.binary(16))),
    "levels binary": _bytes(pa.binary()).dictionary_encode(),
    "levels struct": pa.DictionaryArray.from_arrays(
        pa.array(CODES, pa.int8()), pa.array([{"a": k} for k in range(5)])
    ),
    "far": pa.array([2**55] * N).cast(pa.timestamp("s")),
    "year 20000": pa.array([18_000 * 31_556_952] * N).cast(pa.timestamp("s")),
}  # fmt: skip


def _target():
    known = np.array([0 if code is None else code for code in CODES], dtype=float)
    return known + np.random.default_rng(1).normal(size=N)


def _table(columns):
    chunked = {
        name: pa.chunked_array([column.slice(0, 7), column.slice(7)])
        for name, column in columns.items()
    }
    x = np.random.default_rng(2).normal(size=N)
    return pa.table(chunked | {"x": pa.array(x), "y": pa.array(_target())})


@pytest.mark.parametrize("name", [*READ, *EMPTY])
def test_every_cell_of_a_readable_type_can_be_shown(name):
    column = (READ | EMPTY)[name]
    for given in (column, pa.chunked_array([column.slice(0, 5), column.slice(5)])):
        shown = example_rows.cells(pa.table({"a": given}), list(range(N)))
        raw = arrow_column("a", pa.chunked_array(given) if given is column else given)
        missing = raw.values < 0 if raw.kind == "categorical" else np.isnan(raw.values)
        assert [cell is None for [cell] in shown] == missing.tolist()


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("timestamp ns", "datetime", (NANOSECONDS // 1000) / 86_400e6),
        ("zoned s", "datetime", (NANOSECONDS // 10**9) / 86_400),
        ("duration ns", "number", (NANOSECONDS // 1000) / 86_400e6),
        ("time64[ns]", "number", 0.0),
        ("decimal256(50, 2)", "number", 0.0),
        ("half", "number", 0.0),
    ],
)
def test_meanings(name, kind, value):
    raw = arrow_column(name, pa.chunked_array([READ[name]]))
    assert raw.kind == kind
    assert raw.values[CODES.index(0)] == value
    noon = pa.chunked_array([pa.array([12 * 3600], pa.int32()).cast(pa.time32("s"))])
    assert arrow_column("noon", noon).values.tolist() == [0.5]


def test_half_floats_as_levels_keep_their_values():
    column = READ["levels half"]
    chunks = pa.chunked_array([column.slice(0, 20), column.slice(20)])
    assert set(arrow_column("a", chunks).levels) == {0.0, 0.5, 1.0, 1.5, 2.0}


def _compared(columns):
    table = _table(columns)
    result = pellucid.compare(table, target="y", models="ols,tree", effort="quick", jobs=1)
    assert result.complete and all(row["status"] == "ok" for row in result.rows), result.rows
    names = result.best_.feature_names_in_.tolist()
    assert len(result.best_.predict(table.select(names))) == N
    return result


def test_a_comparison_reads_times_and_decimals_to_its_end():
    result = _compared({name: READ[name] for name in ("timestamp ns", "duration ns", "time64[ns]")})
    shown = result.details["cells"]["random"][0]
    assert len(shown) == 4


@pytest.mark.slow  # 60 columns
def test_a_comparison_reads_all_types_to_its_end():
    _compared(READ)


@pytest.mark.parametrize("name", REFUSED)
def test_other_types_are_refused_before_any_fit(name, monkeypatch):
    table = _table({"odd one": REFUSED[name], "kept": READ["int8"]})
    message = "column 'odd one'.*--drop 'odd one'"
    with pytest.raises(DataTypeError, match=message):
        pellucid.compare(table, target="y", models="ols,tree")
    with pytest.raises(DataTypeError, match=message):
        LinearRegression().fit(table.drop_columns(["y"]), _target())
    with pytest.raises(DataTypeError, match=message):
        example_rows.cells(table, [0])


@pytest.mark.parametrize("name", ["list", "uuid", "year 20000", "binary"])
def test_a_column_that_cannot_be_read_can_be_dropped(name, tmp_path):
    from pellucid.comparison.planning.dataset import load_dataset
    from pellucid.comparison.planning.settings import Settings

    table = _table({"odd one": REFUSED[name], "kept": READ["int8"]})
    table = table.set_column(3, "y", pa.array([None, *_target()[1:]]))  # a row to be left out
    material = load_dataset(table, Settings.of({"target": "y", "drop": ("odd one",)}))
    assert material.columns == ["kept", "x"] and len(material.rows) == N - 1


def test_commands_meet_the_same_types(tmp_path, capsys):
    names = ["timestamp ns", "duration ns", "time64[ns]", "decimal128(20, 2)", "large_string"]
    table = _table({name: READ[name] for name in names})
    path, model = str(tmp_path / "t.parquet"), str(tmp_path / "model.pellucid")
    pa.parquet.write_table(table, path)
    LinearRegression().fit(path, "y").save(model)
    steps = [
        ["check", path, "-t", "y"],
        ["predict", model, path, "--id", "timestamp ns", "--id", "decimal128(20, 2)"],
        ["explain", model, path, "--row", "1"],
    ]
    for step in steps:
        assert cli.run(step) == 0, (step, capsys.readouterr().err)


def test_commands_refuse_nested_columns_unless_they_are_dropped(tmp_path, capsys):
    table = _table({"tags": REFUSED["list"], "kept": READ["int8"]})
    path = str(tmp_path / "nested.parquet")
    pa.parquet.write_table(table, path)
    assert cli.run(["compare", path, "-t", "y"]) == 2
    assert "--drop tags" in capsys.readouterr().err
    assert cli.run(["check", path, "-t", "y", "--drop", "tags"]) == 0


def test_frames_of_pandas_and_polars_hold_odd_types_too():
    cut = pd.cut(np.arange(6), 3)
    frame = pd.DataFrame({"cut": cut, "lag": pd.to_timedelta(np.arange(6) / 7, unit="D")})
    table = pellucid.data.io.shared_tables.as_arrow(frame)[0]
    assert arrow_column("cut", table.column("cut")).levels == tuple(map(str, cut.categories))
    clock = pl.DataFrame({"t": [datetime.time(6), datetime.time(12)]})
    model = LinearRegression().fit(clock, [1.0, 2.0])
    np.testing.assert_allclose(model.predict(clock), [1, 2])
    with pytest.raises(DataTypeError, match=r"'z' has type complex128.*no model"):
        pellucid.data.io.shared_tables.as_arrow(pd.DataFrame({"z": [1j, 2j]}))


def test_nanoseconds_are_shown_without_pandas():
    code = (
        "import sys\n"
        "class No:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'pandas': raise ImportError(name)\n"
        "sys.meta_path.insert(0, No())\n"
        "import pyarrow as pa; from pellucid.comparison.analysis import example_rows\n"
        f"column = pa.array([{NANOSECONDS}]).cast(pa.timestamp('ns'))\n"
        "print(example_rows.cells(pa.table({'a': column}), [0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[['2017-07-14 02:40:00']]", done.stderr


def test_plain_types_are_left_as_they_are():
    for kind in (pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.date32()):
        column = pa.nulls(3, kind)
        assert plain("a", column) is column
