"""Estimate of the time and memory that a kernel SVM needs, before the fit starts.

Invariant: it is an estimate, never a limit: the fit continues. Beyond `PATIENCE` seconds a warning
names the alternative, `Nystroem` followed by a linear model, whose cost is linear in the number of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pellucid.errors import PellucidWarning, warn

PATIENCE = 120.0  # seconds without a warning
# Seconds on one thread, from fits of 10,000 and 30,000 rows in 20 columns.
PER_VALUE = 4e-9  # per kernel value, without the products
PER_PRODUCT = 0.12e-9  # per column of a product
PER_STEP = 1.2e-6
SETS, MOVED = 400, 150  # steps in a working set, and rows that move in it
USUAL, WORST = (0.3, 1.0), (1.0, 100.0)  # support vectors and steps per row
PILOT = 4000  # rows of a pilot fit that measures both, if the worst case would take long


@dataclass(frozen=True)
class Cost:
    """Expected number of kernel values, seconds on one thread, and megabytes of a fit."""

    values: float
    seconds: float
    megabytes: float


def estimate(
    n: int, p: int, cache_size: float, matrices: float = 1.0, per_row: tuple[float, float] = USUAL
) -> Cost:
    """Expected cost of one binary problem on n rows and p columns, times `matrices`.

    `per_row`: support vectors and steps per row. The kernel row of each support vector is computed once,
    and again if it is needed after it has left the cache.

    >>> round(estimate(10_000, 20, 200).values), round(estimate(30_000, 20, 200).values)
    (30000000, 324392800)
    """
    share, steps = per_row
    carried, moves = share * n, steps * n / SETS * MOVED
    kept = min(1.0, cache_size * 2**20 / (4.0 * n) / carried)
    values = matrices * n * (carried + max(moves - carried, 0.0) * (1.0 - kept))
    seconds = values * (PER_VALUE + p * PER_PRODUCT) + matrices * steps * n * PER_STEP
    return Cost(values, seconds, min(cache_size, n * n * 4 / 2**20) + n * p * 8 / 2**20)


def preview(
    owner: str, n: int, p: int, cache_size: float, matrices: float,
    pilot: Callable[[], tuple[float, float]],
) -> None:  # fmt: skip
    """Warn before a fit that is expected to take longer than `PATIENCE` seconds.

    A pilot fit measures support vectors and steps per row, unless even the worst case is fast.
    """
    if estimate(n, p, cache_size, matrices, WORST).seconds <= PATIENCE:
        return
    per_row = pilot() if n > 2 * PILOT else USUAL
    expected = estimate(n, p, cache_size, matrices, per_row)
    if expected.seconds <= PATIENCE:
        return
    other = "A sample of 20,000 rows takes seconds and gives nearly the same result"
    if owner != "OneClassSVM":
        linear = "LinearSVR" if owner == "SVR" else "LinearSVC"
        other = (
            f"Nystroem(n_components=300) followed by {linear} takes seconds and is nearly as good"
        )
    warn(
        f"{owner} on {n:,} rows needs about {expected.values:.0e} kernel values: about "
        f"{expected.seconds / 60:.0f} minutes and {expected.megabytes:.0f} MB. {other}; max_time sets a "
        "limit, and Ctrl-C stops the fit.",
        PellucidWarning,
    )
