"""Checks of columns with times: points in time, and durations that end with the outcome."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pellucid.comparison.checks.findings import Facts, Finding, on_columns, option, short
from pellucid.comparison.checks.univariate import codes_of
from pellucid.comparison.planning.time_parsing import are_times
from pellucid.data.raw_column import RawColumn

MIN_TIMES, MIN_YEARS = 20, 4
TIME_WORD = re.compile(
    r"(^|[_ .-])(date|time|timestamp|datetime|year|yr|quarter|month|mon|week|day|hour)s?($|[_ .-])",
    re.I,
)
EVENT_BEFORE = re.compile(r"birth|born|built|build|remod|found|made|model", re.I)
FIRST_YEAR, LAST_YEAR = 1500, 2200
FIRST_SECOND, LAST_SECOND = 3e8, 4e9  # since 1970: of the years 1979 to 2096
DURATION = re.compile(
    r"(fu|surv|survival|os|pfs|dfs|rfs|event|s)?[_ .-]?time|time[_ .-]?to[_ .-]?event|tte"
    r"|follow[_ .-]?up([_ .-]?(time|days|months|years))?|surv(ival)?([_ .-]?(days|months|years))?"
    r"|days|weeks|months|duration|dur|t?stop|lifetime|spell",
    re.I,
)
EVENT = re.compile(
    r"((vital|fu|surv|survival|patient|os|pfs|dfs|rfs|end|life)[_ .-]?)?stat(us)?"
    r"|(event|death|dead|died|cens|censor|censored|censoring|fail|failed|failure|relapse|relapsed|recur"
    r"|recurrence)([_ .-]?(status|event|ind|indicator))?|delta",
    re.I,
)
MAX_STATES = 4


def is_time(name: str, column: RawColumn) -> bool:
    """Whether a column contains points in time: dates, timestamps, years, or the order of the rows."""
    if column.kind == "datetime":
        return True
    if column.kind == "text":
        return False
    if column.kind == "categorical":
        texts = [str(level) for level in column.levels]
        return len(texts) >= MIN_YEARS and are_times(texts)
    values = column.values[column.present()]
    if not TIME_WORD.search(name) or EVENT_BEFORE.search(name) or not len(values):
        return False
    steps = np.diff(values)  # steady steps from row to row, like the record of one process
    steady = len(values) >= MIN_TIMES and (steps > 0).all() and steps.max() <= 2 * steps.min()
    return _calendar(name, values) or bool(steady)


def _calendar(name: str, values: np.ndarray) -> bool:
    """Whether numbers are years (or two digits of them), 20191231, 201912, or seconds since 1970."""
    low, high = values.min(), values.max()
    if len(np.unique(values)) < MIN_YEARS:
        return False
    if low >= FIRST_YEAR and high <= LAST_YEAR:
        return True
    whole = bool((values == np.floor(values)).all())
    if whole and re.fullmatch(r"(year|yr)", name, re.I) and low >= 40 and high <= 99:
        return True
    for unit in (100, 10_000):
        month = values // (unit // 100) % 100
        if whole and FIRST_YEAR * unit <= low and high < (LAST_YEAR + 1) * unit:
            return bool((month >= 1).all() and (month <= 12).all())
    return any(FIRST_SECOND * k <= low and high <= LAST_SECOND * k for k in (1, 1e3, 1e6))


def times(facts: Facts) -> Iterator[Finding]:
    """D009"""
    if facts.dataset.times is not None:
        return
    durations = {duration for duration, _ in survival_pairs(facts)}
    names = [n for n, c in facts.raw.items() if is_time(n, c) and n not in durations]
    names = [n for n in names if len(np.unique(codes_of(facts.raw[n], 10**9))) >= MIN_YEARS]
    unique = [n for n in names if facts.raw[n].kind == "categorical" and _is_unique(facts.raw[n])]
    for own, rest in (([n for n in names if n not in unique], ""), (unique, _UNREADABLE)):
        if own:
            # Fewer folds are suggested if there are too few times for them and a test set.
            most = len(np.unique(codes_of(facts.raw[own[0]], 10**9))) - 2
            action = option("--time", own[0]) + (f" --cv {most}" if most < facts.cv else "")
            text = f"times: {_SHUFFLED}{rest}"
            yield from on_columns(
                "D009", "warning", own, "contains/contain", text, action, exclude=bool(rest)
            )


_SHUFFLED = "shuffled folds train on the future to predict the past"
_UNREADABLE = ". Excluded as a feature, because almost every row has its own category"


def _is_unique(column: RawColumn) -> bool:
    codes = column.values[column.present()]
    return len(np.unique(codes)) >= 0.95 * len(codes)


def survival_pairs(facts: Facts) -> list[tuple[str, str]]:
    """(duration, status) names of a survival table; the target may be either."""
    dataset = facts.dataset
    kinds = {name: column.kind for name, column in facts.raw.items()}
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    numbers += [dataset.target] if dataset.classes is None else []
    named = {name: column for name, column in facts.raw.items() if EVENT.fullmatch(name)}
    states = [n for n, c in named.items() if len(np.unique(codes_of(c, 10**9))) <= MAX_STATES + 1]
    if EVENT.fullmatch(dataset.target) and len(dataset.classes or ()) in range(2, MAX_STATES + 1):
        states.append(dataset.target)
    durations = [name for name in numbers if DURATION.fullmatch(name) and name not in states]
    return [(duration, states[0]) for duration in durations if states and _lasts(facts, duration)]


def _lasts(facts: Facts, name: str) -> bool:
    """Whether numbers can be durations: none negative, many different values, no dates."""
    if name == facts.dataset.target:
        return True
    values = facts.raw[name].values[facts.raw[name].present()]
    if not len(values) or values.min() < 0 or len(np.unique(values)) < MIN_TIMES:
        return False
    return not _calendar(name, values)


def durations(facts: Facts) -> Iterator[Finding]:
    """D019"""
    target, pairs = facts.dataset.target, survival_pairs(facts)
    for duration, status in pairs:
        if target == status:
            yield _after(duration, f"seems to be the time until {short(target)} was recorded")
        elif target == duration:
            yield _after(status, f"seems to be the outcome at the end of {short(target)}")
        else:
            text = f"{short(duration)} and {short(status)} look like follow-up time and its outcome"
            yield Finding("D019", "note", f"{text}: are they known when {short(target)} is predicted?",
                          f"if not: {option('--drop', duration)} {option('--drop', status)}",
                          (duration, status))  # fmt: skip


def _after(name: str, why: str) -> Finding:
    text = f"{short(name)} {why}, so it is known only after the outcome: a possible leak"
    return Finding("D019", "warning", text, option("--drop", name), (name,), leak=True)
