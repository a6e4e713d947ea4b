"""How long a run will take, roughly, before any model was fitted.

    seconds of a fit = cost * (FIT + CELL * rows * columns)
    seconds of a run = START + (sum over rounds and their fits + sum of portraits) / jobs

`cost` is the registry's, columns are those the model sees: a categorical column counts once for a
model that splits sets of levels, else once per level. The constants were fitted by eye to the whole
time of runs on tables from 120 x 4 to 39,000 x 15 with two cores. Runs differed from the figure by a
factor of two either way, more on a busy machine: a range is told and not a number.
Invariant: an estimate shapes nothing but text; equal plans give equal results.
"""

from __future__ import annotations

from math import ceil, floor

from pellucid.compare.plan import Contender, Plan
from pellucid.parallel import get_threads

START = 2.0  # the first process, the kept model, the report
ROUND = 0.03  # search and scores of one (model, fold) beside its fits
PORTRAIT, LOOK = 0.1, 8e-6  # what the report tells of a model: at least, and per cell
FIT = 0.006  # a fit of cost 1 on next to no rows
CELL = 2e-7  # more of it per cell
UNITS = (
    ("h", 3600.0, 7200.0),
    ("min", 60.0, 120.0),
    ("s", 1.0, 0.0),
)  # length, least end of a range
WORDS = 1000  # columns that a text column counts for
FASTER, SLOWER = 0.75, 2.5  # the range that is told


def seconds(plan: Plan) -> tuple[float, float]:
    """The least and the most that the run will probably take."""
    rounds = len(plan.folds) + 1
    narrow, wide = _columns(plan)
    work = 0.0
    for contender in plan.running:
        columns = narrow if _splits_levels(contender) else wide
        own = plan.fits_of(contender) * contender.cost * (FIT + CELL * len(plan.train) * columns)
        own += PORTRAIT + LOOK * len(plan.train) * narrow
        work += rounds * ROUND + min(own, plan.model_timeout)
    jobs = min(plan.settings.jobs or get_threads(), max(1, rounds * len(plan.running)))
    middle = START + work / jobs
    most = float("inf") if plan.settings.time_limit is None else plan.settings.time_limit
    return min(FASTER * middle, most), min(SLOWER * middle, most)


def told(plan: Plan) -> str:
    """`estimated 1-3 min`: rounded down and up to what a reader can use."""
    low, high = seconds(plan)
    unit, size = next((u, s) for u, s, least in UNITS if high >= least)
    few, many = floor(low / size), ceil(high / size)
    if few == 0:
        return f"estimated up to {many} {unit}"
    return f"estimated {few} {unit}" if few == many else f"estimated {few}-{many} {unit}"


def _columns(plan: Plan) -> tuple[int, int]:
    """Columns as they are, and with one per level."""
    narrow = wide = 0
    for name, kind in plan.material.kinds.items():
        narrow += 1
        wide += {"categorical": 0, "text": WORDS}.get(kind, 1)
        if kind == "categorical":
            wide += plan.material.n_levels(name)
    return narrow, wide


def _splits_levels(contender: Contender) -> bool:
    made = contender.make()
    return getattr(made, "_layout", "matrix") == "codes"
