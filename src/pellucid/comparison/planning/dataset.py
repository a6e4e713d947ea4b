"""The dataset of a comparison: the table with a role for each column and an interpreted target.

Invariant: after `load_dataset` every row has a target, a weight and its row number in the user's table.
No feature has another role. The target is class codes (the positive class is the last of two) or floats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np

from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.time_parsing import ranks
from pellucid.data.arrow import arrow_column
from pellucid.data.io import shared_tables
from pellucid.data.io.source import did_you_mean, find, listing, require_column
from pellucid.data.kinds import as_kind
from pellucid.data.raw_column import RawColumn
from pellucid.errors import DataError

MIN_ROWS = 6
IN_MEMORY = "the table in memory"  # a source that a command line cannot name
PATH = "path"  # the container of a table that was read from a file


@dataclass(frozen=True)
class Dataset:
    """A table ready for a comparison.

    table : Arrow table of the features; kinds : {column: kind}
    y : int64 class codes or float64; classes : labels by code (None for regression)
    weights : float64; groups, times : one value per row, or None
    rows : number of each row in the user's table
    n_test : number of rows at the end that come from a separate test file; test_sha256 : its hash
    container : what the user passed ("arrow", "pandas", "polars", "array", "frame", "path")
    notes : what was done to the table
    """

    name: str
    source: str
    sha256: str
    target: str
    task: str
    task_why: str
    table: Any
    kinds: dict[str, str]
    y: np.ndarray
    classes: tuple[Any, ...] | None
    weights: np.ndarray
    rows: np.ndarray
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    n_test: int = 0
    test_sha256: str = ""
    container: str = "arrow"
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        return list(self.table.column_names)

    @property
    def split_by(self) -> tuple[str, np.ndarray | None]:
        """What the folds respect ("time", "group" or ""), and the time or group of each row."""
        if self.times is not None:
            return "time", self.times
        return ("", None) if self.groups is None else ("group", self.groups)

    def raw(self, kind: str = "") -> dict[str, RawColumn]:
        """The features as raw columns of their kinds; only those of one kind if it is given."""
        pairs = zip(self.columns, self.table.columns)
        return {
            name: as_kind(arrow_column(name, c), self.kinds[name], name)
            for name, c in pairs
            if kind in ("", self.kinds[name])
        }

    def without(self, names: list[str]) -> Dataset:
        """The dataset without some features."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in names}
        return replace(self, table=shared_tables.without(self.table, names), kinds=kinds)


@dataclass(frozen=True)
class SourceTable:
    """A table before its columns have roles: Arrow, its name, its hash, and the target and task of a
    built-in data set."""

    table: Any
    name: str
    source: str
    sha256: str
    container: str = "arrow"
    target: str | None = None
    task: str | None = None
    n_test: int = 0  # rows at the end that come from a separate test file
    test_sha256: str = ""
    notes: tuple[str, ...] = ()  # what was done to the table

    @property
    def read(self) -> bool:
        """Whether it was read from a file or from standard input."""
        return self.container == PATH and self.task is None

    @property
    def place(self) -> str:
        """Where it came from, for messages."""
        return "standard input" if self.source == "-" else self.source


def open_table(
    data: Any, note: Callable[[str], None] | None = None, encoding: str | None = None
) -> SourceTable:
    """Read a file or a built-in data set, or convert a table in memory."""
    if not isinstance(data, str | os.PathLike):
        table, container = shared_tables.as_arrow(data)
        return SourceTable(table, "table", IN_MEMORY, shared_tables.fingerprint(table), container)
    text = os.fspath(data)
    from pellucid.data import datasets

    if text in datasets.names() and not os.path.isfile(text):
        known = datasets.load(text)
        sha256 = shared_tables.fingerprint(known.table)
        return SourceTable(known.table, text, text, sha256, PATH, known.target, known.task)
    from pellucid.data.io.read import read

    if text != "-" and not os.path.exists(text) and not os.path.splitext(text)[1]:
        hint = did_you_mean(text, datasets.names())
        raise DataError(
            f"there is no file or built-in data set named {text}.{hint} "
            f"Built-in data sets: {', '.join(datasets.names())}."
        )
    source = find(text)
    table = read(source, note=note, encoding=encoding)
    if text == "-":
        return SourceTable(table, "stdin", "-", shared_tables.fingerprint(table), PATH)
    stem = os.path.basename(text).split(".")[0] or "table"
    return SourceTable(table, stem, text, shared_tables.file_fingerprint(source.path or text), PATH)


