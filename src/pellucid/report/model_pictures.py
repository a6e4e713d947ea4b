"""Charts of one model: out-of-fold predictions, hyperparameter search, what it learned.

Invariant: as in `pictures`, this module only chooses what to show; `plot` draws it and escapes all text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from pellucid import plot
from pellucid.draw.label_text import clean, distinct
from pellucid.plot.evaluation.probabilities import CalibrationBins, wilson
from pellucid.plot.evaluation.ranking import Curve
from pellucid.report import wording
from pellucid.report.pictures import MOST_SERIES, WIDE, figure, figures, or_nan

_END = Markup("</figure>")

# Cards ----------------------------------------------------------------------------------------


def curve(
    found: list[dict[str, Any]],
    kind: str,
    tables: bool,
    cut: list[float] | None = None,
    banded: bool = True,
) -> Markup | None:
    """ROC or precision-recall curve: the mean over the folds, shaded from the lowest to the highest.

    A ring marks `cut` (threshold, tp, fp, fn, tn). Without bands the curves have fewer points.
    """
    entries = [entry for entry in found if entry.get("mean")][:MOST_SERIES]
    if not entries:
        return None
    roc = kind == "roc"
    names = distinct((e["class"] for e in entries), 40)
    display = (plot.RocCurveDisplay if roc else plot.PrecisionRecallDisplay)(
        [_mean_curve(name, e, banded) for name, e in zip(names, entries)],
        [or_nan(e.get("share")) for e in entries],
        band="lowest to highest fold",
        ring=_at(cut, roc) if cut else None,
    )
    return Markup('<div class="curve-{}">{}</div>').format(kind, figure(display, tables, 220))


def _mean_curve(name: str, entry: dict[str, Any], banded: bool) -> Curve:
    """The mean over the folds, with half of its points if it has no band."""
    mean = {key: np.array(values) for key, values in entry["mean"].items()}
    n = len(mean["x"])
    kept = np.arange(n) if banded else np.linspace(0, n - 1, n // 2).round().astype(int)
    x, y = mean["x"][kept], mean["y"][kept]
    area = or_nan(entry.get("auc", entry.get("ap")))
    ends = (mean.get("low"), mean.get("high")) if banded else (None, None)
    return Curve(name, x, y, np.full(len(x), np.nan), area, *ends)


def _at(cut: list[float], roc: bool) -> tuple[float, float]:
    """The place of a threshold on the ROC or the precision-recall curve."""
    _, tp, fp, fn, tn = cut
    recall = tp / max(tp + fn, 1e-300)
    return (fp / max(fp + tn, 1e-300), recall) if roc else (recall, tp / (tp + fp or 1.0))


def calibration(found: list[dict[str, Any]], tables: bool) -> Markup | None:
    """Calibration: observed share against predicted probability, with the rows of each point."""
    entries = [entry for entry in found if entry.get("bins")][:MOST_SERIES]
    if not entries:
        return None
    names = distinct((e["class"] for e in entries), 40)
    shown = {name: e.get("points") or e["bins"] for name, e in zip(names, entries)}
    display = plot.CalibrationDisplay(
        [_bins(name, points, e["brier"]) for (name, points), e in zip(shown.items(), entries)]
    )
    drawn, data, table = figure(display, tables, 220).partition("<details>")
    return (  # the scores go above the data
        drawn.replace("</figure>", "")
        + _calibration_scores(entries, shown)
        + data
        + (table or _END)
    )


def _bins(name: str, points: list[dict[str, Any]], brier: float) -> CalibrationBins:
    """The points of one class; sums of fractional weights have no interval."""
    mean, observed, rows = (
        np.array([b[key] for b in points], dtype=float) for key in ("predicted", "observed", "rows")
    )
    whole = bool((rows == np.round(rows)).all())
    low, high = wilson(observed, rows) if whole else (np.full(len(rows), np.nan),) * 2
    return CalibrationBins(name, None, None, mean, observed, low, high, rows, brier)


def _calibration_scores(
    entries: list[dict[str, Any]], shown: dict[str, list[dict[str, Any]]]
) -> Markup:
    """Expected calibration error and rows per point of each class."""
    lines = []
    for (name, points), entry in zip(shown.items(), entries):
        rows = ", ".join(str(b["rows"]) for b in points)
        whose = Markup("<bdi>{}</bdi>: ").format(name) if len(entries) > 1 else ""
        lines.append(
            Markup("{}ECE {}, rows per point {}.").format(whose, f"{entry['ece']:.3f}", rows)
        )
    return Markup('<p class="under">{}</p>').format(Markup("<br>").join(lines))


def probabilities(entry: dict[str, Any], tables: bool) -> Markup:
    """Histogram of a predicted probability, by actual class."""
    counts = dict(zip(distinct(entry["counts"], 40), entry["counts"].values()))
    which = "the actual class" if entry["class"] is None else clean(entry["class"], 30)
    display = plot.ProbabilityHistogramDisplay(
        dict(list(counts.items())[:MOST_SERIES]), entry["edges"],
        f"predicted probability of {which}", "Predicted probabilities by actual class",
    )  # fmt: skip
    return figure(display, tables, 220)


def recalls(found: dict[str, Any] | None, rare: float = 0.2) -> list[dict[str, Any]]:
    """Recall and precision of each class, if the rarest has less than a fifth of the rows."""
    if not found:
        return []
    counts = found["counts"]
    totals = [sum(row) for row in counts]
    if min(totals) >= rare * sum(totals):
        return []
    called = [sum(column) for column in zip(*counts)]
    return [
        {"label": label, "rows": totals[k],
         "recall": wording.percent(counts[k][k] / totals[k]) if totals[k] else wording.NOT_AVAILABLE,
         "precision": wording.percent(counts[k][k] / called[k]) if called[k] else wording.NOT_AVAILABLE}
        for k, label in enumerate(found["labels"])
    ]  # fmt: skip


def residuals(found: dict[str, Any], tables: bool, full: bool) -> list[Markup]:
    """Actual values against predictions, and residuals: all pictures, or the first two."""
    cut = found["shown"] < found["rows"]
    note = f"{found['shown']} of {found['rows']} rows, drawn at random." if cut else ""
    pair = found["actual"], found["predicted"]
    out = figures(plot.PredictionErrorDisplay(*pair), tables, 220, note)
    if found["shown"] < 3:
        return out
    display = plot.ResidualsDisplay(*pair, rows=found["row"])
    display.only_first = not full
    return out + figures(display, tables and full, 220, note)


def search(found: dict[str, Any], metric: str, tables: bool) -> Markup | None:
    """Every candidate of the search, with the range of its scores over the inner folds."""
    tried = found["candidates"]
    if len(tried) < 2:
        return None
    often = max(c.get("chosen") or 0 for c in tried)
    note = "Dot: mean over the inner folds. Line: lowest to highest."
    if often:
        note += (
            f" {often}×: chosen in {often} of {found['rounds']} searches, one per fold and one on all "
            "training rows."
        )
    varied, settings = setting_labels([c["params"] for c in tried])
    display = plot.ScoresDisplay(
        [(f"{c['chosen']}× " if c.get("chosen") else "") + s for c, s in zip(tried, settings)],
        *([or_nan(c.get(key)) for c in tried] for key in ("mean", "low", "high")),
        score=wording.metric_name(metric), label=varied, title="Hyperparameter search", note=note,
    )  # fmt: skip
    return figure(display, tables)


def setting_labels(settings: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The name of the axis and a short label per setting: `C = 0.1`, or the values alone if several
    parameters vary, whose names the axis then has.
    """
    names = [n for n in settings[0] if len({str(s.get(n)) for s in settings}) > 1]
    if len(names) < 2:
        return "setting", [wording.params({n: s[n] for n in names or s}) for s in settings]
    labels = [", ".join(wording.number(s.get(n), 3) for n in names) for s in settings]
    return ", ".join(names), labels


