"""What is attacked: for each target, how a hostile input is made, and when it was taken badly.

An input is made from (target, seed, number) alone, so that every case can be made again. `judge`
raises if the input was taken badly: an exception that is not ours, an event that only running code
causes, too much memory. Crashes and hangs are seen by the parent process.
"""

from __future__ import annotations

import importlib
import io
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pellucid import formula
from pellucid.data.io.read import read
from pellucid.errors import PellucidError
from pellucid.persist.checks import is_quick
from scorecard.fuzz.mutations import changed_bytes, hostile_model
from tests.persist import test_stored_classes
from tests.persist.forge_models import fault
from tests.persist.test_old_files import FILES, table

FORBIDDEN = {
    "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect",
    "pickle.find_class", "os.remove", "shutil.rmtree", "code.__new__",
}  # fmt: skip
WORDS = (
    "y", "a", "b", "c", "~", "+", "-", "*", ":", "/", "^", "**", "(", ")", "0", "1", "2", ".", "|",
    "I(", "C(", "bs(", "cr(", "poly(", "log(", "center(", "scale(", "np.", "{", "}", "`", "`a b`",
    "__import__('os')", ",", "df=", "3", "'x'", "[", "]", "==", "%", "@", "lambda", "é", "\n", "\\",
    "9" * 30, "exp(", "Q('a')",
)  # fmt: skip
LETTERS = (
    "a", "b", ".", r"\w", r"\d", r"\s", "[ab]", "[^a]", "*", "+", "?", "{2}", "{1,9}", "(", ")",
    "(?:", "|", "^", "$", r"\b", "(?=", r"\1", "(?u)", "[", "]", "{", "\\", "(?i)",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """`make(rng)` gives a hostile input, `judge(input)` raises if it was taken badly."""

    make: Callable[[np.random.Generator], Any]
    judge: Callable[[Any], None]


def try_case(target: str, number: int, seed: int) -> None:
    """Make the input with this number, and judge it."""
    chosen = TARGETS[target]
    chosen.judge(made(target, number, seed))


def made(target: str, number: int, seed: int) -> Any:
    """The input of a target with this number."""
    place = sorted(TARGETS).index(target)
    return TARGETS[target].make(np.random.default_rng([seed, place, number]))


# Model files ---------------------------------------------------------------------------------------


@cache
def valid_models() -> list[bytes]:
    """The stored files of every class and format."""
    paths = [
        *sorted(test_stored_classes.FOLDER.glob("*.pellucid")),
        *sorted(FILES.glob("*.pellucid")),
    ]
    return [path.read_bytes() for path in paths]


def make_model(rng: np.random.Generator) -> bytes:
    models = valid_models()
    one, other = rng.integers(len(models), size=2)
    return hostile_model(models[one], models[other], rng)


def judge_model(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, only_data():
        path = Path(folder) / "m"
        path.write_bytes(content)
        found = fault(path, table())
        assert found is None, found


# Nothing that an audit hook sees may happen while a file is read; hooks cannot be removed again.
_watched: list[list[str]] = []


def _hook(event: str, arguments: tuple) -> None:
    if event in FORBIDDEN and _watched:
        _watched[-1].append(event)


_hooked = False


class only_data:
    """Refuses events of `FORBIDDEN` inside the block, but for the clean-up of the block itself."""

    def __enter__(self) -> None:
        global _hooked
        importlib.import_module("formulaic")  # its import builds code of its own
        if not _hooked:
            sys.addaudithook(_hook)
            _hooked = True
        _watched.append([])

    def __exit__(self, *error: object) -> None:
        seen = _watched.pop()
        assert not seen, f"a file caused {seen}"


# Tables --------------------------------------------------------------------------------------------


@cache
def valid_tables(kind: str) -> list[bytes]:
    columns = {"a": [1.0, None, 3.5], "b": ["x", "é, z", None], "c": [True, False, True]}
    if kind == "parquet":
        found = []
        for compression in ("none", "snappy", "zstd"):
            sink = io.BytesIO()
            pq.write_table(pa.table(columns), sink, compression=compression)
            found.append(sink.getvalue())
        return found
    if kind == "jsonl":
        return [
            b'{"a": 1.5, "b": "x", "c": [1, {"d": null}]}\n{"a": null, "b": "\\u00e9"}\n' * 3,
            b'[{"a": 1, "b": {"c": 2}}, {"a": 2}]',
        ]
    return [
        b'a,b,c\n1.5,"x, y",true\n,"q""uote",false\n2024-01-31,na,\n' * 2,
        "größe;wert;when\n1,5;'x';01.02.2024\n2,5;;3\n".encode("latin-1"),
        "a\tb\n1\t2\n".encode("utf-16"),
    ]


def table_target(kind: str) -> Target:
    def make(rng: np.random.Generator) -> bytes:
        options = valid_tables(kind)
        return changed_bytes(options[rng.integers(len(options))], rng)

    def judge(content: bytes) -> None:
        try:
            found = read(content, format=kind, note=lambda text: None)
        except PellucidError as error:
            assert str(error)
        else:
            assert isinstance(found, pa.Table)
            found.validate(full=True)

    return Target(make, judge)


# Formulas and regular expressions ------------------------------------------------------------------


def make_formula(rng: np.random.Generator) -> str:
    words = [WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 14))]
    return ("y ~ " if rng.random() < 0.8 else "") + rng.choice(["", " "]).join(words)


def judge_formula(text: str) -> None:
    data = pa.table({
        "y": np.arange(12.0), "a": np.arange(12.0) % 5, "b": np.arange(12.0) ** 2 % 7,
        "c": ["u", "v", "w"] * 4, "a b": np.arange(12.0)[::-1],
    })  # fmt: skip
    with warnings.catch_warnings(), only_data():
        warnings.simplefilter("ignore")
        try:
            str(formula.ols(text, data).summary())
        except PellucidError as error:
            assert str(error)


def make_pattern(rng: np.random.Generator) -> str:
    return "".join(LETTERS[i] for i in rng.integers(len(LETTERS), size=rng.integers(1, 12)))


def judge_pattern(pattern: str) -> None:
    """What is accepted as quick is quick on texts that make others slow."""
    if is_quick(pattern):
        for text in (
            "a" * 20_000,
            "ab" * 10_000,
            "a " * 10_000,
            "a" * 19_999 + "!",
            "\u00e9" * 9000,
        ):
            re.findall(pattern, text)


TARGETS = {
    "model": Target(make_model, judge_model),
    "csv": table_target("csv"),
    "jsonl": table_target("jsonl"),
    "parquet": table_target("parquet"),
    "formula": Target(make_formula, judge_formula),
    "pattern": Target(make_pattern, judge_pattern),
}
