"""Checks of rows: row IDs, copies of other rows, several rows of the same unit.

A numeric column with unique values is not a row ID for that reason alone: it also needs the name of an
ID, or values that number the rows of the file, with or without gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from pellucid.comparison.checks.findings import Facts, Finding, on_columns, option, short
from pellucid.comparison.checks.time_checks import TIME_WORD, is_time
from pellucid.comparison.checks.univariate import codes_of
from pellucid.data.raw_column import RawColumn

MIN_IDS, UNIQUE = 20, 0.95
# Share of the integers in the range of a row ID that occur.
IN_ORDER, SHUFFLED, MIN_SHUFFLED = 0.2, 0.5, 50
FEW_REPEATED = 0.01  # share of the rows; fewer copies cannot inflate a score much
BY_CHANCE = 0.1  # copies expected for independent columns, per copy found
NEAR_MISSES, MAX_LEFT_OUT = 0.1, 30  # per pair of copies and column; columns that are tried
_KINDS = (
    "h|hh|f|p|s|u|account|case|client|customer|device|employee|family|firm|household|item|member"
    "|order|patient|person|player|product|record|school|shop|store|stud|student|subject|team|town|user"
)
ID_NAME = re.compile(
    rf"(^|[_ .-])(({_KINDS})?id|uuid|guid|key|index|idx|no|nr|number|num)$|^(id|uuid|guid)[_ .-]",
    re.I,
)
CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
ROW_NAME = re.compile(
    r"(|unnamed: ?\d+|\.{3}1|level_0|__index_level_0__|row_?(names?|nums?|numbers?|ids?)?"
    r"|(obs|seq|case|record|serial|subj?|subject|patient)_?(no|nr|nums?|id)?|id_?(no|nr|num))",
    re.I,
)
UNIT_NAME = re.compile(
    rf"(^|[_ .-])(({_KINDS})?id|uuid|guid|subject|patient|person|individual|participant|respondent)"
    r"([_ .-]?(no|nr|num|number|id))?$",
    re.I,
)
MEASURED = re.compile(r"zip|post.?code|postal|income|price|salary|population|\bage\b", re.I)
OCCASION = re.compile(r"(^|[_ .-])(wave|period|visit|occasion|round|session|age)$", re.I)
# Number of units; mean number of rows per unit.
MIN_UNITS, MIN_ROWS_PER_UNIT, MAX_ROWS_PER_UNIT = 10, 1.5, 100.0
SIMILAR, MOSTLY_SIMILAR = 0.5, 0.75  # adjusted share of the variance between units
MAX_ROWS, MAX_COLUMNS = 20_000, 60


def identifiers(facts: Facts) -> Iterator[Finding]:
    """D005"""
    first = next(iter(facts.dataset.columns), "")
    names = [name for name, column in facts.raw.items() if is_row_id(name, column, name == first)]
    if len(names) == len(facts.raw):  # some feature must be left
        names = [name for name in names if facts.raw[name].kind != "number" or _named(name)]
    if names:
        verbs = "looks like a row ID,/look like row IDs,"
        action = f"confirm with {option('--id', names[0])}, keep with --ignore D005"
        yield from on_columns("D005", "warning", names, verbs, "excluded", action, exclude=True)


def is_row_id(name: str, column: RawColumn, first: bool = False) -> bool:
    """Whether a column only identifies the rows; `first`: whether it is the first column."""
    values = column.values[column.present()]
    n = len(values)
    if n < MIN_IDS or column.kind in ("text", "datetime") or is_time(name, column):
        return False
    distinct = len(np.unique(values))
    if column.kind == "categorical" or distinct < UNIQUE * n:
        return distinct >= UNIQUE * n
    if not (values == np.floor(values)).all():
        return False
    if _named(name):
        return True
    measured = MEASURED.search(name) or TIME_WORD.search(name)
    return distinct == n and not measured and _counts_rows(values, first)


def _named(name: str) -> bool:
    return bool(ID_NAME.search(name) or CAMEL_ID.search(name) or ROW_NAME.fullmatch(name))


def _counts_rows(values: np.ndarray, first: bool) -> bool:
    """Whether unique integers have few gaps, like the row numbers of a subset of a table.

    Any order is accepted only in the first column, because ranks look the same.
    """
    steps = np.diff(values)
    filled = len(values) / (values.max() - values.min() + 1)
    if (steps > 0).all() or (steps < 0).all():
        return bool(filled >= IN_ORDER)
    return bool(first and len(values) >= MIN_SHUFFLED and filled >= SHUFFLED)


def repeated_rows(columns: Mapping[str, RawColumn], y: np.ndarray) -> int:
    """Number of rows that equal an earlier row in all columns and the target; exact for any width.

    Hashes find the rows that may have a copy; only these are compared value by value.
    """
    keys = _keys(columns, y)
    groups, counts = np.unique(_hash(keys), return_inverse=True, return_counts=True)[1:]
    rows = np.flatnonzero(counts[groups] > 1)
    groups = groups[rows]
    for key in keys if len(rows) else ():
        codes = np.unique(key[rows], return_inverse=True)[1]
        # Both factors are below the number of rows, so the product cannot overflow.
        groups = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)[1]
    return len(rows) - len(np.unique(groups))


def _keys(columns: Mapping[str, RawColumn], y: np.ndarray) -> list[np.ndarray]:
    """Bits of the columns and the target, equal if the values are: with one zero and one NaN."""
    numbers = [
        c.values if c.kind in ("number", "datetime") else codes_of(c) for c in columns.values()
    ]
    keys = [values.astype(np.float64) + 0.0 for values in (*numbers, y)]
    for key in keys:
        key[np.isnan(key)] = np.nan
    return [key.view(np.uint64) for key in keys]


def _hash(keys: list[np.ndarray]) -> np.ndarray:
    """One number per row: the sum of the hashes of its columns."""
    total = np.zeros(len(keys[0]), dtype=np.uint64)
    for j, key in enumerate(keys):
        total += _scrambled(key, j)
    return total


def _scrambled(key: np.ndarray, j: int) -> np.ndarray:
    """The hash of one column (the steps of SplitMix64); the function differs between columns."""
    x = key + np.uint64((j + 1) * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def duplicates(facts: Facts) -> Iterator[Finding]:
    """D006"""
    n_rows, extra = len(facts.dataset.y), facts.repeated
    if not extra or _few_combinations(facts):
        return
    what = f"{extra} of {n_rows} rows repeat{'s' if extra == 1 else ''} another row"
    if extra < FEW_REPEATED * n_rows:
        yield Finding("D006", "note", f"{what}: too few to inflate the scores")
    elif _near_misses(facts) > NEAR_MISSES:
        yield Finding(
            "D006", "note", f"{what}, as happens by chance in columns with few different values"
        )
    else:
        text = (
            f"{what}: the same row can be in the training and test set, which inflates the scores"
        )
        yield Finding("D006", "warning", text, "remove copies, or keep them together with --group")


def _few_combinations(facts: Facts) -> bool:
    """Whether independent columns with these values would repeat rows too; never if there is text."""
    if any(column.kind == "text" for column in facts.raw.values()):
        return False
    n = len(facts.dataset.y)
    values = [codes_of(column, 10**9) for column in facts.raw.values()]
    counts = [np.unique(v, return_counts=True)[1] for v in (*values, facts.dataset.y)]
    pairs = 2 * np.log(n) - np.log(2) + sum(np.log(np.sum((c / n) ** 2)) for c in counts)
    return len(values) < 2 or pairs >= np.log(BY_CHANCE * facts.repeated)


def _near_misses(facts: Facts) -> float:
    """Number of pairs of rows that differ in one column only, per pair of copies and column.

    Rows that are equal by chance have many neighbours that differ in one column; true copies have none.
    The column with the most near misses does not count: it may be the only one that distinguishes rows.
    """
    keys = _keys(facts.raw, facts.dataset.y)
    whole = _hash(keys)
    equal = _pairs(whole)
    tried = range(0, len(keys), -(-len(keys) // MAX_LEFT_OUT))
    misses = sorted(_pairs(whole - _scrambled(keys[j], j)) - equal for j in tried)
    return sum(misses[:-1]) / (equal * max(len(misses) - 1, 1))


def _pairs(hashes: np.ndarray) -> float:
    """Number of pairs of rows with equal hashes."""
    counts = np.unique(hashes, return_counts=True)[1].astype(float)
    return float(np.sum(counts * (counts - 1)) / 2)


def panels(facts: Facts) -> Iterator[Finding]:
    """D018"""
    if facts.dataset.groups is not None or facts.dataset.times is not None:
        return
    found = {name: strength for name in facts.raw if (strength := _unit_strength(facts, name)) > 0}
    if not found:
        return
    name = max(found, key=lambda name: found[name])
    codes = codes_of(facts.raw[name], 10**9)[facts.rows]
    levels, rows = len(np.unique(codes[codes > 0])), int((codes > 0).sum())
    named = bool(_named_unit(name))
    text = (
        f"rows with the same {short(name)} may be in the training and test set ({levels} values, about "
        f"{rows / levels:.2g} rows each), so the scores do not apply to new values"
    )
    action = f"consider {option('--group', name)}"
    if named:
        text += ". It looks like an ID and is excluded as a feature"
        action += ", or keep it as a feature with --ignore D018"
    yield Finding("D018", "warning", text, action, (name,), exclude=named)


def _named_unit(name: str) -> bool:
    return bool(UNIT_NAME.search(name) or CAMEL_ID.search(name))


def _unit_strength(facts: Facts, name: str) -> float:
    """Strength of the evidence that a column identifies units with several rows each; 0 for none.

    The evidence, strongest first: the name of an ID; one row per unit and time (a panel) with some
    column that is similar within units; columns that are constant within units.
    """
    column = facts.raw[name]
    if column.kind in ("text", "datetime") or is_time(name, column) or TIME_WORD.search(name):
        return 0.0
    whole = column.values[column.present()]
    if column.kind == "number" and not (whole == np.floor(whole)).all():
        return 0.0
    rows, units = _rows_of_units(facts, column)
    if not len(rows):
        return 0.0
    similarity = _similarity_within_units(facts, name, rows, units)
    typical = float(np.median(similarity)) if len(similarity) else 0.0
    if _named_unit(name):
        return 3.0 + typical
    if _panel(facts, name, rows, units) and (similarity > SIMILAR).any():
        return 2.0 + typical
    equal = int((similarity > 1 - 1e-9).sum())
    constant = equal >= 3 and 2 * equal >= len(similarity)
    mostly = column.kind == "categorical" and len(similarity) >= 3 and typical >= MOSTLY_SIMILAR
    return 1.0 + typical if constant or mostly else 0.0


def _rows_of_units(facts: Facts, column: RawColumn) -> tuple[np.ndarray, np.ndarray]:
    """Training rows and the unit of each; none if there are too few or too many rows per unit."""
    codes = codes_of(column, 10**9)[facts.rows]
    rows = facts.rows[codes > 0]
    units, counts = np.unique(codes[codes > 0], return_inverse=True, return_counts=True)[1:]
    usual = len(rows) / max(len(counts), 1)
    shared = counts[counts > 1].sum() >= 0.5 * len(rows)  # most rows share their unit
    if len(counts) < MIN_UNITS or not shared or not MIN_ROWS_PER_UNIT <= usual <= MAX_ROWS_PER_UNIT:
        return rows[:0], units[:0]
    kept = units < np.searchsorted(np.cumsum(counts), MAX_ROWS) + 1  # whole units
    return rows[kept], units[kept]


def _similarity_within_units(
    facts: Facts, name: str, rows: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """For the target and each other column: adjusted share of the variance between units.

    1 - (within / total) (n - 1) / (n - units); the variance of a category is its Gini impurity.
    """
    out = [_between(facts.dataset.y[rows], units, facts.dataset.classes is not None)]
    for other in [n for n in facts.raw if n != name][:MAX_COLUMNS]:
        column = facts.raw[other]
        if column.kind == "text":
            continue
        kept = column.present()[rows]
        levels = column.kind == "categorical"
        out.append(_between(column.values[rows[kept]], units[kept], levels))
    return np.array([share for share in out if share == share])


def _between(values: np.ndarray, units: np.ndarray, levels: bool) -> float:
    n = len(values)
    units, sizes = np.unique(units, return_inverse=True, return_counts=True)[1:]
    if n - len(sizes) < MIN_UNITS:
        return float("nan")
    if levels:
        codes, counts = np.unique(values, return_inverse=True, return_counts=True)[1:]
        pairs, both = np.unique(units * len(counts) + codes, return_counts=True)
        total = n - np.sum(counts**2) / n
        within = n - np.sum(both**2 / sizes[pairs // len(counts)])
    else:
        x = values / max(float(np.abs(values).max()), 1e-300)
        total = np.sum((x - x.mean()) ** 2)
        within = np.sum((x - (np.bincount(units, x) / sizes)[units]) ** 2)
    if total <= 1e-12 * n:
        return float("nan")
    return float(1 - within / total * (n - 1) / (n - len(sizes)))


def _panel(facts: Facts, name: str, rows: np.ndarray, units: np.ndarray) -> bool:
    """Whether some column of times or visits has each value at most once per unit."""
    for other, column in facts.raw.items():
        occasion = OCCASION.search(other) or TIME_WORD.search(other)
        if other == name or not (is_time(other, column) or occasion):
            continue
        codes = codes_of(column, 10**9)[rows]
        times = len(np.unique(codes))
        pairs = np.unique(units * (int(codes.max()) + 1) + codes)
        if 2 <= times <= len(rows) / 3 and len(pairs) == len(rows):
            return True
    return False
