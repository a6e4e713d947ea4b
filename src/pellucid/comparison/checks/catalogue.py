"""Fast checks of a table before the first fit; each has a code by which it can be turned off.

`--select D0` runs only the checks whose code starts with D0, `--ignore D011` turns one off. An "error"
probably makes every score meaningless (`--strict` stops there, `pellucid check` exits with 1); a
"warning" means that the scores may mislead; a "note" reports what was done. Columns that cannot help
(constant, all missing, row IDs) are excluded unless their check is turned off. `leak` marks findings
that suspect target leakage. `docs/checks.md` describes each code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid.comparison.checks.findings import Facts, Finding, on_columns, option, short
from pellucid.comparison.checks.leakage import copies, leaks, one_class_columns, sums, suspects
from pellucid.comparison.checks.row_checks import duplicates, identifiers, panels, repeated_rows
from pellucid.comparison.checks.time_checks import durations, times
from pellucid.comparison.checks.univariate import univariate_scores
from pellucid.comparison.planning.dataset import Dataset
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.target import skewness, small_counts
from pellucid.errors import ParameterError

CORRELATED = 0.9
RARE = 0.02
MAX_COLUMNS = 300  # for correlations
SKEWED = 2.0  # skewness of a target


@dataclass(frozen=True)
class Findings:
    """What the checks found, most severe first; `fine` lists what passed."""

    found: list[Finding]
    fine: str
    univariate: dict[str, float] = field(default_factory=dict)

    @property
    def excluded(self) -> list[str]:
        return [name for f in self.found if f.exclude for name in f.columns]

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.found if f.level == "error"]

    def plain(self) -> list[dict[str, Any]]:
        return [f.plain() for f in self.found]


def run_checks(dataset: Dataset, settings: Settings, rows: np.ndarray) -> Findings:
    """Run all checks that are not turned off."""
    active = _active(settings)
    raw = dataset.raw()
    by_column = univariate_scores(dataset, raw, rows, settings.seed)
    facts = Facts(dataset, rows, raw, by_column, settings.cv, 0)
    found: list[Finding] = []
    for stage in STAGES:
        found += [f for code in stage if code in active for f in CHECKS[code](facts)]
        gone = {name for f in found if f.exclude for name in f.columns}
        left = {name: column for name, column in facts.raw.items() if name not in gone}
        facts = replace(facts, raw=left, univariate={name: by_column[name] for name in left})
    facts = replace(facts, repeated=repeated_rows(facts.raw, dataset.y))
    rest = [code for code in active if not any(code in stage for stage in STAGES)]
    found += [f for code in rest for f in CHECKS[code](facts)]
    after = {name for f in found if f.code == "D019" and f.leak for name in f.columns}
    # D019 is more specific than D015.
    found = [f for f in found if f.code != "D015" or not after & {*f.columns}]
    order = {"error": 0, "warning": 1, "note": 2}
    found.sort(key=lambda f: (order[f.level], f.code))
    seen = {f.code for f in found}
    seen |= {"D006"} if facts.repeated else set()  # repeated by chance, but there are some
    full = all(column.present().all() for column in raw.values())
    fine = {**FINE, ("D003",): "no missing values"} if full else FINE
    silent = [text for codes, text in fine.items() if not seen & {*codes} and codes[0] in active]
    return Findings(found, ", ".join(silent), facts.univariate)


def _active(settings: Settings) -> list[str]:
    """The codes of the checks that are not turned off."""
    select, ignore = (tuple(map(str.upper, words)) for words in (settings.select, settings.ignore))
    for word in (*settings.select, *settings.ignore):
        if not any(code.startswith(word.upper()) for code in CHECKS):
            raise ParameterError(f"unknown check {word!r}. Checks: {', '.join(CHECKS)}.")
    chosen = [code for code in CHECKS if not select or code.startswith(select)]
    return [code for code in chosen if not code.startswith(ignore)]


def constant(facts: Facts) -> Iterator[Finding]:
    """D002"""
    names = []
    for name, column in facts.raw.items():
        cells = column.values[column.present()]
        if len(cells) == len(column.values) and len(cells) and (cells == cells[0]).all():
            names.append(name)
    yield from on_columns("D002", "note", names, "is/are", "constant: excluded", exclude=True)


def all_missing(facts: Facts) -> Iterator[Finding]:
    """D003"""
    names = [name for name, column in facts.raw.items() if not column.present().any()]
    yield from on_columns("D003", "note", names, "has/have", "no values: excluded", exclude=True)


def mostly_missing(facts: Facts) -> Iterator[Finding]:
    """D004"""
    shares = {name: float(column.present().mean()) for name, column in facts.raw.items()}
    names = [name for name, share in shares.items() if 0 < share < 0.5]
    if names:
        worst = min(names, key=lambda name: shares[name])
        share = 1 - shares[worst]  # below 1, so it is never rounded to 100 %
        percent = "over 99 %" if share > 0.99 else f"{100 * share:.0f} %"
        rest = f"missing in most rows ({percent} of {short(worst)})"
        yield from on_columns("D004", "warning", names, "is/are", rest, option("--drop", worst))


def small_classes(facts: Facts) -> Iterator[Finding]:
    """D007"""
    classes = facts.dataset.classes
    if classes is None:
        return
    counts = np.bincount(facts.dataset.y[facts.rows], minlength=len(classes))
    few = [k for k in range(len(classes)) if counts[k] < 2 * facts.cv]
    if few:
        named = ", ".join(f"{str(classes[k])[:40]!r} ({counts[k]})" for k in few[:5])
        word = "class" if len(few) == 1 else "classes"
        yield Finding("D007", "warning", f"fewer than two rows per fold in {word} {named}: too few "
                      "for a reliable score", "collect more rows, or merge classes")  # fmt: skip


def correlated_pairs(facts: Facts) -> list[tuple[str, str, float]]:
    """Pairs of numeric columns with |r| above the limit, strongest first."""
    names = [n for n, c in facts.raw.items() if c.kind in ("number", "datetime")][:MAX_COLUMNS]
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
        word = "pair has" if len(pairs) == 1 else "pairs have"
        first = f"{pairs[0][0][:40]} ~ {pairs[0][1][:40]}" + (", ..." if len(pairs) > 1 else "")
        columns = tuple(dict.fromkeys(name for pair in pairs for name in pair[:2]))
        yield Finding("D008", "warning", f"{len(pairs)} feature {word} a correlation above {CORRELATED} "
                      f"({first}): their coefficients are unstable",
                      "--drop one of each pair", columns)  # fmt: skip


def rare_class(facts: Facts) -> Iterator[Finding]:
    """D012"""
    classes = facts.dataset.classes
    if classes is None:
        return
    shares = np.bincount(facts.dataset.y, minlength=len(classes)) / len(facts.dataset.y)
    k = int(shares.argmin())
    if shares[k] < min(RARE, 0.2 / len(classes)):  # with many classes, each has a small share
        yield Finding("D012", "note", f"class {str(classes[k])[:40]!r} is rare ({100 * shares[k]:.1f} "
                      "% of the rows), so accuracy is not informative; average precision is better",
                      "--metric average_precision")  # fmt: skip


def wide(facts: Facts) -> Iterator[Finding]:
    """D013"""
    if len(facts.raw) > len(facts.rows):
        yield Finding("D013", "note", f"more columns ({len(facts.raw)}) than training rows "
                      f"({len(facts.rows)}): models without regularisation will overfit")  # fmt: skip


def texts(facts: Facts) -> Iterator[Finding]:
    """D014"""
    names = [name for name, column in facts.raw.items() if column.kind == "text"]
    rest = "free text: models that cannot use text ignore it"
    yield from on_columns("D014", "note", names, "is/are", rest)


def skewed_target(facts: Facts) -> Iterator[Finding]:
    """D020"""
    y = facts.dataset.y[facts.rows]
    if facts.dataset.classes is not None or small_counts(y) or skewness(y) <= SKEWED:
        return
    text = (
        f"the target {short(facts.dataset.target)} is skewed (skewness {skewness(y):.1f}): a few "
    )
    text += "large values dominate RMSE and R2"
    if (y > 0).all() and abs(skewness(np.log(y))) < skewness(y) / 2:
        text += ". Its logarithm is much less skewed: models with 'log' in their name predict "
        text += "log(target)"
    yield Finding("D020", "note", text, "compare MAE too")


def counts(facts: Facts) -> Iterator[Finding]:
    """D021"""
    if facts.dataset.classes is None and small_counts(facts.dataset.y[facts.rows]):
        text = (
            f"the target {short(facts.dataset.target)} looks like a count: Poisson deviance suits "
        )
        text += "it better than RMSE, because the variance of counts grows with their mean"
        yield Finding("D021", "note", text)


CHECKS: dict[str, Callable[[Facts], Iterator[Finding]]] = {
    "D002": constant, "D003": all_missing, "D004": mostly_missing, "D005": identifiers,
    "D006": duplicates, "D007": small_classes, "D008": correlations, "D009": times,
    "D010": copies, "D011": leaks, "D012": rare_class, "D013": wide, "D014": texts, "D015": suspects,
    "D016": one_class_columns, "D017": sums, "D018": panels, "D019": durations, "D020": skewed_target,
    "D021": counts,
}  # fmt: skip
# Columns that one stage excludes are not seen by the next.
STAGES: tuple[tuple[str, ...], ...] = (("D002", "D003", "D005"), ("D009", "D018"))
FINE = {  # shown if the first of these checks ran and none of them found anything
    ("D003",): "no empty column",
    ("D006",): "no duplicate rows",
    ("D005", "D018"): "no row ID",
    ("D011", "D010", "D015", "D016", "D017", "D019"): "no sign of target leakage",
}
