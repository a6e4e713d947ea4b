"""What training a kernel machine costs, said before it starts.

Invariant: an estimate, never a limit: the fit goes on. Beyond `PATIENCE` seconds a warning names the
substitute, `Nystroem` followed by a linear machine, whose cost grows with the rows and not with
their square.
"""

from dataclasses import dataclass

from pellucid.errors import PellucidWarning, warn

PATIENCE = 120.0  # seconds that need no word
PER_VALUE = 1.5e-9  # seconds per kernel value and thread, besides the products
PER_PRODUCT = 0.06e-9  # seconds per column of a product
SUPPORT = 0.3  # share of rows that are assumed to become support vectors
PASSES = 1.5  # times that a kernel row is computed, when the store is too small


@dataclass(frozen=True)
class Cost:
    """Kernel values, seconds on one thread, and megabytes that a fit is expected to take."""

    values: float
    seconds: float
    megabytes: float


def estimate(n: int, p: int, cache_size: float) -> Cost:
    """Expected cost of one machine on n rows and p columns.

    >>> estimate(30_000, 20, 200).values
    405000000.0
    """
    fits = SUPPORT * n * n * 4 <= cache_size * 2**20
    values = SUPPORT * n * n * (1.0 if fits else PASSES)
    megabytes = min(cache_size, n * n * 4 / 2**20) + n * p * 8 / 2**20
    return Cost(values, values * (PER_VALUE + p * PER_PRODUCT), megabytes)


def preview(owner: str, n: int, p: int, cache_size: float) -> None:
    """Warn before a fit that is expected to take longer than `PATIENCE`."""
    expected = estimate(n, p, cache_size)
    if expected.seconds <= PATIENCE:
        return
    substitute = {"SVR": "LinearSVR", "OneClassSVM": "SGDOneClassSVM"}.get(owner, "LinearSVC")
    other = (
        f"Nystroem(n_components=300) followed by {substitute} takes seconds and is close to it"
        if owner != "OneClassSVM"
        else "A sample of 20,000 rows takes seconds and is close to it"
    )
    warn(
        f"{owner} on {n:,} rows computes about {expected.values:.0e} kernel values: about "
        f"{expected.seconds / 60:.0f} minutes and {expected.megabytes:.0f} MB. It starts now; Ctrl-C "
        f"stops it. {other}; max_time= sets a limit.",
        PellucidWarning,
    )
