"""Texts larger than memory: the types of the whole text first, then record batches of these types.

Invariant: types and cells are those that `read` finds in the whole text, whatever the size of the
blocks. The first reading finds types; what it parses as text goes through the parser of whole texts
again, block by block, and the types of all blocks are joined.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from pellucid.data.io import delimited
from pellucid.data.io.csv_errors import explain, refuse_unclosed_quote
from pellucid.data.io.delimited import HEAD, LARGEST, Head, parse_options, settle_types
from pellucid.data.io.dialect import MISSING, Dialect, settle
from pellucid.data.io.encodings import not_utf8
from pellucid.data.io.number_formats import Evidence, Reading
from pellucid.data.io.source import Source
from pellucid.errors import DataError

_BLOCK = 1 << 19  # bytes; the parser of CSV reads up to 32 blocks ahead
_LADDERS = (
    (pa.int64(), pa.float64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
    (pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC")),
)


class _LongRow(Exception):
    """A row is longer than blocks may be; larger ones would do."""


def joined(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """The narrowest type that holds the cells of both; text holds everything."""
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    for ladder in _LADDERS:
        if a in ladder and b in ladder:
            return ladder[max(ladder.index(a), ladder.index(b))]
    return pa.string()


@dataclass
class TextParts:
    """A text table that is read in parts: `n_rows`, the settled `schema`, and `batches`."""

    source: Source
    n_rows: int = 0
    types: dict[str, pa.DataType] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        empty = pa.table({name: pa.nulls(0, kind) for name, kind in self.types.items()})
        return self._settled(empty).schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Record batches of at most `rows` rows with these columns, in the settled types."""
        for table in self._tables(columns):
            yield from self._settled(table.select(list(columns))).to_batches(max_chunksize=rows)

    def _tables(self, columns: Sequence[str]) -> Iterator[Any]:
        raise NotImplementedError

    def _settled(self, table: Any) -> Any:
        for name, reading in self.readings.items():
            place = table.schema.get_field_index(name)
            if place >= 0:
                table = table.set_column(place, name, reading.convert(table.column(place)))
        return settle_types(table)

    def _check_rows(self) -> None:
        if not self.n_rows:
            raise DataError(f"{self.source.name} has columns but no rows.")


class DelimitedParts(TextParts):
    """CSV and its relatives, also compressed."""

    def __init__(self, source: Source, tabs: bool = False, text: Sequence[str] = ()) -> None:
        super().__init__(source)
        dialect = settle(
            source, "\t" if tabs else None, None, None, True, MISSING, lambda note: None
        )
        if dialect.blanks:
            raise DataError(
                f"{source.name} does not fit into the allowed memory, and a table separated by "
                "spaces cannot be read in parts. Separate the cells by commas or tabs."
            )
        self.head = Head.of(source, self._start(dialect), dialect, lambda note: None)
        self.text, self.block = set(text), _BLOCK
        while not self._learned():
            self.block *= 8
        self._check_rows()

    def _start(self, dialect: Dialect) -> bytes:
        head = self.source.head(HEAD)
        if dialect.is_utf8:
            return head
        return head.decode(dialect.encoding, errors="ignore").encode("utf-8")

    def _learned(self) -> bool:
        """Whether the text has no row that is longer than two blocks; then types are known."""
        self.n_rows = 0
        try:
            self._learn()
        except _LongRow:
            return False
        return True

    def _learn(self) -> None:
        """Find types and readings of all columns, and count the rows."""
        names = self.head.names
        types = {name: pa.string() if name in self.text else pa.null() for name in names}
        evidence = {name: Evidence(self.head.dialect.decimal) for name in names}
        late: set[str] = set()  # columns that became text after numbers
        last = None
        for batch in self._parsed(dict.fromkeys(names, pa.string())):
            self.n_rows += batch.num_rows
            found = self._types(batch, [name for name in names if types[name] != pa.string()])
            for name, kind in found.items():
                before, types[name] = types[name], joined(types[name], kind)
                if types[name] == pa.string() and not pa.types.is_null(before):
                    late.add(name)
            for name in names:
                if types[name] == pa.string() and name not in self.text | late:
                    evidence[name].see(batch.column(name))
            last = batch.column(batch.num_columns - 1)[-1].as_py() if batch.num_rows else last
        refuse_unclosed_quote(self.source, last, self.head.dialect.quote)
        self._see_again(late, evidence)
        self.types = types
        readings = {n: evidence[n].reading() for n in names if types[n] == pa.string()}
        self.readings = {n: r for n, r in readings.items() if r is not None and n not in self.text}

    def _see_again(self, late: set[str], evidence: dict[str, Evidence]) -> None:
        """All cells of columns that looked like numbers at first."""
        open_columns = set(late)
        if not late:
            return
        for batch in self._parsed(dict.fromkeys(sorted(late), pa.string())):
            open_columns = {n for n in open_columns if evidence[n].see(batch.column(n))}
            if not open_columns:
                return

    def _types(self, batch: Any, names: list[str]) -> dict[str, pa.DataType]:
        """The types that the parser of whole texts finds in these columns of text."""
        if not names or not batch.num_rows:
            return {}
        written = io.BytesIO()
        pacsv.write_csv(batch.select(names), written)
        plain = Dialect(decimal=self.head.dialect.decimal)
        source = Source("a block", data=written.getvalue())
        table = delimited.parsed_types(source, Head(tuple(names), 0, plain))
        return {column.name: column.type for column in table}

    def _tables(self, columns: Sequence[str]) -> Iterator[Any]:
        types = {n: pa.float64() if pa.types.is_null(t) else t for n, t in self.types.items()}
        for batch in self._parsed({name: types[name] for name in columns}):
            yield pa.Table.from_batches([batch])

    def _parsed(self, types: dict[str, pa.DataType]) -> Iterator[Any]:
        """The columns in these types, block by block."""
        dialect = self.head.dialect
        options = parse_options(self.head, list(types), types, self.block)
        options[0].use_threads = False
        stream = self.source.open()
        if not dialect.is_utf8:
            stream = pa.transcoding_input_stream(stream, dialect.encoding, "utf-8")
        try:
            for batch in pacsv.open_csv(stream, *options):
                if any(pa.types.is_binary(kind) for kind in batch.schema.types):
                    raise not_utf8(self.source, bytes(self.source.content()))
                yield batch
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            if "straddl" in str(error) and self.block < LARGEST:
                raise _LongRow from None
            content = delimited.utf8(self.source, dialect)
            raise explain(self.source, content, dialect, self.head.names, error) from None
        except OSError as error:
            raise self.source.broken(f"its compression is damaged ({error})") from None


