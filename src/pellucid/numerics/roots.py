"""Where increasing functions pass 0, many at once.

Invariant: the root lies between two points whose values differ in sign, and these only come closer.
"""

from collections.abc import Callable

import numpy as np

STEPS = 1100  # doublings from the smallest to the largest float, and more than halvings back

Function = Callable[[np.ndarray], np.ndarray]


def root_of_increasing(f: Function, low: np.ndarray, high: np.ndarray, close: float) -> np.ndarray:
    """x (n,) with f(x) = 0, to `close`, for f that works on each entry alone and does not fall.

    1. Intervals [low, high] that do not hold a root are moved, each time twice as wide.
    2. Inverse quadratic interpolation where three values admit it, else halving (Chandrupatla).
    """
    a, fa, b, fb = _around(f, low, high)
    c, fc, t = b, fb, np.full_like(a, 0.5)
    for _ in range(STEPS):
        x = a + t * (b - a)
        fx = f(x)
        same = (fx < 0) == (fa < 0)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        limit = close / np.maximum(np.abs(b - a), close)
        if np.all((limit > 0.5) | (fa == 0)):
            break
        t = np.clip(_interpolated(a, fa, b, fb, c, fc), 0.5 * limit, 1 - 0.5 * limit)
    return np.where(np.abs(fa) <= np.abs(fb), a, b)


def _around(f: Function, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    f_low, f_high = f(low), f(high)
    for _ in range(STEPS):
        above, below = f_low >= 0, f_high < 0
        if not (above.any() or below.any()):
            break
        width = 2 * (high - low)
        low, high = (
            np.where(above, low - width, np.where(below, high, low)),
            np.where(above, low, np.where(below, high + width, high)),
        )
        f_low, f_high = f(low), f(high)
    return low, f_low, high, f_high


def _interpolated(a: np.ndarray, fa: np.ndarray, b: np.ndarray, fb: np.ndarray, c: np.ndarray,
                  fc: np.ndarray) -> np.ndarray:  # fmt: skip
    """Share of the way from a to b; one half where the parabola through three points cannot be used."""
    with np.errstate(all="ignore"):
        place, height = (a - b) / (c - b), (fa - fb) / (fc - fb)
        guided = (height**2 < place) & ((1 - height) ** 2 < 1 - place)
        t = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    return np.where(guided & np.isfinite(t), t, 0.5)
