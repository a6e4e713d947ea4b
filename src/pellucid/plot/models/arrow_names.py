"""Places for the names of arrows: beside their tips, off the other names and arrows."""

from __future__ import annotations

import numpy as np

from pellucid.draw import label_text as words

SIZE = np.array([430.0, 340.0])  # of the plot in pixels, about
LONGEST = 14.0  # em
FONT = 12.0


def names_beside(
    ends: np.ndarray, names: list[str], limits: list[tuple[float, float]]
) -> tuple[np.ndarray, np.ndarray]:
    """The middle (n, 2) of each name in the units of the data, and whether no name before covers it.

    Arrows start at 0. Each name takes the place around its tip that covers the fewest points of
    arrows and other names.
    """
    low, high = np.array(limits).T
    unit = SIZE / (high - low)
    tips, origin = (ends - low) * unit, -low * unit
    along = np.linspace(0.0, 1.0, 30)[:, None]
    lines = np.vstack([origin + along * (tip - origin) for tip in tips])
    taken = [(point, np.zeros(2)) for point in lines]
    placed, free = np.empty_like(tips), np.ones(len(tips), dtype=bool)
    for k, (tip, name) in enumerate(zip(tips, names)):
        half = np.array([words.width(words.fit(words.clean(name), LONGEST)) * FONT / 2 * 1.12, 8.0])
        middle = min(
            _candidates(tip, half), key=lambda place: _cost(place, half, tip, origin, taken)
        )
        placed[k] = middle
        free[k] = not any(size.any() and _covers(middle, half, at, size) for at, size in taken)
        if free[k]:
            taken += [(middle, half)] * 10  # names weigh more than arrows
    return placed / unit + low, free


def _covers(middle: np.ndarray, half: np.ndarray, at: np.ndarray, size: np.ndarray) -> bool:
    return bool((np.abs(middle - at) < half + size).all())


def _candidates(tip: np.ndarray, half: np.ndarray) -> list[np.ndarray]:
    steps = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
    reach = half + 4
    return [tip + reach * np.array(step) for step in steps]


def _cost(
    middle: np.ndarray, half: np.ndarray, tip: np.ndarray, origin: np.ndarray, taken: list
) -> tuple[int, float]:
    """How much a place covers or leaves the plot; then how far it is from the arrow's direction."""
    covered = sum(_covers(middle, half, at, size) for at, size in taken)
    outside = bool(((middle - half < 0) | (middle + half > SIZE)).any())
    away = tip - origin
    turn = -float((middle - tip) @ away) / max(
        float(np.hypot(*away) * np.hypot(*(middle - tip))), 1e-9
    )
    return covered + 100 * outside, turn