class JsonParts(TextParts):
    """One JSON object per line, also compressed."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        for table in self._read(None):
            self.n_rows += table.num_rows
            for column in table.schema:
                before = self.types.get(column.name, pa.null())
                self.types[column.name] = self._joined(column.name, before, column.type)
        self._check_rows()

    def _joined(self, name: str, a: pa.DataType, b: pa.DataType) -> pa.DataType:
        kind = joined(a, b)
        texts = (pa.timestamp("s"), pa.timestamp("ns"), pa.string(), pa.null())
        if kind == pa.string() and not (a in texts and b in texts):
            raise DataError(
                f"column {name!r} of {self.source.name} holds {a} in some rows and {b} in others. Every "
                "row must be a JSON object with the same types."
            )
        return kind

    def _tables(self, columns: Sequence[str]) -> Iterator[Any]:
        types = {n: pa.float64() if pa.types.is_null(t) else t for n, t in self.types.items()}
        return self._read(pa.schema([(name, types[name]) for name in columns]))

    def _read(self, schema: pa.Schema | None) -> Iterator[Any]:
        """Tables of some lines each, in these types or in those that each shows."""
        from pyarrow import json as pajson

        from pellucid.data.io.bounds import refuse_deep_json, refuse_null_rows
        from pellucid.data.io.json_records import bad_row

        parse = pajson.ParseOptions(
            explicit_schema=schema,
            unexpected_field_behavior="infer" if schema is None else "ignore",
        )
        before = 0
        for lines in self._lines():
            content = pa.py_buffer(lines)
            refuse_deep_json(content, self.source.name)
            refuse_null_rows(content, self.source.name)
            try:
                options = pajson.ReadOptions(block_size=max(len(lines), 1 << 16))
                table = pajson.read_json(pa.BufferReader(content), options, parse)
                table.validate(full=True)
            except UnicodeDecodeError:
                raise not_utf8(self.source, lines) from None
            except pa.ArrowInvalid as error:
                raise bad_row(self.source, str(error), before) from None
            before += table.num_rows
            yield table

    def _lines(self) -> Iterator[bytes]:
        """Whole lines, about `_BLOCK` bytes at a time."""
        stream, rest = self.source.open(), b""
        try:
            while part := bytes(stream.read(_BLOCK)):
                end = part.rfind(b"\n") + 1
                if end:
                    if (rest + part[:end]).strip():
                        yield rest + part[:end]
                    rest = b""
                rest += part[end:]
        except OSError as error:
            raise self.source.broken(f"its compression is damaged ({error})") from None
        if rest.strip():
            yield rest


def parts_of(source: Source, kind: str, text: Sequence[str] = ()) -> TextParts:
    """The parts of a text in one of the formats csv, tsv and jsonl."""
    source.refuse_long_lines()
    if kind == "jsonl":
        return JsonParts(replace(source))
    return DelimitedParts(source, kind == "tsv", text)
