"""A rough estimate of how long a run takes, before any fit.

    seconds of a fit = start + cells * (a + b * min(rows, columns) + c * rows)
    seconds of a run = START + sum over models of (folds * fits of a round + LAST) * a fit / jobs

`SPEED` holds start, a, b and c of each model, measured on one core of a machine of 2025 on seven
tables of 120 x 4 to 39,000 x 15. The number of columns is the one that the model sees: a categorical
column counts once for a model that splits sets of levels, otherwise once per level. On an idle machine
of that kind, runs took between half and twice the estimate, so the estimate is shown as a range; the
load of other programs extends its upper end. Invariant: the estimated work of a model depends only on
the table and the plan, never on the machine, so limits on it (`limits`) have the same effect everywhere.
"""

from __future__ import annotations

import os
from math import ceil, floor

from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.registry import words_read
from pellucid.parallel import get_threads

START = 2.5  # the first process, the final fit, the report
LAST = 4.0  # the final round also describes the model, so it counts as several fits
DESCRIPTION = 0.1  # seconds that describing a model takes at least
SPEED = {  # of one fit: milliseconds, then nanoseconds, picoseconds and picoseconds per cell
    "adaboost": (40, 1000, 0, 0), "bagging": (25, 2200, 0, 0), "bayesian_ridge": (15, 90, 400, 0),
    "blend": (10, 30, 0, 0),
    "elastic_net": (8, 25, 100, 0), "extra_trees": (20, 3500, 0, 0), "forest": (12, 2600, 0, 0),
    "gamma": (10, 80, 250, 0), "gradient_boosting": (25, 300, 0, 0), "knn": (4, 40, 0, 12),
    "lasso": (7, 30, 140, 0), "lda": (5, 10, 280, 0), "logistic": (7, 30, 90, 0),
    "logistic_l1": (25, 150, 0, 0), "majority": (15, 30, 0, 0), "mean": (15, 30, 0, 0),
    "mlp": (50, 1000, 0, 0), "multinomial_nb": (5, 30, 0, 0), "naive_bayes": (8, 40, 0, 0),
    "ols": (60, 50, 100, 0), "perceptron": (10, 25, 15, 0), "poisson": (10, 80, 300, 0),
    "qda": (5, 10, 280, 0), "ridge": (6, 35, 130, 0), "ridge_classifier": (25, 15, 60, 0),
    "ridge_log": (8, 40, 130, 0),
    "sgd": (14, 40, 0, 0), "svm_linear": (12, 80, 0, 0), "svm_rbf": (8, 120, 0, 6),
    "tree": (5, 140, 0, 0),
}  # fmt: skip
# Where regression is slower.
REGRESSION_SPEED = {"svm_linear": (45, 700, 0, 0), "knn": (5, 40, 0, 30)}
ROUNDS = 150  # typical number of rounds with early stopping
TREES = {"bagging": 20}  # number of trees in the fits above; 50 for the others
# Name, seconds, smallest upper end of a range.
UNITS = (("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 0.0))
WORDS = 1000  # number of columns that a text column counts as
FASTER, SLOWER = 0.6, 1.8  # the range that is shown
BUSY = 2.0  # processes per CPU above which the machine is called busy


def seconds(plan: Plan, load: float | None = None) -> tuple[float, float]:
    """Lower and upper estimate for the run; `load` as in `processes_per_cpu`."""
    jobs = _jobs(plan)
    middle = START + sum(by_model(plan).values()) / jobs
    most = float("inf") if plan.settings.time_limit is None else plan.settings.time_limit
    return min(FASTER * middle, most), min(SLOWER * processes_per_cpu(jobs, load) * middle, most)


def by_model(plan: Plan) -> dict[str, float]:
    """Seconds of all rounds of each model."""
    each = fit_seconds(plan)
    return {
        c.id: min(
            (len(plan.folds) * plan.work_of_round(c, c.n_planned) + LAST) * each[c.id]
            + DESCRIPTION,
            plan.model_timeout,
        )
        for c in plan.running
    }


def fit_seconds(plan: Plan) -> dict[str, float]:
    """Seconds of one fit of each model, on the machine that was measured."""
    dataset, kinds = plan.dataset, list(plan.dataset.kinds.values())
    categorical = [name for name, kind in dataset.kinds.items() if kind == "categorical"]
    levels = sum(len(dataset.table.column(name).unique()) for name in categorical)
    text = kinds.count("text")
    encoded = len(kinds) - len(categorical) - text + levels  # without text
    found = {}
    for contender in plan.running:
        model = contender.make()
        words = min(words_read(type(model)), WORDS) * text
        # Baselines, trees and counts of levels use columns without one-hot encoding.
        whole = contender.rank in (0, 2, 5) or getattr(model, "_layout", "matrix") == "codes"
        found[contender.id] = fit(plan, contender, len(kinds) if whole else encoded + int(words))
    return found


def affordable(plan: Plan, contender: Contender, each: float, seconds: float) -> int:
    """How many candidates each round of a model can try if all rounds have `seconds` in total.

    One fit takes `each` seconds. 1 means the middle candidate without a search, 0 not even that.
    """
    full = len(contender.candidates)
    fits = ((seconds - DESCRIPTION) / each - LAST) / len(plan.folds)
    if fits < 1:
        return 0
    possible = [m for m in range(1, full + 1) if plan.work_of_round(contender, m) <= fits]
    return max(possible, default=1)


def cheap_first(plan: Plan) -> list[Contender]:
    """The baseline, then the other models by estimated time, then the user's own models, then the
    blend."""
    seconds_of = by_model(plan)
    order = {c.id: (c.rank > 0, c.blends, c.entry is None, seconds_of[c.id]) for c in plan.running}
    return sorted(plan.running, key=lambda c: order[c.id])


def fit(plan: Plan, contender: Contender, columns: int) -> float:
    """Seconds of one fit."""
    cost = contender.cost
    found = SPEED.get(contender.id, (6 * cost, 200 * cost, 0, 0))
    if plan.dataset.classes is None:
        found = REGRESSION_SPEED.get(contender.id, found)
    start, cell, narrower, longer = found
    rows = len(plan.train)
    each = cell * 1e-9 + 1e-12 * (narrower * min(rows, columns) + longer * rows)
    seconds = start * 1e-3 + each * rows * columns
    if contender.rank != 5 or not contender.candidates:
        return seconds
    first, measured = contender.candidates[0], TREES.get(contender.id, 50)
    rounds = ROUNDS if contender.entry is not None and contender.entry.rounds else measured
    trees = first.get("n_estimators", rounds)
    return trees / measured * seconds


def _jobs(plan: Plan) -> int:
    return min(plan.settings.jobs or get_threads(), max(1, len(plan.folds) * len(plan.running)))


def processes_per_cpu(jobs: int, load: float | None = None) -> float:
    """Number of processes per CPU, at least 1; `load` is the current number of other processes."""
    if load is None:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1.0, (jobs + load) / (os.cpu_count() or 1))


def describe_estimate(plan: Plan) -> str:
    """`estimated 1-3 min`, rounded down and up to a suitable unit."""
    low, high = seconds(plan)
    unit, size = next((u, s) for u, s, least in UNITS if high >= least)
    few, many = floor(low / size), ceil(high / size)
    text = f"{few} {unit}" if few == many else f"{few}-{many} {unit}"
    if few == 0:
        text = f"up to {many} {unit}"
    return f"estimated {text}" + (
        " on this busy machine" if processes_per_cpu(_jobs(plan)) > BUSY else ""
    )
