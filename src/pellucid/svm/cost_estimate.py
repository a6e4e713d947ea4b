"""What training a kernel machine costs, said before it starts.

Invariant: an estimate, never a limit: the fit goes on. Beyond `PATIENCE` seconds a warning names the
substitute, `Nystroem` followed by a linear machine, whose cost grows with the rows and not with
their square.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pellucid.errors import PellucidWarning, warn

PATIENCE = 120.0  # seconds that need no word
# Seconds on one thread, from fits of 10,000 and 30,000 rows in 20 columns.
PER_VALUE = 4e-9  # per kernel value, besides the products
PER_PRODUCT = 0.12e-9  # per column of a product
PER_STEP = 1.2e-6
SETS, MOVED = 400, 150  # steps inside a working set, and rows that move in it
USUAL, WORST = (0.3, 1.0), (1.0, 100.0)  # support vectors and steps per row
PILOT = 4000  # rows of a trial fit that says how many they are, where the worst would take long


@dataclass(frozen=True)
class Cost:
    """Kernel values, seconds on one thread, and megabytes that a fit is expected to take."""

    values: float
    seconds: float
    megabytes: float


def estimate(
    n: int, p: int, cache_size: float, matrices: float = 1.0, pace: tuple[float, float] = USUAL
) -> Cost:
    """Expected cost of one machine on n rows and p columns, times `matrices`.

    `pace`: support vectors and steps per row. Each support vector's kernel row is computed once, and
    again when it moves after it has left the store.

    >>> round(estimate(10_000, 20, 200).values), round(estimate(30_000, 20, 200).values)
    (30000000, 324392800)
    """
    share, steps = pace
    carried, moves = share * n, steps * n / SETS * MOVED
    kept = min(1.0, cache_size * 2**20 / (4.0 * n) / carried)
    values = matrices * n * (carried + max(moves - carried, 0.0) * (1.0 - kept))
    seconds = values * (PER_VALUE + p * PER_PRODUCT) + matrices * steps * n * PER_STEP
    return Cost(values, seconds, min(cache_size, n * n * 4 / 2**20) + n * p * 8 / 2**20)


def preview(
    owner: str, n: int, p: int, cache_size: float, matrices: float,
    pilot: Callable[[], tuple[float, float]],
) -> None:  # fmt: skip
    """Warn before a fit that is expected to take longer than `PATIENCE`; a trial fit says what pace to
    expect, unless no pace would take so long.
    """
    if estimate(n, p, cache_size, matrices, WORST).seconds <= PATIENCE:
        return
    pace = pilot() if n > 2 * PILOT else USUAL
    expected = estimate(n, p, cache_size, matrices, pace)
    if expected.seconds <= PATIENCE:
        return
    other = "A sample of 20,000 rows takes seconds and is close to it"
    if owner != "OneClassSVM":
        linear = "LinearSVR" if owner == "SVR" else "LinearSVC"
        other = f"Nystroem(n_components=300) followed by {linear} takes seconds and is close to it"
    warn(
        f"{owner} on {n:,} rows computes about {expected.values:.0e} kernel values: about "
        f"{expected.seconds / 60:.0f} minutes and {expected.megabytes:.0f} MB. It starts now; Ctrl-C "
        f"stops it. {other}; max_time= sets a limit.",
        PellucidWarning,
    )
