"""CSV and JSON lines in parts: the types and cells that the reader of whole texts finds."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pellucid
from pellucid.data.io import streamed_text
from pellucid.data.io.read import read
from pellucid.data.io.source import find
from pellucid.errors import DataConversionWarning, DataError, MemoryLimitError
from pellucid.linear_model import LinearRegression
from pellucid.naive_bayes import GaussianNB

LATE = {  # first cells, then those that come late
    "whole": ("7", "8"), "wider": ("7", "0.5"), "late text": ("7", "red"), "truth": ("true", "False"),
    "mixed truth": ("true", "1"), "days": ("2023-01-02", "2023-01-02 10:00:00"), "postal": ("7", "007"),
    "price": ("$3.50", '"$1,096.63"'), "late price": ("12", "$5"), "unclear": ("5%", "5"),
    "dotted": ("05.02.2023", "13.02.2023"), "empty": ("", "NA"), "sparse": ("", "3"),
    "quoted": ('"a, b"', '"say ""x"""'), "clock": ("12:30", "23:59:59"),
    "infinite": ("1.5", "inf"), "words": ("red", "N/A"),
}  # fmt: skip


def text_of(rows=3_000, late=1):
    lines = [",".join(LATE)]
    lines += [",".join(cells[i >= rows - late] for cells in LATE.values()) for i in range(rows)]
    return "\n".join(lines) + "\n"


def both(path, monkeypatch, kind="csv", block=4_096):
    monkeypatch.setattr(streamed_text, "_BLOCK", block)
    with pytest.warns(DataConversionWarning) if kind == "csv" else nothing():
        whole = read(path)
    parts = streamed_text.parts_of(find(path), kind)
    import pyarrow as pa

    batches = list(parts.batches(whole.column_names, 100))
    assert max(batch.num_rows for batch in batches) <= 100 and len(batches) > 10
    return whole, pa.Table.from_batches(batches), parts


def nothing():
    import contextlib

    return contextlib.nullcontext()


@pytest.mark.parametrize("late", [1, 1_500, 2_999])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_parts_have_the_types_and_cells_of_the_whole_text(late, ending, tmp_path, monkeypatch):
    path, text = tmp_path / f"t{ending}", text_of(late=late).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    whole, found, parts = both(path, monkeypatch)
    assert parts.n_rows == 3_000
    assert parts.schema == whole.schema.remove_metadata() == found.schema
    assert found.equals(whole.combine_chunks())


def test_json_lines_have_the_types_and_cells_of_the_whole_text(tmp_path, monkeypatch):
    rows = [{"a": i, "b": i if i < 2_000 else i / 2, "day": "2023-01-02", "c": None, "d": i % 2 == 0}
            for i in range(3_000)]  # fmt: skip
    rows += [{"a": 1, "b": 2, "day": "someday", "c": "x", "d": None, "new": 3.5}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    whole, found, parts = both(path, monkeypatch, "jsonl")
    assert parts.schema == whole.schema and found.equals(whole.combine_chunks())
    path.write_text('{"a": 1}\n' * 1_000 + '{"a": "x"}\n')
    with pytest.raises(DataError, match=r"row 1001 .* changed from number to string"):
        streamed_text.parts_of(find(path), "jsonl")
    path.write_text('{"a": 1}\n' * 10_000 + '{"a": "x"}\n' * 10_000)
    monkeypatch.setattr(streamed_text, "_BLOCK", 45_000)
    with pytest.raises(DataError, match=r"'a' .* int64 in some rows and string"):
        streamed_text.parts_of(find(path), "jsonl")


def test_an_encoding_and_decimal_commas_are_found(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    lines = ["Größe;Wert"] + [f"groß {i % 7};{i},5" for i in range(2_000)]
    path.write_bytes("\n".join(lines).encode("cp1252"))
    whole, found, parts = both(path, monkeypatch)
    assert found.equals(whole.combine_chunks()) and str(parts.schema.field("Wert").type) == "double"


def test_faults_are_those_of_the_whole_text(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed_text, "_BLOCK", 4_096)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 5_000 + "1,2,3\n")
    with pytest.raises(DataError, match=r"line 5002 .* has 3 cells"):
        streamed_text.parts_of(find(path), "csv")
    cut = gzip.compress(("a,b\n" + "1,2\n" * 50_000).encode())[:-20]
    (tmp_path / "t.csv.gz").write_bytes(cut)
    with pytest.raises(DataError, match="incomplete"):
        streamed_text.parts_of(find(tmp_path / "t.csv.gz"), "csv")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_model_is_fitted_to_a_text_beyond_the_ceiling(ending, tmp_path, monkeypatch):
    from pellucid.parallel import memory

    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=20_000), np.array(["red", "blue", "2"])[rng.integers(0, 3, 20_000)]
    y = x + (kind == "red") + rng.normal(size=20_000)
    rows = [{"x": a, "kind": b, "y": c} for a, b, c in zip(x.tolist(), kind.tolist(), y.tolist())]
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        lines = [f"{row['x']!r},{row['kind']},{row['y']!r}" for row in rows]
        path.write_text("x,kind,y\n" + "\n".join(lines))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    twin = LinearRegression().fit(path, "y")
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    pellucid.set_memory(memory.resident() + 600 * 10**6)
    try:
        model = LinearRegression().fit(path, "y")
        assert model.fit_report_["rows"] == 20_000
        assert (model.coef_ == twin.coef_).all() and model.schema_.levels == twin.schema_.levels
        found = model.predict(pellucid.scan(path, features=["x", "kind"]))
        expected = twin.predict(read(path).select(["x", "kind"]))
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        with pytest.raises(MemoryLimitError, match="20 MB are allowed"):
            pellucid.set_memory("20MB")
            GaussianNB().fit(path, "kind")
    finally:
        pellucid.set_memory(None)


def test_a_row_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(streamed_text, "_BLOCK", 4_096)
    short = "".join(f"{k},t{k % 7}\n" for k in range(3_000))
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{short}5,{'x' * 50_000}\n{short}")
    parts = streamed_text.parts_of(find(path), "csv")
    assert parts.n_rows == 6_001
    longest = max(len(b) for batch in parts.batches(["b"], 500) for b in batch["b"].to_pylist())
    assert longest == 50_000
    path.write_text(f'a,b\n{short}5,"{short}')
    with pytest.raises(DataError, match="quote"):
        streamed_text.parts_of(find(path), "csv")


ADDED = """
import sys, pandas, pyarrow.csv, pellucid
from pellucid.data.io.read import read
from pellucid.data.sources import find, text_files
def kilobytes(key):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key))
pellucid.set_memory("150MB")
before = kilobytes("VmRSS")
source = pellucid.scan(sys.argv[1])
rows = sum(batch.num_rows for batch in source.batches())
print(rows, kilobytes("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read from /proc")
def test_the_memory_of_reading_does_not_grow_with_the_text(tmp_path):
    lines = "".join(f"{k},{k / 7!r},town {k % 90},{k % 2}\n" for k in range(40_000))
    added = []
    for copies in (10, 40):
        path = tmp_path / "t.csv"
        path.write_text("a,b,c,d\n" + copies * lines)
        run = [sys.executable, "-c", ADDED, str(path)]
        rows, kilobytes = subprocess.run(run, capture_output=True, check=True).stdout.split()
        assert int(rows) == copies * 40_000
        added.append(int(kilobytes) / 1_000)
    assert max(added) < 120
