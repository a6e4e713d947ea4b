"""The cells of the simulation: which populations, sizes and models, and how many tables of each.

pair   models of one learner on either half of the columns: A and B are equally good in expectation;
       "weak" and "weaker" use columns with less signal than B; "twin" is A with another seed
board  17 models: 8 linear ones that are equally good, one that is weaker, and 8 trees
noise  the models of a board, and a target that does not depend on the columns
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from scorecard.statistics import learners
from scorecard.statistics.populations import CLASSES, NOISE

SIZES = (300, 1000, 60, 5000)  # in the order in which they are simulated
EFFECTS = {300: (0.5, 0.2), 1000: (0.8, 0.5)}  # rho of the weak models, where power is measured
EQUAL, TREES = 8, 8


@dataclass(frozen=True)
class Cell:
    """One cell; `name` is the folder of its tables and determines its seed."""

    arm: str
    data: str
    learner: str
    n: int
    tables: int

    @property
    def name(self) -> str:
        return f"{self.arm}-{self.data}-{self.learner}-{self.n}"

    @property
    def classes(self) -> bool:
        return self.data == CLASSES

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, in the order of the stored predictions."""
        if self.arm == "noise":
            return tuple(self.makers)
        if self.arm == "board":
            equal = tuple(f"equal{k}" for k in range(EQUAL))
            return (*equal, "weak", *(f"tree{k}" for k in range(TREES)))
        weak = ("weak", "weaker")[: len(EFFECTS.get(self.n, ()))]
        return ("A", "B", *weak, *(("twin",) if self.learner == "network" else ()))

    @property
    def makers(self) -> dict[str, learners.Maker]:
        """The board's models by name."""
        return learners.BOARD_CLASSIFIERS if self.classes else learners.BOARD_REGRESSORS

    def rho(self, model: str) -> float:
        """The share rho of the signal in the columns of a model."""
        weak = dict(zip(("weak", "weaker"), EFFECTS.get(self.n, ())))
        return weak.get(model, 1.0)


def cells(tables: int = 400, sizes: tuple[int, ...] = SIZES) -> list[Cell]:
    """All cells, the most informative first."""
    return [*_pairs(tables, sizes), *_boards(tables, sizes), *_noise(tables // 2, sizes)]


def _pairs(tables: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    for group, n in product((learners.LEARNERS[:3], *zip(learners.LEARNERS[3:])), sizes):
        for learner, data in product(group, NOISE):
            yield Cell("pair", data, learner, n, tables)


def _boards(tables: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n, data in product(sizes, ("classes", "normal", "lognormal")):
        if n in EFFECTS:
            yield Cell("board", data, "all", n, tables)


def _noise(tables: int, sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n, data in product(sizes, ("classes", "normal")):
        if n <= 1000:
            yield Cell("noise", data, "all", n, tables)
