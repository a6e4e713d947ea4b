"""Data sets that may not be shipped, read from the user's file and recognised by a checksum.

The checksum is that of the values, not of the file: any of the formats in which a set is distributed
will do. A file with other values is refused, so that figures can be reproduced.
"""

import csv
import gzip
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError

PARTS = ("headers", "footers", "quotes")
QUOTE = re.compile(r"(writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>)")


@dataclass(frozen=True)
class KnownFile:
    """Where a set is found, and the SHA-256 of its values."""

    name: str
    source: str
    digest: str
    columns: tuple[str, ...] = ()

    def open(self, path: Any) -> Path:
        """The path, if it exists; else an error that says where the data are found."""
        if path is None:
            raise DataError(f"The data set {self.name!r} is not part of Pellucid. {self.source}")
        found = Path(path)
        if not found.exists():
            raise DataError(f"There is no file {str(path)!r}. {self.source}")
        return found

    def check(self, digest: str, path: Path) -> None:
        if digest != self.digest:
            raise DataError(
                f"{path.name} does not hold the values of the data set {self.name!r}: its checksum is "
                f"{digest[:12]}, not {self.digest[:12]}. {self.source}"
            )


BOSTON = KnownFile(
    "boston",
    "Save https://lib.stat.cmu.edu/datasets/boston, or the Boston table of R's MASS package as CSV, "
    'and call load("boston", path="the file"). Think before you use it: the column B codes race.',
    "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
    ("CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT",
     "MEDV"),
)  # fmt: skip
_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free "
    "business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 "
    "technology 1999 parts pm direct cs meeting original project re edu table conference"
)
SPAMBASE = KnownFile(
    "spambase",
    "Save spambase.data from https://archive.ics.uci.edu/dataset/94/spambase, and call "
    'load("spambase", path="spambase.data").',
    "706f0f74d9834f661de15274da6727d81955b258cdd7c50a4d80d15f15e5e5b4",
    (
        *(f"word_freq_{word}" for word in _WORDS.split()),
        *(f"char_freq_{sign}" for sign in ";([!$#"),
        *(f"capital_run_length_{kind}" for kind in ("average", "longest", "total")),
        "spam",
    ),
)
CATEGORIES = ("comp.graphics", "rec.autos", "rec.sport.hockey", "sci.space")
NEWSGROUPS = KnownFile(
    "newsgroups4",
    "Unpack 20news-bydate.tar.gz from http://qwone.com/~jason/20Newsgroups/, and call "
    'load("newsgroups4", path="the folder").',
    "1b12fae67a1732fd16c86136375ba37aed2e5e67230d270938c58329db3d622c",
)


def number_table(known: KnownFile, path: Any = None) -> dict[str, np.ndarray]:
    """A table of numbers from a text file with any separator; lines of other text are left out."""
    found = known.open(path)
    numbers: list[float] = []
    for line in _text(found).splitlines():
        cells = [cell.strip('"') for cell in re.split(r"[\s,;]+", line.strip()) if cell]
        try:
            numbers.extend([float(cell) for cell in cells])
        except ValueError:
            continue
    width = len(known.columns)
    values = np.array(numbers[: len(numbers) // width * width]).reshape(-1, width)
    known.check(hashlib.sha256(values.astype("<f8").tobytes()).hexdigest(), found)
    return {name: np.ascontiguousarray(values[:, j]) for j, name in enumerate(known.columns)}


def spambase(path: Any = None) -> dict[str, Any]:
    """The columns of Spambase, with the classes "email" and "spam"."""
    columns: dict[str, Any] = dict(number_table(SPAMBASE, path))
    columns["spam"] = ["spam" if cell else "email" for cell in columns["spam"]]
    return columns


def newsgroups(path: Any = None, *, subset: str = "all", remove: Any = PARTS) -> dict[str, Any]:
    """Text and category of four newsgroups.

    `subset` is "train", "test" or "all". `remove` names parts of the messages to leave out: any of
    "headers", "footers" and "quotes".
    """
    if subset not in ("train", "test", "all"):
        raise ParameterError(f"subset must be 'train', 'test' or 'all'. Got {subset!r} instead.")
    unknown = set(remove) - set(PARTS)
    if unknown:
        raise ParameterError(f"remove takes {', '.join(PARTS)}. Got {sorted(unknown)} instead.")
    found = NEWSGROUPS.open(path)
    rows = sorted(_from_folder(found) if found.is_dir() else _from_table(found))
    digest = hashlib.sha256()
    for part, category, name, text in rows:
        digest.update(f"{part}/{category}/{name}\n".encode() + text)
    NEWSGROUPS.check(digest.hexdigest(), found)
    kept = [row for row in rows if subset in ("all", row[0])]
    return {
        "subset": [row[0] for row in kept],
        "text": [_stripped(row[3].decode("latin-1"), remove) for row in kept],
        "category": [row[1] for row in kept],
    }


def _from_folder(folder: Path) -> Iterator[tuple[str, str, str, bytes]]:
    """(subset, category, file, text) of the unpacked archive."""
    for part in ("train", "test"):
        for category in CATEGORIES:
            for path in (folder / f"20news-bydate-{part}" / category).glob("*"):
                yield part, category, path.name, path.read_bytes()


def _from_table(path: Path) -> Iterator[tuple[str, str, str, bytes]]:
    """The same from a CSV file with these columns, its texts decoded from Latin-1."""
    csv.field_size_limit(2**24)
    for row in csv.DictReader(io.StringIO(_text(path), newline="")):
        if row.get("category") in CATEGORIES:
            yield (
                row["subset"],
                row["category"],
                row["file"],
                row["text"].encode("latin-1", "replace"),
            )


def _text(path: Path) -> str:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return data.decode("utf-8", "replace")


def _stripped(text: str, remove: Any) -> str:
    """A message without its header, the lines it quotes, and its signature."""
    if "headers" in remove:
        text = text.partition("\n\n")[2]
    if "footers" in remove:
        text = _without_signature(text)
    if "quotes" in remove:
        text = "\n".join(line for line in text.split("\n") if not QUOTE.search(line))
    return text


def _without_signature(text: str) -> str:
    """The lines before the last one that is blank or only dashes."""
    lines = text.strip().split("\n")
    for number in range(len(lines) - 1, 0, -1):
        if not lines[number].strip().strip("-"):
            return "\n".join(lines[:number])
    return text
