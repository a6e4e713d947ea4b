"""What training a kernel machine costs, said before it starts.

Invariant: an estimate, never a limit: the fit goes on. Beyond `PATIENCE` seconds a warning names the
substitute, `Nystroem` followed by a linear machine, whose cost grows with the rows and not with
their square.
"""

from dataclasses import dataclass

from pellucid.errors import PellucidWarning, warn

PATIENCE = 120.0  # seconds that need no word
# Seconds on one thread, from fits of 10,000 and 30,000 rows in 20 columns.
PER_VALUE = 4e-9  # per kernel value, besides the products
PER_PRODUCT = 0.12e-9  # per column of a product
SUPPORT = 0.3  # share of rows that are assumed to become support vectors
PASSES = 1.5  # times that a kernel row is computed, when the store is too small


@dataclass(frozen=True)
class Cost:
    """Kernel values, seconds on one thread, and megabytes that a fit is expected to take."""

    values: float
    seconds: float
    megabytes: float


def estimate(n: int, p: int, cache_size: float, matrices: float = 1.0) -> Cost:
    """Expected cost of one machine on n rows and p columns, times `matrices`.

    >>> estimate(30_000, 20, 200).values
    405000000.0
    """
    fits = SUPPORT * n * n * 4 <= cache_size * 2**20
    values = matrices * SUPPORT * n * n * (1.0 if fits else PASSES)
    megabytes = min(cache_size, n * n * 4 / 2**20) + n * p * 8 / 2**20
    return Cost(values, values * (PER_VALUE + p * PER_PRODUCT), megabytes)


def preview(owner: str, n: int, p: int, cache_size: float, matrices: float = 1.0) -> None:
    """Warn before a fit that is expected to take longer than `PATIENCE`."""
    expected = estimate(n, p, cache_size, matrices)
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