def load_dataset(
    data: Any, settings: Settings, y: Any = None, note: Callable[[str], None] | None = None
) -> Dataset:
    """Read the table and give each column its role."""
    opened = data if isinstance(data, SourceTable) else open_table(data, note, settings.encoding)
    if settings.encoding and not settings.test and not opened.read:
        raise DataError(
            f"--encoding is only for files, but {opened.place} is not one. Leave it out."
        )
    table, target = opened.table, settings.target or opened.target
    if y is not None:
        table, target = _with_target(table, y, target)
    if target is None:
        raise DataError(
            f"which column of {opened.place} should be predicted? Name it with --target "
            f"(target=...).{_likely(table.column_names)} {listing(table.column_names)}"
        )
    require_column(table, target, opened.place)
    roles = _roles(table, settings, target, opened.place)
    # Drop these columns first: they may have types that no model can read.
    table = shared_tables.readable(shared_tables.without(table, [*roles["id"], *roles["drop"]]))
    opened = replace(opened, table=table)
    if settings.test:
        opened = _with_test_file(opened, settings)
    return _assemble(opened, target, roles, settings)


def _assemble(
    opened: SourceTable, target: str, roles: dict[str, list[str]], settings: Settings
) -> Dataset:
    from pellucid.comparison.planning.target import few_values_note, understand

    table, n_test = opened.table, opened.n_test
    present = arrow_column(target, table.column(target)).present()
    kept = np.flatnonzero(present)
    if not len(kept):
        raise DataError(f"the target {target!r} is missing in all {len(present)} rows.")
    notes = []
    if len(kept) < len(present):
        notes.append(f"{len(present) - len(kept)} rows without a target are excluded")
        n_test = int(present[len(present) - n_test :].sum()) if n_test else 0
        table = shared_tables.take(table, kept)
    n_train = len(kept) - n_test
    if settings.test and not n_test:
        raise DataError(
            f"the target {target!r} is missing in every row of the test file {settings.test}."
        )
    if n_train < MIN_ROWS:
        raise DataError(
            f"{opened.place} has only {n_train} row{'s' * (n_train != 1)} with a target. A comparison "
            f"needs at least {MIN_ROWS}."
        )
    task = settings.task if settings.task != "auto" else (opened.task or "auto")
    try:
        found = understand(table.column(target), target, task, settings.positive, n_train)
    except DataError as error:
        if not notes:
            raise
        raise DataError(
            f"{error} ({notes[0]}; values such as NA and null are read as missing.)"
        ) from None
    if settings.task == "auto" and opened.task:
        found = replace(found, why="a built-in data set")
    if task == "auto" and (note := few_values_note(found, target)):
        notes.append(note)
    notes += [
        f"{name!r} orders the rows (--time) and is not used as a feature" for name in roles["time"]
    ]
    _refuse_unseen_class(found, n_train, settings.test)
    apart = {target, *(name for names in roles.values() for name in names)}
    features = shared_tables.without(table, apart)
    if not features.num_columns:
        raise DataError(f"{opened.place} has no column left from which to predict {target!r}.")
    features, kinds = shared_tables.settled(features, n_train)
    _refuse_infinite(features, kinds)
    return Dataset(
        name=opened.name, source=opened.source, sha256=opened.sha256, target=target,
        task=found.task, task_why=found.why, table=features, kinds=kinds, y=found.y,
        classes=found.classes, weights=_weights(table, roles, kept), rows=kept,
        groups=_codes(table, roles["group"]), times=_codes(table, roles["time"], ordered=True),
        n_test=n_test, test_sha256=opened.test_sha256,
        container=opened.container, notes=(*opened.notes, *notes),
    )  # fmt: skip


TARGETS = {
    "class", "dependent", "label", "outcome", "output", "response", "result", "survived", "target",
    "y",
}  # fmt: skip


def _likely(names: list[str]) -> str:
    """The columns that are most likely the target: by name, then the last, then the first."""
    if len(names) < 2:
        return ""
    called = [n for n in names if TARGETS & set(re.split(r"[\W_]+", n.casefold()))][:2]
    ends = [name for name in (names[-1], names[0]) if name not in called]
    places = {names[-1]: "the last column", names[0]: "the first column"}
    likely = [repr(name) for name in called] + [f"{name!r} ({places[name]})" for name in ends]
    return f" Likely: {', '.join(likely)}."