def learning(found: dict[str, Any], metric: str, tables: bool) -> Markup:
    """Learning curve: the score against the number of training rows."""
    train, test = ([[or_nan(v)] for v in found[part]] for part in ("train", "test"))
    display = plot.LearningCurveDisplay(
        found["rows"], train, test, "training rows", wording.metric_name(metric), "Learning curve",
        ("training rows", "validation rows"),
    )  # fmt: skip
    return figure(display, tables, 220)


# What was learned -----------------------------------------------------------------------------


def coefficients(found: dict[str, Any], tables: bool, most: int = 20) -> list[Markup]:
    """Coefficients by class, largest first; those of standardised columns if they are known."""
    scaled = found.get("scaled")
    values = scaled or found["values"]
    out = []
    for k, row in enumerate(values[:6]):
        used = [j for j in range(len(row)) if not negligible(row[j], row)] or [0]
        order = sorted(used, key=lambda j: -abs(row[j] or 0.0))[:most]
        classes = found.get("classes") or []
        towards = f" for {clean(classes[k], 40)}" if k < len(classes) else ""
        all_ = len(row) + (found.get("left_out") or 0)  # `learned` keeps the largest terms only
        note = f"The {most} largest of {all_}." if len(used) > most else ""
        if len(used) < all_ and not note:
            note = f"The other {all_ - len(used)} are 0."
        if found.get("method") and found.get("low"):
            note = f"Lines: 95 % intervals ({clean(found['method'], 60)}). {note}".strip()
        elif "low" in found:
            note = f"{note} No intervals: the bootstrap fits took too long or failed.".strip()
        low, high = (found.get(f"scaled_{end}" if scaled else end) for end in ("low", "high"))
        none = [[None] * len(row)] * (k + 1)
        middle, lower, upper = (
            [or_nan(part[k][j]) for j in order] for part in (values, low or none, high or none)
        )
        display = plot.CoefficientsDisplay(
            distinct((found["terms"][j] for j in order), 60), middle, lower, upper, note,
            f"Coefficients{towards}",
            f"coefficient per {'standard deviation' if scaled else 'unit'}",
        )  # fmt: skip
        out.append(figure(display, tables))
    return out


