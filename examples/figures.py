"""A figure of a text, our figure, and the table that sets them side by side."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

DATA: dict[str, Path | None] = {"folder": None}


class LeftOut(Exception):
    """The data of a figure are not there."""


@dataclass(frozen=True)
class Figure:
    """What a text prints, and how we compute it.

    `expected` is what ours must be: by default what the text prints. For an erratum it is the right
    value. A pair (low, high) with verdict "near" is a range.
    """

    text: str
    name: str
    theirs: Any
    ours: Callable[[], Any]
    verdict: str = "equal"
    expected: Any = None
    digits: float = 1e-6

    def judged(self, value: Any) -> str:
        """The verdict, or "WRONG"."""
        wanted = self.theirs if self.expected is None else self.expected
        if self.verdict == "near":
            low, high = wanted
            return (
                "near"
                if np.all((np.asarray(value) >= low) & (np.asarray(value) <= high))
                else "WRONG"
            )
        if isinstance(wanted, str) or np.asarray(wanted).dtype.kind in "OU":
            return self.verdict if np.array_equal(wanted, value) else "WRONG"
        close = np.allclose(
            np.asarray(value, float), np.asarray(wanted, float), rtol=0, atol=self.digits
        )
        return self.verdict if close else "WRONG"


def data_file(name: str) -> Path:
    """A file of the folder that `--data` names."""
    folder = DATA["folder"]
    if folder is None or not (folder / name).exists():
        raise LeftOut
    return folder / name


def shown(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return " ".join(f"{cell:.7g}" for cell in array.ravel()[:5])
    return " ".join(map(str, array.ravel()[:6]))


def main(figures: list[Figure]) -> int:
    """Compute and print all figures; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder with boston.csv, spambase.csv, ...")
    DATA["folder"] = parser.parse_args().data
    counts: dict[str, int] = {}
    print(f"{'text':4}  {'figure':52}  {'theirs':32}  {'ours':32}  verdict")
    for figure in figures:
        try:
            value = figure.ours()
            verdict, text = figure.judged(value), shown(value)
        except LeftOut:
            verdict, text = "left out", "no data"
        counts[verdict] = counts.get(verdict, 0) + 1
        line = f"{figure.text:4}  {figure.name[:52]:52}  {shown(figure.theirs)[:32]:32}"
        print(f"{line}  {text[:32]:32}  {verdict}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    return int("WRONG" in counts)


def run(name: str, figures: list[Figure]) -> None:
    """End the program of a script."""
    if name == "__main__":
        sys.exit(main(figures))
