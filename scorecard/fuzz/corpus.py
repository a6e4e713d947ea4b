"""What was ever bad, as small recipes: each is made again and must be taken well.

`corpus.toml` has entries of two kinds: `parts`, pairs of a text and how often it is repeated (bytes
of a table, a formula, a pattern); or `class`, `path` and `value`: the stored model file of a class,
sealed again after the value at this path of its document was replaced (or removed, without a
value).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scorecard.fuzz.targets import TARGETS
from scorecard.runner import Case
from tests.persist.forgery import at, parts, sealed
from tests.persist.test_stored_classes import FOLDER

FILE = Path(__file__).parent / "corpus.toml"
TEXTS = ("formula", "pattern")


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["entry"]
    return found


def cases() -> Iterator[Case]:
    """One case for each entry."""
    for entry in entries():
        yield Case(f"{entry['target']} {entry['name']}", partial(_replay, entry))


def _replay(entry: dict[str, Any]) -> None:
    TARGETS[entry["target"]].judge(content(entry))


def content(entry: dict[str, Any]) -> Any:
    """The input that an entry describes."""
    if entry["target"] == "model":
        return _forged(entry)
    text = "".join(part * times for part, times in entry["parts"])
    return text if entry["target"] in TEXTS else text.encode("latin-1")


def _forged(entry: dict[str, Any]) -> bytes:
    (path,) = FOLDER.glob(f"*{entry['class']}.pellucid")
    table, document, data = parts(path.read_bytes())
    *where, last = entry["path"]
    parent = at(document, where)
    if "value" in entry:
        parent[last] = json.loads(entry["value"])
    else:
        del parent[last]
    return sealed(table, document, data)