def negligible(value: float | None, values: Sequence[float | None]) -> bool:
    """Whether a number is 0 up to rounding, compared with the largest of its kind."""
    return abs(value or 0.0) <= 1e-9 * max((abs(v or 0.0) for v in values), default=0.0)


def importances(found: dict[str, Any], tables: bool, most: int = 20) -> Markup:
    """Permutation importance of each column, with its interval if known."""
    values = found["values"]
    parts = [found[k] for k in ("values", "low", "high") if found.get(k)]
    used = [j for j in range(len(values)) if any(part[j] for part in parts)] or [0]
    order = sorted(used, key=lambda j: -(values[j] or 0.0))[:most]
    method = wording.with_names(clean(found.get("method") or "", 200))
    cut = f"The {most} largest of {len(values)}." if len(used) > most else ""
    if not cut and len(used) < len(values):
        rest = len(values) - len(used)
        cut = f"The other {rest} are zero." if rest > 1 else "The other one is zero."
    note = " ".join(filter(None, [f"{method[:1].upper()}{method[1:]}." if method else "", cut]))
    none = [None] * len(values)
    ends = (values, found.get("low") or none, found.get("high") or none)
    middle, lower, upper = ([or_nan(part[j]) for j in order] for part in ends)
    display = plot.CoefficientsDisplay(
        distinct((found["columns"][j] for j in order), 60), middle, lower, upper, note,
        "Permutation importance", "importance",
    )  # fmt: skip
    return figure(display, tables)


def history(found: dict[str, Any], tables: bool) -> list[Markup]:
    """Convergence: the objective, and scores on validation rows, by iteration."""
    steps, loss = found.get("iteration"), found.get("objective")
    if not steps or not loss or len(steps) < 2:
        return []
    run: dict[str, Any] = {"iteration": steps}
    for key in ("objective", "validation_score", "validation_loss"):
        values = [or_nan(value) for value in found.get(key) or ()]
        if any(map(math.isfinite, values)):
            run[key] = values
    return figures(plot.HistoryDisplay({"fit": run}), tables, 200) if len(run) > 1 else []


def many_classes(labels: list[str], counts: list[list[int]]) -> Markup:
    """A confusion matrix of many classes as a heat map."""
    display = plot.ConfusionMatrixDisplay(counts, distinct(labels, 60))
    return figure(display, True, width=WIDE)
