"""Numbers as people read them: enough significant digits, never more, short in files.

Invariant: equal numbers give equal text, and nothing here depends on a locale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real

_UNITS = ((12, "T"), (9, "G"), (6, "M"), (3, "k"))
LARGEST_PLAIN = 7  # powers of ten from here on are written with an exponent
SMALLEST_PLAIN = -4


def coordinate(value: float) -> str:
    """A position in a drawing: one decimal, no superfluous characters."""
    text = f"{value:.1f}"
    return "0" if text == "-0.0" else text.removesuffix(".0")


def exponent(value: float, digits: int = 17) -> int:
    """Power of ten of the first digit after rounding to `digits` significant digits."""
    return int(f"{abs(value):.{digits - 1}e}".split("e")[1])


def number(value: object, digits: int = 4) -> str:
    """One number with `digits` significant digits and no trailing zeros.

    >>> [number(x) for x in (0.1 + 0.2, 1234.56, 1e-7, 3, float("nan"))]
    ['0.3', '1235', '1e-7', '3', 'nan']
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return "" if value is None else str(value)
    if isinstance(value, Integral) and abs(int(value)) < 10**15:
        return str(int(value))
    v = float(value)
    if v == 0 or not math.isfinite(v):
        return "0" if v == 0 else str(v)
    power = exponent(v, digits)
    if SMALLEST_PLAIN <= power < LARGEST_PLAIN:
        return _strip(f"{v:.{max(0, digits - 1 - power)}f}")
    mantissa = _strip(f"{v:.{digits - 1}e}".split("e")[0])
    return f"{mantissa}e{power}"


def _strip(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def column(values: Sequence[object], digits: int = 4) -> list[str]:
    """A column of a table: numbers share their decimals, so that the decimal points are aligned.

    Numbers too small or too large for the shared decimals get an exponent of their own.

    >>> column([0.5, 12.25, 1e-9, None, "x"])
    ['0.50', '12.25', '1e-9', '', 'x']
    """
    plain = [v for v in map(_plain, values) if v is not None]
    decimals = _shared_decimals(plain, digits)
    return [_in_column(value, decimals, digits) for value in values]


def beside_marks(values: Sequence[object], digits: int = 3) -> list[str]:
    """Numbers beside bars and dots: all with the decimals that `digits` of the largest need.

    >>> beside_marks([1.8896, -0.0159, float("nan")])
    ['1.89', '-0.02', 'nan']
    >>> beside_marks([0.33, 2.2e-17])
    ['0.33', '0.00']
    """
    values = _without_noise(values)
    known = [v for v in map(_plain, values) if v is not None]
    finite = [v for v in values if isinstance(v, float) and math.isfinite(v)]
    powers = [exponent(v, digits) for v in known if v != 0]
    if not powers or len(known) < len(finite):  # some need an exponent: each as it is
        return column(values, digits)
    most = max(0, digits - 1 - max(powers))
    decimals = max(len(_decimals_of(v, most)) for v in known)
    return [
        str(v) if not math.isfinite(v) else f"{round(v, decimals) + 0.0:.{decimals}f}"
        for v in map(float, values)  # type: ignore[arg-type]
    ]


def _without_noise(values: Sequence[object]) -> list[object]:
    """Floats that are only the rounding of sums of the others are 0."""
    floats = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    least = 1e-13 * max(floats, default=0.0)
    return [0.0 if isinstance(v, float) and abs(v) < least else v for v in values]


def _in_column(value: object, decimals: int, digits: int) -> str:
    v = _plain(value)
    if v is not None and _shown_well(v, decimals):
        return f"{v + 0.0:.{decimals}f}"  # without the sign of a negative zero
    return number(value, digits)


def _plain(value: object) -> float | None:
    """The value if it is a float that needs no exponent."""
    if isinstance(value, (bool, Integral)) or not isinstance(value, Real):
        return None
    v = float(value)
    plain = math.isfinite(v) and (v == 0 or SMALLEST_PLAIN <= exponent(v) < LARGEST_PLAIN)
    return v if plain else None


def _shared_decimals(values: list[float], digits: int) -> int:
    powers = [exponent(v) for v in values if v != 0]
    if not powers:
        return 0
    for_largest = max(0, digits - 1 - max(powers))
    decimals = min(digits - 1 - min(powers), for_largest + 2)
    return max(len(_decimals_of(v, max(0, decimals))) for v in values)


def _decimals_of(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.split(".")[1].rstrip("0") if "." in text else ""


def _shown_well(v: float, decimals: int) -> bool:
    """At least two significant digits survive, or the shared decimals show the number exactly."""
    return v == 0 or exponent(v) - 1 >= -decimals or float(f"{v:.{decimals}f}") == v


def tick_labels(ticks: Sequence[float]) -> tuple[list[str], str]:
    """Labels of equally spaced ticks, all different, and a note such as `(+ 100000000)`.

    The note is the offset to be added when the ticks differ only far behind their first digit.

    >>> tick_labels([0.0, 0.5, 1.0])
    (['0.0', '0.5', '1.0'], '')
    >>> tick_labels([20000.0, 25000.0])
    (['20k', '25k'], '')
    """
    if not ticks:
        return [], ""
    exact = [Decimal(repr(float(t))) for t in ticks]
    last = min(_last_digit(t) for t in exact)
    first = max((t.adjusted() for t in exact if t), default=0)
    if first - last >= 7 and len(ticks) > 1:
        labels, _ = tick_labels([float(t - exact[0]) for t in exact])
        return [f"+{label}" for label in labels], f"(+ {exact[0]:f})".replace(".0)", ")")
    return [_tick(t, first, last) for t in exact], ""


def _last_digit(value: Decimal) -> int:
    """Power of ten of the last digit that is not zero."""
    power = value.normalize().as_tuple().exponent
    return power if value and isinstance(power, int) else 10**6


def _tick(value: Decimal, first: int, last: int) -> str:
    plain = -3 <= first < 4 and last >= -6
    if not value:
        return f"{0:.{max(0, -last)}f}" if plain else "0"
    if plain:
        return f"{value:.{max(0, -last)}f}"
    for power, unit in _UNITS:
        if power <= first < 15 and last >= power - 4:
            return f"{value.scaleb(-power):.{max(0, power - last)}f}{unit}"
    mantissa = value.scaleb(-value.adjusted())
    return f"{mantissa.normalize():f}e{value.adjusted()}"