def _roles(table: Any, settings: Settings, target: str, source: str) -> dict[str, list[str]]:
    single = {role: settings.values[role] for role in ("group", "time", "weights")}
    roles = {role: [name] if name else [] for role, name in single.items()}
    roles |= {role: named(settings.values[role], table.column_names) for role in ("id", "drop")}
    for role, names in roles.items():
        for name in names:
            require_column(table, name, source)
            if name == target:
                raise DataError(f"column {name!r} is the target and cannot also be used as {role}.")
    if roles["group"] and roles["time"]:
        raise DataError(
            "--group and --time cannot be combined, because folds can respect only one of them."
        )
    return roles


def named(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns that the texts name: each text is a name, or names separated by commas (a name may
    itself contain commas)."""
    out: list[str] = []
    for text in texts:
        parts = [text] if text in columns else text.split(",")
        while parts:
            # The longest prefix that is a name, with or without its surrounding blanks.
            wholes = (",".join(parts[:k]) for k in range(len(parts), 0, -1))
            tries = [name for whole in wholes for name in (whole, whole.strip())]
            name = next((name for name in tries if name in columns), parts[0].strip())
            parts = parts[name.count(",") + 1 :]
            out += [name] if name else []
    return out


def _with_target(table: Any, y: Any, name: str | None) -> tuple[Any, str]:
    from pellucid.data.io.write import as_table
    from pellucid.data.targets import as_vector

    name = name or getattr(y, "name", None) or "target"
    values = as_vector(y)
    if len(values) != table.num_rows:
        raise DataError(
            f"the target has {len(values)} values, but the table has {table.num_rows} rows."
        )
    column = as_table({name: values}).column(0)
    table = shared_tables.without(table, [name])
    return table.append_column(name, column), name


def _with_test_file(opened: SourceTable, settings: Settings) -> SourceTable:
    """The table with the rows of the test file at the end."""
    path, names = settings.test, opened.table.column_names
    test = open_table(path, encoding=settings.encoding)
    if lost := set(names).difference(test.table.column_names):
        first = min(lost, key=names.index)
        raise DataError(f"the test file {path} lacks column {first!r} of {opened.place}.")
    rows = shared_tables.readable(test.table.select(names))
    table = shared_tables.stacked(opened.table, rows)
    return replace(opened, table=table, n_test=rows.num_rows, test_sha256=test.sha256)


def _refuse_unseen_class(found: Any, n_train: int, path: str | None) -> None:
    """Refuse a test file with a class that no training row has."""
    if path and found.classes is not None:
        new = sorted(set(found.y[n_train:].tolist()) - set(found.y[:n_train].tolist()))
        if new:
            raise DataError(
                f"the test file {path} has the class {str(found.classes[new[0]])[:60]!r}, which no "
                "training row has. No model can learn it."
            )


def _refuse_infinite(table: Any, kinds: dict[str, str]) -> None:
    for name in [name for name, kind in kinds.items() if kind in ("number", "datetime")]:
        bad = np.isinf(arrow_column(name, table.column(name)).values)
        if bad.any():
            raise DataError(
                f"column {name!r} contains infinity in row {int(bad.argmax())}. Correct it, make it "
                f"missing, or drop the column (--drop {quote(name)})."
            )


def _weights(table: Any, roles: dict[str, list[str]], rows: np.ndarray) -> np.ndarray:
    from pellucid.data.targets import weights_or_ones

    if not roles["weights"]:
        return np.ones(table.num_rows)
    name = roles["weights"][0]
    raw = arrow_column(name, table.column(name))
    if raw.kind != "number":
        holds = "dates" if raw.kind == "datetime" else f"text ({str(raw.cells()[0])[:60]!r})"
        raise DataError(f"column {name!r} contains {holds}, but weights must be numbers.")
    for wrong, what in ((np.isnan(raw.values), "missing"), (raw.values < 0, "negative")):
        if wrong.any():
            raise DataError(
                f"the weight {name!r} is {what} in row {int(rows[wrong.argmax()])}. Weights must be "
                "present and at least 0."
            )
    return weights_or_ones(raw.values, table.num_rows)


def _codes(table: Any, names: list[str], ordered: bool = False) -> np.ndarray | None:
    """Values of a role column as numbers in the same order."""
    from pellucid.data.raw_column import factorize

    if not names:
        return None
    raw = arrow_column(names[0], table.column(names[0]))
    present = raw.present()
    if not present.all():
        raise DataError(
            f"column {names[0]!r} is missing in row {int(present.argmin())}. Every row needs a value."
        )
    if raw.kind in ("number", "datetime"):
        return raw.values
    codes, levels = factorize(raw.cells())
    if ordered:
        return ranks(names[0], [str(level) for level in levels])[codes]
    order = np.argsort(np.argsort(np.array(levels, dtype=object)))
    return order[codes].astype(float)
