"""Coded checks of a table before anything is trained: cheap, each can be muted by its code.

`--select D0` runs only the named ones (by prefix), `--ignore D011` mutes one. Levels: an "error"
probably makes every score meaningless (`--strict` stops there, `pellucid check` exits with 1); a
"warning" may mislead; a "note" says what was done. Columns that cannot help (constant, all missing,
identifiers) are left out unless their check is muted. `docs/checks.md` has a paragraph per code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid.compare.alone import alone, codes_of
from pellucid.compare.findings import Facts, Finding, option, short
from pellucid.compare.leaks import copies, leaks, one_sided, sums, suspects
from pellucid.compare.material import Material, shown
from pellucid.compare.settings import Settings
from pellucid.data.cells import RawColumn
from pellucid.errors import ParameterError

CORRELATED = 0.9
RARE = 0.02
FEW_REPEATED = 0.01  # of the rows: they cannot flatter a score much
MOST_COLUMNS = 300  # for correlations
ID_NAME = re.compile(
    r"(^|[_ .-])(id|uuid|guid|key|index|idx|no|nr|number)$|^(id|uuid|guid)[_ .-]", re.I
)
CAMEL_ID = re.compile(r"[a-z](Id|ID)$")
TIME_NAME = re.compile(r"(^|[_ .-])(date|time|timestamp|datetime)($|[_ .-])", re.I)


@dataclass(frozen=True)
class Findings:
    """What the checks found, loudest first."""

    found: list[Finding]
    fine: str
    alone: dict[str, float] = field(default_factory=dict)

    @property
    def leave_out(self) -> list[str]:
        return [name for f in self.found if f.leave_out for name in f.columns]

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.found if f.level == "error"]

    def plain(self) -> list[dict[str, Any]]:
        return [f.plain() for f in self.found]


def run_checks(material: Material, settings: Settings, rows: np.ndarray) -> Findings:
    """All checks that are not muted."""
    active = _active(settings)
    raw = material.raw()
    by_column = alone(material, rows, settings.seed)
    facts = Facts(material, rows, raw, by_column, settings.cv, _repeated(material, raw))
    found = [f for code in active if code in EARLY for f in CHECKS[code](facts)]
    gone = {name for f in found if f.leave_out for name in f.columns}
    kept = {name: column for name, column in raw.items() if name not in gone}
    facts = replace(facts, raw=kept, alone={n: s for n, s in facts.alone.items() if n in kept})
    found += [f for code in active if code not in EARLY for f in CHECKS[code](facts)]
    order = {"error": 0, "warning": 1, "note": 2}
    found.sort(key=lambda f: (order[f.level], f.code))
    seen = {f.code for f in found}
    seen |= {"D006"} if facts.repeated else set()  # by chance, but there are some
    full = all(_present(column).all() for column in raw.values())
    fine = {**FINE, ("D003",): "no missing values"} if full else FINE
    silent = [text for codes, text in fine.items() if not seen & {*codes} and codes[0] in active]
    return Findings(found, ", ".join(silent), facts.alone)


def _active(settings: Settings) -> list[str]:
    for word in (*settings.select, *settings.ignore):
        if not any(code.startswith(word.upper()) for code in CHECKS):
            raise ParameterError(f"there is no check {word!r}. Checks: {', '.join(CHECKS)}.")

    def named(code: str, words: tuple[str, ...]) -> bool:
        return any(code.startswith(word.upper()) for word in words)

    chosen = [code for code in CHECKS if not settings.select or named(code, settings.select)]
    return [code for code in chosen if not named(code, settings.ignore)]


def _quoted(names: list[str]) -> str:
    return shown([repr(name) for name in names], 4)


def _said(names: list[str], one: str, many: str, rest: str) -> str:
    return f"{_quoted(names)} {one if len(names) == 1 else many}{rest}"


def _present(column: RawColumn) -> np.ndarray:
    if column.kind == "categorical":
        return column.values >= 0
    if column.kind == "text":
        return np.array([cell is not None for cell in column.values])
    return ~np.isnan(column.values)


def constant(facts: Facts) -> Iterator[Finding]:
    """D002"""
    names = []
    for name, column in facts.raw.items():
        present = column.values[_present(column)]
        if len(present) == len(column.values) and len(present) and (present == present[0]).all():
            names.append(name)
    if names:
        yield Finding("D002", "note", _said(names, "never changes", "never change", ": left out"), "",
                      tuple(names), leave_out=True)  # fmt: skip


def all_missing(facts: Facts) -> Iterator[Finding]:
    """D003"""
    names = [name for name, column in facts.raw.items() if not _present(column).any()]
    if names:
        yield Finding("D003", "note", _said(names, "has", "have", " no value at all: left out"), "",
                      tuple(names), leave_out=True)  # fmt: skip


def mostly_missing(facts: Facts) -> Iterator[Finding]:
    """D004"""
    shares = {name: float(_present(column).mean()) for name, column in facts.raw.items()}
    names = [name for name, share in shares.items() if 0 < share < 0.5]
    if names:
        worst = min(names, key=lambda name: shares[name])
        yield Finding("D004", "warning", _said(names, "is", "are", " missing in most rows ")
                      + f"({_percent(1 - shares[worst])} of {short(worst)})",
                      option("--drop", worst), tuple(names))  # fmt: skip


def _percent(share: float) -> str:
    """Never all of them if some are not."""
    return "over 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def identifiers(facts: Facts) -> Iterator[Finding]:
    """D005"""
    names = [name for name, column in facts.raw.items() if _is_identifier(name, column)]
    if names:
        yield Finding("D005", "warning", _said(names, "seems", "seem", " to number or name the "
                      "rows: left out"), f"{option('--id', names[0])} says so, --ignore D005 keeps "
                      f"{'it' if len(names) == 1 else 'them'}",
                      tuple(names), leave_out=True)  # fmt: skip


def _is_identifier(name: str, column: RawColumn) -> bool:
    present = _present(column)
    n = int(present.sum())
    if n < 20 or column.kind in ("text", "datetime"):
        return False
    values = column.values[present]
    distinct = len(np.unique(values))
    if column.kind == "categorical":
        return distinct >= 0.95 * n
    whole = bool((values == np.floor(values)).all())
    named = bool(ID_NAME.search(name) or CAMEL_ID.search(name))
    counts = whole and distinct == n and bool((np.abs(np.diff(values)) == 1).all())
    return counts or (whole and named and distinct >= 0.95 * n)


def _repeated(material: Material, raw: dict[str, RawColumn]) -> int:
    """Rows that repeat another one in all columns, by their hashes."""
    total = np.zeros(len(material.y), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for j, column in enumerate(raw.values()):
            kept = column.values if column.kind in ("number", "datetime") else codes_of(column)
            bits = np.ascontiguousarray(kept.astype(np.float64) + 0.0).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15 + 2 * j)
            total = (total ^ (mixed ^ (mixed >> np.uint64(32)))) * np.uint64(0xBF58476D1CE4E5B9)
    return len(total) - len(np.unique(total))


def duplicates(facts: Facts) -> Iterator[Finding]:
    """D006"""
    n_rows, extra = len(facts.material.y), facts.repeated
    # Few columns of few levels repeat by chance; that says nothing. Sentences do not.
    combos = np.prod([min(len(np.unique(codes_of(c))), 1e6) for c in facts.raw.values()])
    texts = any(column.kind == "text" for column in facts.raw.values())
    if extra and (texts or (len(facts.raw) >= 2 and combos >= 10 * n_rows)):
        what = f"{extra} of {n_rows} rows repeat{'s' if extra == 1 else ''} another row"
        if extra < FEW_REPEATED * n_rows:
            yield Finding("D006", "note", f"{what}: too few to flatter the scores")
            return
        yield Finding("D006", "warning", f"{what}: the same row can be learned from and tested on, "
                      "which flatters the scores",
                      "remove them, or keep copies together with --group")  # fmt: skip


def small_classes(facts: Facts) -> Iterator[Finding]:
    """D007"""
    classes = facts.material.classes
    if classes is None:
        return
    counts = np.bincount(facts.material.y[facts.rows], minlength=len(classes))
    few = [k for k in range(len(classes)) if counts[k] < 2 * facts.cv]
    if few:
        named = ", ".join(f"{str(classes[k])[:40]!r} ({counts[k]})" for k in few[:5])
        yield Finding("D007", "warning", f"too few rows of {named}: fewer than two per fold, their "
                      "scores are guesses", "collect more rows, or merge classes")  # fmt: skip


def correlated_pairs(facts: Facts) -> list[tuple[str, str, float]]:
    """Pairs of number columns with |r| above the limit, strongest first."""
    names = [n for n, c in facts.raw.items() if c.kind in ("number", "datetime")][:MOST_COLUMNS]
    columns = []
    for name in names:
        values = facts.raw[name].values[facts.rows].astype(float)
        present = ~np.isnan(values)
        scale = np.abs(values[present]).max(initial=0.0)
        values = values / scale if scale > 0 else values
        mean = values[present].mean() if present.any() else 0.0
        columns.append(np.where(present, values - mean, 0.0))
    if len(columns) < 2:
        return []
    X = np.array(columns)
    norm = np.sqrt((X**2).sum(axis=1))
    X = X[norm > 0] / norm[norm > 0, None]
    kept = [name for name, size in zip(names, norm) if size > 0]
    r = X @ X.T
    pairs = [(kept[i], kept[j], float(r[i, j])) for i, j in zip(*np.triu_indices(len(kept), 1))]
    found = [pair for pair in pairs if abs(pair[2]) > CORRELATED]
    return sorted(found, key=lambda pair: -abs(pair[2]))


def correlations(facts: Facts) -> Iterator[Finding]:
    """D008"""
    pairs = correlated_pairs(facts)
    if pairs:
        word = "pair correlates" if len(pairs) == 1 else "pairs correlate"
        first = f"{pairs[0][0][:40]} ~ {pairs[0][1][:40]}" + (", ..." if len(pairs) > 1 else "")
        columns = tuple(dict.fromkeys(name for pair in pairs for name in pair[:2]))
        yield Finding("D008", "warning", f"{len(pairs)} feature {word} above {CORRELATED} ({first}) "
                      "-> coefficients unstable", "--drop one of each pair", columns)  # fmt: skip


def _is_time(name: str, column: RawColumn) -> bool:
    if column.kind == "datetime":
        return True
    return bool(TIME_NAME.search(name)) and len(np.unique(codes_of(column, 10**9))) > 20


def times(facts: Facts) -> Iterator[Finding]:
    """D009"""
    if facts.material.times is not None:
        return
    names = [name for name, column in facts.raw.items() if _is_time(name, column)]
    if names:
        yield Finding("D009", "warning", _said(names, "holds", "hold", " times: shuffled folds "
                      "let the future teach about the past"), option("--time", names[0]),
                      tuple(names))  # fmt: skip


def rare_class(facts: Facts) -> Iterator[Finding]:
    """D012"""
    classes = facts.material.classes
    if classes is None:
        return
    shares = np.bincount(facts.material.y, minlength=len(classes)) / len(facts.material.y)
    k = int(shares.argmin())
    if shares[k] < min(RARE, 0.2 / len(classes)):  # of many classes each has few
        yield Finding("D012", "note", f"class {str(classes[k])[:40]!r} is rare ({100 * shares[k]:.1f} "
                      "% of the rows): accuracy says little, look at average precision",
                      "--metric average_precision")  # fmt: skip


def wide(facts: Facts) -> Iterator[Finding]:
    """D013"""
    if len(facts.raw) > len(facts.rows):
        yield Finding("D013", "note", f"more columns ({len(facts.raw)}) than training rows "
                      f"({len(facts.rows)}): models without a penalty will fit noise")  # fmt: skip


def texts(facts: Facts) -> Iterator[Finding]:
    """D014"""
    names = [name for name, column in facts.raw.items() if column.kind == "text"]
    if names:
        yield Finding("D014", "note", _said(names, "is", "are", " free text: models that "
                      "cannot read it do without"), "", tuple(names))  # fmt: skip


CHECKS: dict[str, Callable[[Facts], Iterator[Finding]]] = {
    "D002": constant, "D003": all_missing, "D004": mostly_missing, "D005": identifiers,
    "D006": duplicates, "D007": small_classes, "D008": correlations, "D009": times,
    "D010": copies, "D011": leaks, "D012": rare_class, "D013": wide, "D014": texts, "D015": suspects,
    "D016": one_sided, "D017": sums,
}  # fmt: skip
EARLY = ("D002", "D003", "D005", "D006")  # these see the columns that are then left out
FINE = {  # said if the first of these was asked for and none of them found anything
    ("D003",): "no empty column",
    ("D006",): "no duplicate rows",
    ("D005",): "no id-like column",
    ("D011", "D010", "D015", "D016", "D017"): "no feature that gives the answer away",
}
