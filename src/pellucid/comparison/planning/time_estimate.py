"""How long a run will take, roughly, before any model was fitted.

    seconds of a fit = start + cells * (a + b * min(rows, columns) + c * rows)
    seconds of a run = START + sum over models of (folds + LAST) * fits of a round * a fit / jobs

`SPEED` holds start, a, b and c of each model, measured on one core of a machine of 2025 on seven
tables of 120 x 4 to 39,000 x 15. Columns are those the model sees: a categorical column counts once
for a model that splits sets of levels, else once per level. Runs on an idle machine of that kind
lay within a factor of two of the figure, so a range is told and not a number; what other programs
use now is added to its upper end. Invariant: the work of a model depends on the table and the plan
alone, never on the machine: limits that count it (`limits`) leave out the same everywhere.
"""

from __future__ import annotations

import os
from math import ceil, floor

from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.registry import words_read
from pellucid.parallel import get_threads

START = 2.5  # the first process, the kept model, the report
LAST = 2.0  # the last round also draws the model's portrait: so many others
PORTRAIT = 0.1  # seconds of it at least
SPEED = {  # of one fit: milliseconds, then nanoseconds, picoseconds and picoseconds per cell
    "adaboost": (40, 1000, 0, 0), "bagging": (25, 2200, 0, 0), "bayesian_ridge": (15, 90, 400, 0),
    "elastic_net": (8, 25, 100, 0), "extra_trees": (20, 3500, 0, 0), "forest": (12, 2600, 0, 0),
    "gamma": (10, 80, 250, 0), "gradient_boosting": (25, 300, 0, 0), "knn": (4, 40, 0, 12),
    "lasso": (7, 30, 140, 0), "lda": (5, 10, 280, 0), "logistic": (7, 30, 90, 0),
    "logistic_l1": (25, 150, 0, 0), "majority": (15, 30, 0, 0), "mean": (15, 30, 0, 0),
    "mlp": (100, 2000, 0, 0), "multinomial_nb": (5, 30, 0, 0), "naive_bayes": (8, 40, 0, 0),
    "ols": (60, 50, 100, 0), "perceptron": (10, 25, 15, 0), "poisson": (10, 80, 300, 0),
    "qda": (5, 10, 280, 0), "ridge": (6, 35, 130, 0), "ridge_classifier": (25, 15, 60, 0),
    "ridge_log": (8, 40, 130, 0),
    "sgd": (14, 40, 0, 0), "svm_linear": (12, 80, 0, 0), "svm_rbf": (8, 120, 0, 6),
    "tree": (5, 140, 0, 0),
}  # fmt: skip
OF_NUMBERS = {"svm_linear": (45, 700, 0, 0), "knn": (5, 40, 0, 30)}  # where regression is slower
TREES = {"bagging": 20}  # trees of the fits above; 50 of any other
UNITS = (
    ("h", 3600.0, 7200.0),
    ("min", 60.0, 120.0),
    ("s", 1.0, 0.0),
)  # length, least end of a range
WORDS = 1000  # columns that a text column counts for
FASTER, SLOWER = 0.6, 1.8  # the range that is told
BUSY = 2.0  # processes to a processor that are worth a word


def seconds(plan: Plan, load: float | None = None) -> tuple[float, float]:
    """The least and the most that the run will probably take; `load` as in `crowd`."""
    jobs = _jobs(plan)
    middle = START + sum(by_model(plan).values()) / jobs
    most = float("inf") if plan.settings.time_limit is None else plan.settings.time_limit
    return min(FASTER * middle, most), min(SLOWER * processes_per_cpu(jobs, load) * middle, most)


def by_model(plan: Plan) -> dict[str, float]:
    """Seconds of all rounds of each model that runs."""
    rounds, fits = len(plan.folds) + LAST, fit_seconds(plan)
    return {
        c.id: min(rounds * plan.fits_of_round(c) * fits[c.id] + PORTRAIT, plan.model_timeout)
        for c in plan.running
    }


def fit_seconds(plan: Plan) -> dict[str, float]:
    """Seconds of one fit of each model that runs, on the machine of the figures."""
    found, (narrow, text, wide) = {}, _columns(plan)
    for contender in plan.running:
        words = min(words_read(type(contender.make())), WORDS) * text
        columns = narrow if _splits_levels(contender) else wide + int(words)
        found[contender.id] = fit(plan, contender, columns)
    return found


def affordable(plan: Plan, contender: Contender, each: float, seconds: float) -> int:
    """How many candidates all rounds of a model can try in so many seconds, if a fit takes `each`;
    1: the middle one, without a search; 0: not even that."""
    rounds, full = len(plan.folds) + LAST, len(contender.candidates)
    fits = (seconds - PORTRAIT) / (rounds * each)
    if fits < 1:
        return 0
    return min(full, max(1, int((fits - 1) / plan.inner)))


def cheap_first(plan: Plan) -> list[Contender]:
    """The models that run: the baseline, then by the time they will take, and last those of others,
    of which nothing is known."""
    seconds_of = by_model(plan)
    return sorted(plan.running, key=lambda c: (c.rank > 0, c.entry is None, seconds_of[c.id]))


def fit(plan: Plan, contender: Contender, columns: int) -> float:
    """Seconds of one fit."""
    cost = contender.cost
    found = SPEED.get(contender.id, (6 * cost, 200 * cost, 0, 0))
    if plan.dataset.classes is None:
        found = OF_NUMBERS.get(contender.id, found)
    start, cell, narrower, longer = found
    rows = len(plan.train)
    each = cell * 1e-9 + 1e-12 * (narrower * min(rows, columns) + longer * rows)
    return _trees(contender) * (start * 1e-3 + each * rows * columns)


def _trees(contender: Contender) -> float:
    """How many times the trees of the measured fits a model of trees has."""
    first = contender.candidates[0] if contender.rank == 5 and contender.candidates else {}
    usual = TREES.get(contender.id, 50)
    return first.get("n_estimators", first.get("max_iter", usual)) / usual


def _jobs(plan: Plan) -> int:
    return min(plan.settings.jobs or get_threads(), max(1, len(plan.folds) * len(plan.running)))


def processes_per_cpu(jobs: int, load: float | None = None) -> float:
    """How many processes share a processor, at least 1; `load`: those of other programs, now."""
    if load is None:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1.0, (jobs + load) / (os.cpu_count() or 1))


def describe_estimate(plan: Plan) -> str:
    """`estimated 1-3 min`: rounded down and up to what a reader can use."""
    low, high = seconds(plan)
    unit, size = next((u, s) for u, s, least in UNITS if high >= least)
    few, many = floor(low / size), ceil(high / size)
    text = f"{few} {unit}" if few == many else f"{few}-{many} {unit}"
    if few == 0:
        text = f"up to {many} {unit}"
    return f"estimated {text}" + (", busy machine" if processes_per_cpu(_jobs(plan)) > BUSY else "")


def _columns(plan: Plan) -> tuple[int, int, int]:
    """Columns as they are; those of text; and the others with one per level."""
    narrow = text = wide = 0
    for name, kind in plan.dataset.kinds.items():
        narrow += 1
        text += kind == "text"
        wide += {"categorical": 0, "text": 0}.get(kind, 1)
        if kind == "categorical":
            wide += plan.dataset.n_levels(name)
    return narrow, text, wide


def _splits_levels(contender: Contender) -> bool:
    """Whether a model takes columns as they are: baselines, trees, counts of levels."""
    made = contender.make()
    return contender.rank in (0, 2, 5) or getattr(made, "_layout", "matrix") == "codes"
