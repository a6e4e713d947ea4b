"""Which candidate of a search is best, in which order they are tried, and how failures are described."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from pellucid.comparison.analysis.statistics import corrected_error
from pellucid.model_selection.metrics import Metric

LONGEST = 300  # characters of a reason
LONGEST_WARNING = 1000


def reason(error: BaseException) -> str:
    """Why a fit failed, in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    text = " ".join(str(error).split()) or type(error).__name__
    name = type(error).__name__
    own = type(error).__module__.startswith("pellucid")
    text = text if own or name in text else f"{name}: {text}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def counted(caught: list[Any]) -> list[dict[str, Any]]:
    """Distinct warnings by category and text, with their counts."""
    texts = Counter(
        (w.category.__name__, " ".join(str(w.message).split())[:LONGEST_WARNING]) for w in caught
    )
    return [{"category": c, "text": t, "count": n} for (c, t), n in sorted(texts.items())]


def merged(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The warnings of both lists, equal ones added up."""
    found: Counter[tuple[str, str]] = Counter()
    for one in (*first, *second):
        found[one["category"], one["text"]] += one["count"]
    return [{"category": c, "text": t, "count": n} for (c, t), n in sorted(found.items())]


def from_the_middle(n: int) -> list[int]:
    """0 .. n-1, the middle first, so that a search that is cut short has not only tried extremes."""
    return sorted(range(n), key=lambda c: (abs(2 * c - (n - 1)), c))


def best_of(found: dict[int, dict[str, Any]], metric: Metric) -> int | None:
    """The candidate with the best mean score; None without scores.

    Only candidates that were scored on the most folds are compared. Ties go to the lowest log loss,
    then to the earlier candidate. Ranking metrics (AUC) ignore the calibration of probabilities, so
    for them all candidates within a standard error of the best tie.
    """
    longest = max((len(r["scores"] or ()) for r in found.values()), default=0)
    scored = {c: r for c, r in found.items() if r["scores"] and len(r["scores"]) == longest}
    means = {c: mean_of(r["scores"]) * metric.sign for c, r in scored.items()}
    usable = {c: m for c, m in sorted(means.items()) if m == m}
    if not usable:
        return min(means, default=None)
    best = min(usable, key=lambda c: (-round(usable[c], 12), _loss(found[c])))
    if metric.needs != "scores":
        return best
    tied = [c for c in usable if _tied(found[best]["scores"], found[c]["scores"])]
    return min(tied, key=lambda c: (_loss(found[c]), -round(usable[c], 12)))


def survivors(found: dict[int, dict[str, Any]], n: int, metric: Metric) -> list[int]:
    """The n candidates that go on after an inner fold, the best one first.

    A ranking metric ignores the calibration of probabilities, so for it those with the best score and
    those with the lowest log loss take turns.
    """
    score = {
        c: np.nan_to_num(mean_of(r["scores"]) * metric.sign, nan=-np.inf) for c, r in found.items()
    }
    orders = [sorted(found, key=lambda c: (-score[c], c))]
    if metric.needs == "scores":
        orders.append(sorted(found, key=lambda c: (_loss(found[c]), -score[c], c)))
    best = best_of(found, metric)
    turns = [] if best is None else [best]
    return list(dict.fromkeys([*turns, *(c for pair in zip(*orders) for c in pair)]))[:n]


def cut_to(record: dict[str, Any], n: int) -> dict[str, Any]:
    """A record with its first n folds alone."""
    return record | {"scores": record["scores"][:n], "losses": record["losses"][:n]}


def pooled(searches: list[dict[int, dict[str, Any]]], metric: Metric) -> dict[int, dict[str, Any]]:
    """The records of several searches joined, for the choice of one candidate.

    A candidate that a search dropped or did not reach is taken to lose as much to the best of that
    search in the folds it missed as in those it has, or as in the other searches.
    """
    best = [best_of(own, metric) for own in searches]
    used = [(own, own[b]) for own, b in zip(searches, best) if b is not None and own[b]["scores"]]
    out = {}
    for c in sorted({c for own, _ in used for c in own}):
        records = [(own.get(c) or {"scores": []}, top) for own, top in used]
        if any(record["scores"] is None for record, _ in records):
            continue  # it failed
        lost = [_gaps(record, top) for record, top in records]
        known = [gap.mean(axis=1) for gap in lost if gap.size]
        if not known:
            continue
        scores, losses = list[float](), list[float]()
        for gap, (_, top) in zip(lost, records):
            whole = np.array([_numbers(top["scores"]), _numbers(top["losses"])])
            typical = gap.mean(axis=1) if gap.size else np.mean(known, axis=0)
            missed = np.repeat(typical[:, None], whole.shape[1] - gap.shape[1], axis=1)
            filled = whole - np.concatenate([gap, missed], axis=1)
            scores += filled[0].tolist()
            losses += filled[1].tolist()
        out[c] = {"scores": scores, "losses": losses}
    return out


def _gaps(record: dict[str, Any], top: dict[str, Any]) -> np.ndarray:
    """(2, folds) by how much a candidate's scores and losses are below those of the best."""
    n = min(len(record["scores"]), len(top["scores"]))
    return np.array(
        [
            _numbers(top[name][:n]) - _numbers((record.get(name) or [])[:n])
            for name in ("scores", "losses")
        ]
    ).reshape(2, n)


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _tied(best: list[float], other: list[float]) -> bool:
    """Whether the mean difference is within its corrected standard error, on the folds of both."""
    pairs = list(zip(best, other))
    difference = np.array([a - b for a, b in pairs])
    if len(pairs) < 2:
        return not difference.any()
    error = corrected_error(difference, 1 / (len(pairs) - 1))
    return bool(abs(difference.mean()) <= error + 1e-12)


def _loss(record: dict[str, Any]) -> float:
    mean = mean_of(record.get("losses") or [None])
    return mean if mean == mean else float("inf")


def mean_of(scores: list[float | None]) -> float:
    """The mean score; NaN if a score is missing (None in the journal)."""
    return float(np.mean([np.nan if score is None else score for score in scores]))
