"""Numbers and names in the texts of a tree: as short as possible without being wrong.

Invariant: along a path no two different thresholds of a column look the same, and only 0 is shown as
0; a name is one line, and a level with commas or braces is quoted.
"""

import json
from collections.abc import Iterable

import numpy as np

from pellucid.tree.nodes import Nodes

MOST_DIGITS = 17  # enough for every double
LAST_DAY = 10_000_000  # days since 1970 that are shown as a date
UNCLEAR = set(",{}\"'")  # characters that need quotes in a list of levels


def enough_digits(
    numbers: Iterable[float], pairs: Iterable[tuple[float, float]], places: int
) -> str:
    """The format with `places` decimals if the pairs look different and no number but 0 becomes 0,
    otherwise with as many significant digits as necessary."""
    numbers, pairs = set(numbers), {pair for pair in pairs if pair[0] != pair[1]}

    def fits(form: str) -> bool:
        zeros = any(float(format(x, form)) == 0.0 and x != 0.0 for x in numbers)
        return not zeros and all(format(a, form) != format(b, form) for a, b in pairs)

    forms = [f".{places}f", *(f".{k}g" for k in range(max(places, 1), MOST_DIGITS))]
    return next((form for form in forms if fits(form)), f".{MOST_DIGITS}g")


def threshold_forms(nodes: Nodes, max_depth: float, places: int) -> dict[int, str]:
    """The format of each column's thresholds; branches below `max_depth` are not shown."""
    numbers: dict[int, set[float]] = {}
    pairs: dict[int, set[tuple[float, float]]] = {}
    waiting: list[tuple[int, int, dict[int, tuple[float, ...]]]] = [(0, 0, {})]
    while waiting:
        i, depth, above = waiting.pop()
        f = int(nodes.feature[i])
        if f < 0 or depth > max_depth:
            continue
        if not nodes.has_set[i] and np.isfinite(nodes.threshold[i]):
            own = float(nodes.threshold[i])
            numbers.setdefault(f, set()).add(own)
            pairs.setdefault(f, set()).update((own, other) for other in above.get(f, ()))
            above = above | {f: (*above.get(f, ()), own)}
        waiting += [(int(child), depth + 1, above) for child in (nodes.left[i], nodes.right[i])]
    return {f: enough_digits(found, pairs[f], places) for f, found in numbers.items()}


def value_form(nodes: Nodes, places: int) -> str:
    """The format of predicted numbers, in which two leaves of one node look different."""
    inner = np.flatnonzero(nodes.feature >= 0)
    left, right = nodes.left[inner], nodes.right[inner]
    leaves = (nodes.feature[left] < 0) & (nodes.feature[right] < 0)
    value = nodes.value
    sides = value[left[leaves]].ravel().tolist(), value[right[leaves]].ravel().tolist()
    return enough_digits(value.ravel().tolist(), zip(*sides, strict=True), places)


def date(days: float) -> str:
    """Days since 1970 as a date, with the time of day unless that is midnight."""
    if not abs(days) < LAST_DAY:
        return f"day {days:.{MOST_DIGITS}g}"
    text = str(np.datetime64(round(days * 86_400_000_000), "us")).replace("T", " ")
    for zeros in (".000000", "000", ":00", " 00:00"):
        text = text.removesuffix(zeros)
    return text


def one_line(name: object) -> str:
    """A name with its control characters escaped."""
    text = str(name)
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def level(name: object) -> str:
    """A level in a list of levels, quoted if the list would be ambiguous otherwise."""
    text = str(name)
    if text and text == text.strip() and text.isprintable() and not UNCLEAR & set(text):
        return text
    return one_line(json.dumps(text, ensure_ascii=False))
