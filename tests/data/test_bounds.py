"""Input without end: devices, silent pipes, endless lines and bottomless nesting are refused."""

import gzip
import io
import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pellucid.data.io import bounds
from pellucid.data.io.read import read
from pellucid.data.sources.find import source_of
from pellucid.errors import DataError


@pytest.mark.parametrize("depth", [101, 20_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b"[\n"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_deep_json_is_refused_before_a_parser_sees_it(depth, opening, wrapped):
    """Arrow's parser calls itself for each level: 20,000 of them end the process."""
    closing = b"}" if b"{" in opening else b"]"
    row = b'{"x":' + opening * depth + b"1" + closing * depth + b',"y":1}'
    with pytest.raises(DataError, match="nested more than 100 deep"):
        read(b"[" + row + b"]" if wrapped else row + b"\n", format="jsonl")


def test_brackets_in_texts_are_no_nesting():
    text = "[" * 300 + '\\"{' * 300
    rows = "\n".join(f'{{"x": "{text}", "y": {k}}}' for k in range(3))
    table = read(rows.encode(), format="jsonl")
    assert table["x"].to_pylist() == [text.replace('\\"', '"')] * 3


@pytest.mark.parametrize("rows", [b'null\n{"x": 1}', b'null{"x": 1}', b'{"x": 1}\n null\n{"x": 2}'])
def test_null_in_place_of_a_row_is_refused_before_a_parser_sees_it(rows, tmp_path):
    """As the first row it ends the process in Arrow's parser."""
    (tmp_path / "t.jsonl").write_bytes(rows)
    for given in (rows, tmp_path / "t.jsonl"):
        with pytest.raises(DataError, match="null in place of a row"):
            read(given, format="jsonl")
    table = read(b'{"x": "} null", "y": null}\n{"x": "null", "y": 2}', format="jsonl")
    assert table["x"].to_pylist() == ["} null", "null"] and table["y"].to_pylist() == [None, 2]


def test_an_integer_of_thousands_of_digits_is_refused():
    with pytest.raises(DataError, match="digits"):
        read(b'[{"x": ' + b"9" * 5000 + b"}]", format="jsonl")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "csv.gz"])
def test_a_line_without_end_is_refused(tmp_path, monkeypatch, ending):
    for module in ("bounds", "source"):
        monkeypatch.setattr(f"pellucid.data.io.{module}.LONGEST_LINE", 1 << 12)
    monkeypatch.setattr("pellucid.data.io.bounds._CHUNK", 1000)
    cell = "x" * 5000
    rows = (
        [f'{{"a": "{c}", "b": 1}}' for c in ("k", cell)]
        if "json" in ending
        else ["a,b", f"{cell},1"]
    )
    path = tmp_path / f"long.{ending}"
    raw = ("\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(raw) if ending.endswith("gz") else raw)
    with pytest.raises(DataError, match=r"line 2 of .* is longer than"):
        read(path)


def test_lines_of_ordinary_length_pass_across_chunks(monkeypatch):
    monkeypatch.setattr(bounds, "LONGEST_LINE", 30)
    monkeypatch.setattr(bounds, "_CHUNK", 7)
    bounds.refuse_long_lines(io.BytesIO(b"abcdefghijklmnopqrstuvwxyz\r" * 20), "t")
    with pytest.raises(DataError, match="line 3 of t"):
        bounds.refuse_long_lines(io.BytesIO(b"a\nb\n" + b"c" * 31), "t")


def test_a_list_may_stand_on_one_line(monkeypatch):
    monkeypatch.setattr("pellucid.data.io.source.LONGEST_LINE", 100)
    monkeypatch.setattr(bounds, "LONGEST_LINE", 100)
    rows = ",".join('{"a": 1, "b": "u"}' for _ in range(100))
    assert read(f"[{rows}]".encode(), format="jsonl").num_rows == 100


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="this system has no device files")
def test_a_device_is_refused():
    with pytest.raises(DataError, match="/dev/zero is a device, not a file"):
        read("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_if_somebody_writes_and_refused_if_nobody_does(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    monkeypatch.setattr(bounds, "PIPE_WAIT", 0.05)
    with pytest.raises(DataError, match=r"no program has written to it for 0\.05 seconds"):
        read(pipe)
    monkeypatch.setattr(bounds, "PIPE_WAIT", 30.0)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a,b\n1,2\n3,4\n"))
    writer.start()
    assert read(pipe).num_rows == 2
    writer.join()


def test_a_stream_without_end_is_refused(monkeypatch):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"x" * size

    monkeypatch.setattr(bounds, "_most_bytes", lambda: 10_000_000)
    with pytest.raises(DataError, match=r"gave more than 0\.0 GB"):
        bounds.read_bounded(Endless(), "standard input")


def test_half_a_character_is_named_by_its_entry():
    with pytest.raises(DataError, match=r"entry 2 of the list in .* holds \\udc12"):
        read(rb'[{"a": "x"}, {"a": "\udc12"}]', format="jsonl")


def test_text_of_parquet_files_is_checked():
    """Arrow hands out any bytes; they would fail later, in whatever reads the text."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": ["zzzz", "b"]}), sink, compression="none", use_dictionary=False)
    content = sink.getvalue().replace(b"zzzz", b"z\xffzz")
    with pytest.raises(DataError, match="a part of it is damaged"):
        read(content, format="parquet")


@pytest.mark.parametrize("header", [True, False])
def test_a_name_of_a_hundred_thousand_characters_is_refused(header):
    with pytest.raises(DataError, match=r"the first row of .* has a cell of more than 131,072"):
        read(b"x" * 140_000 + b",y\n" + b"1,2\n" * 9, format="csv", header=header)


def test_a_table_beyond_memory_is_not_called_damaged(tmp_path, monkeypatch):
    """Arrow's error is of two kinds, one of which stands for a damaged file."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)

    def starved(*args, **options):
        raise pa.ArrowMemoryError("malloc of size 2147483648 failed")

    whole, parts = read(str(path)), source_of(str(path))
    assert whole.num_rows == sum(batch.num_rows for batch in parts.batches()) == 2
    monkeypatch.setattr(pq.ParquetFile, "read", starved)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", starved)
    with pytest.raises(MemoryError, match="malloc"):
        read(str(path))
    with pytest.raises(MemoryError, match="malloc"):
        list(parts.batches())
