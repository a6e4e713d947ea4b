"""Checks for columns that leak the target: copies and near copies of it, a column that predicts it far
better than all others, columns with values in only one class, and columns that add up to the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pellucid.comparison.checks.findings import Facts, Finding, option, short, some
from pellucid.comparison.checks.univariate import codes_of
from pellucid.comparison.planning.dataset import Dataset
from pellucid.data.raw_column import RawColumn

LEAKED = 0.995  # AUC, R2 or rank correlation of a single column
STRONG, FAR_AHEAD = 0.9, 0.35  # score of a suspect, and its error relative to the second best
MAX_TERMS, MAX_ROWS = 100, 20_000  # columns and rows of the sums that are tried
EXACT = 1e-9  # rounding error of a sum, relative to the target
NOISE = 1e-3  # columns of pure noise that may reach `LEAKED`
CHANCE = 1e-9  # probability that all these rows have one class by chance


def copies(facts: Facts) -> Iterator[Finding]:
    """D010"""
    targets, y = np.unique(facts.dataset.y, return_inverse=True)
    for name, column in facts.raw.items():
        codes = codes_of(column, 10**9)
        levels = np.count_nonzero(np.bincount(codes))
        if levels != len(targets) or len(np.unique(codes * len(targets) + y)) != len(targets):
            continue
        # There are as many pairs as levels. That proves nothing if hardly any value repeats.
        several = facts.dataset.classes is not None or len(targets) > 2
        repeats = several and len(targets) <= len(y) / 2
        if repeats or _same_line(column, facts.dataset):
            drop = option("--drop", name)
            yield Finding("D010", "error", f"{short(name)} is a copy of the target "
                          f"{short(facts.dataset.target)} with other labels or units. Drop it "
                          f"({drop}) or accept it (--ignore D010)", drop, (name,),
                          leak=True)  # fmt: skip


def _same_line(column: RawColumn, dataset: Dataset) -> bool:
    """Whether a numeric column is a linear function of the target."""
    if column.kind != "number" or dataset.classes is not None or np.isnan(column.values).any():
        return False
    x, y = (v / max(np.abs(v).max(), 1e-300) for v in (column.values.astype(float), dataset.y))
    x, y = x - x.mean(), y - y.mean()
    return bool(abs(x @ y) >= (1 - 1e-12) * np.sqrt((x @ x) * (y @ y)))


def leaks(facts: Facts) -> Iterator[Finding]:
    """D011"""
    if _noise_columns(facts) > NOISE:
        return
    target = facts.dataset.target
    word = "AUC" if facts.dataset.classes is not None else "R2"
    copied = {f.columns[0] for f in copies(facts)}
    for name, score in facts.univariate.items():
        same = _same_order(facts, name) if word == "R2" and score < LEAKED else 0.0
        if max(score, same) >= LEAKED and name not in copied:
            drop, how = option("--drop", name), f"predicts {short(target)} with {word} {score:.3f}"
            if same >= LEAKED:
                how = f"has the same order as {short(target)} (rank correlation {same:.3f})"
            yield Finding("D011", "error", f"{short(name)} alone {how}: it probably leaks the "
                          f"target. Drop it ({drop}) or accept it (--ignore D011)", drop, (name,),
                          leak=True)  # fmt: skip


def _noise_columns(facts: Facts) -> float:
    """How many columns of a table of pure noise would reach `LEAKED`, from a bound on the probability.

    An AUC is 1 - u / (n1 n0), where u counts the pairs in the wrong order. Of the C(n, n1) equally
    probable orders, at most exp(pi sqrt(2k / 3)) have u <= k (partitions of the integers up to k). The
    squared correlation of noise exceeds r2 with a probability of about (1 - r2)^((n - 2) / 2).
    """
    n, y = len(facts.rows), facts.dataset.y[facts.rows]
    log_chance = (n - 2) / 2 * math.log(1 - LEAKED)
    if facts.dataset.classes is not None:
        rare = int(min(count for count in np.bincount(y) if count))
        orders = math.lgamma(n + 1) - math.lgamma(rare + 1) - math.lgamma(n - rare + 1)
        wrong = (1 - LEAKED) * rare * (n - rare)
        log_chance = math.log(2) + math.pi * math.sqrt(2 * wrong / 3) - orders
    return len(facts.raw) * math.exp(min(log_chance, 0.0))


def _same_order(facts: Facts, name: str) -> float:
    """Absolute rank correlation of a numeric column with the target; 0 if it has missing values."""
    column = facts.raw[name]
    if column.kind != "number" or np.isnan(column.values).any():
        return 0.0
    ranks = [
        np.unique(v[facts.rows], return_inverse=True)[1] for v in (column.values, facts.dataset.y)
    ]
    x, y = (r - r.mean() for r in ranks)
    size = float(np.sqrt((x @ x) * (y @ y)))
    return abs(float(x @ y)) / size if size > 0 else 0.0


def suspects(facts: Facts) -> Iterator[Finding]:
    """D015"""
    known = {name: score for name, score in facts.univariate.items() if score == score}
    ranked = sorted(known, key=lambda name: -known[name])
    if len(ranked) < 2:
        return
    first, second = known[ranked[0]], known[ranked[1]]
    far = (1 - first) < FAR_AHEAD * (1 - second)
    if STRONG <= first < LEAKED and far:
        word = "AUC" if facts.dataset.classes is not None else "R2"
        # D016 is not reported then.
        later = ranked[0] in {found[0] for found in _of_one_class(facts)}
        yield Finding("D015", "warning", f"{short(ranked[0])} alone predicts "
                      f"{short(facts.dataset.target)} with {word} {first:.3f}, the next best column "
                      f"with {second:.3f}: is it known before the outcome?",
                      f"if not: {option('--drop', ranked[0])}", (ranked[0],), leak=later)  # fmt: skip


def one_class_columns(facts: Facts) -> Iterator[Finding]:
    """D016"""
    found = [Finding("D016", "warning", f"wherever {short(name)} {word}, "
                     f"{short(facts.dataset.target)} is {label!r} ({rows} rows): is it known before "
                     "the outcome?", f"if not: {option('--drop', name)}", (name,), leak=True)
             for name, word, label, rows in _of_one_class(facts)]  # fmt: skip
    more_severe = (copies, leaks, suspects) if found else ()
    reported = {name for find in more_severe for f in find(facts) for name in f.columns}
    yield from (f for f in found if f.columns[0] not in reported)


def _of_one_class(facts: Facts) -> Iterator[tuple[str, str, str, int]]:
    """Columns whose present (or missing) cells are all in one class, in more rows than by chance."""
    y, classes = facts.dataset.y[facts.rows], facts.dataset.classes
    if classes is None:
        return
    shares = np.bincount(y, minlength=len(classes)) / len(y)
    for name, column in facts.raw.items():
        present = column.present()[facts.rows]
        if present.all():
            continue
        for own, word in ((present, "has a value"), (~present, "is missing")):
            k = int(y[own][0]) if own.any() else 0
            if (y[own] == k).all() and shares[k] ** int(own.sum()) < CHANCE:
                yield name, word, str(classes[k])[:40], int(own.sum())


def sums(facts: Facts) -> Iterator[Finding]:
    """D017"""
    if facts.dataset.classes is not None:
        return
    copied = {f.columns[0] for f in copies(facts)}
    names = [n for n, c in facts.raw.items() if c.kind == "number" and n not in copied][:MAX_TERMS]
    rows = facts.rows[:: max(1, len(facts.rows) // MAX_ROWS)]
    names = [n for n in names if not np.isnan(facts.raw[n].values[rows]).any()]
    if len(names) >= 2 and len(rows) >= 3 * len(names) + 20:
        X = np.column_stack([facts.raw[n].values[rows].astype(float) for n in names])
        parts = [names[j] for j in _summands(X, facts.dataset.y[rows])]
        if len(parts) >= 2:
            drop = " ".join(option("--drop", n) for n in parts)
            yield Finding("D017", "error", f"{some(parts)} add up to "
                          f"{short(facts.dataset.target)}: a weighted sum of them equals the target "
                          f"exactly. Drop them ({drop}) or accept them (--ignore D017)",
                          drop, tuple(parts), leak=True)  # fmt: skip


def _summands(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The columns whose weighted sum equals the target exactly; none if there is no such sum."""
    size, scale = np.abs(X).max(axis=0), np.abs(y).max()
    Z = X / np.where(size > 0, size, 1.0)
    Z, z = Z - Z.mean(axis=0), y / max(scale, 1e-300)
    z = z - z.mean()
    weights = np.linalg.lstsq(Z, z, rcond=None)[0]
    if not z.any() or np.abs(z - Z @ weights).max() > EXACT * np.abs(z).max():
        return np.empty(0, dtype=int)
    moved = np.abs(weights) * Z.std(axis=0)
    return np.flatnonzero(moved > 1e-6 * moved.max())
