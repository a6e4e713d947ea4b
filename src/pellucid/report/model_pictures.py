"""Charts of one model: out-of-fold predictions, hyperparameter search, what it learned.

Invariant: as in `pictures`, this module only chooses what to show; all text passes through `draw`,
which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from pellucid import draw
from pellucid.draw.label_text import clean, distinct
from pellucid.draw.points import evenly
from pellucid.report import wording
from pellucid.report.pictures import MOST_SERIES, WIDE, in_percent, look_of, markup, or_nan

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
    series = {name: _points(e, banded) for name, e in zip(names, entries)}
    bands = {name: band for name, e in zip(names, entries) if banded and (band := _band(e))}
    references = {"random": ([0, 1], [0, 1])} if roc else None
    if not roc and len(entries) == 1 and entries[0].get("share") is not None:
        references = {"random": ([0, 1], [entries[0]["share"]] * 2)}
    notes = ["Shaded: lowest to highest fold."] if bands else []
    notes += ["Ring: the decision threshold, over all folds."] if cut else []
    picture = markup(
        draw.line(
            series,
            bands=bands,
            references=references,
            x_range=(0, 1),
            y_range=(0, 1),
            x_label="false-positive rate" if roc else "recall",
            y_label="true-positive rate (recall)" if roc else "precision",
            ring=_at(cut, roc) if cut else None,
            **look_of(
                "ROC curve" if roc else "Precision-recall curve",
                tables, height=220, note=" ".join(notes),
            ),
        )
    )  # fmt: skip
    return Markup('<div class="curve-{}">{}</div>').format(kind, picture)


def _points(entry: dict[str, Any], fine: bool) -> tuple[list[float], list[float]]:
    """The mean curve, with half of its points if `fine` is False."""
    x, y = entry["mean"]["x"], entry["mean"]["y"]
    return (x, y) if fine else (evenly(x, len(x) // 2), evenly(y, len(y) // 2))


def _at(cut: list[float], roc: bool) -> tuple[float, float]:
    """The place of a threshold on the ROC or the precision-recall curve."""
    _, tp, fp, fn, tn = cut
    recall = tp / max(tp + fn, 1e-300)
    return (fp / max(fp + tn, 1e-300), recall) if roc else (recall, tp / (tp + fp or 1.0))


def _band(entry: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """The band from the lowest to the highest fold, if all folds have the x values of the mean."""
    mean, folds = entry["mean"], entry.get("folds") or []
    if "low" in mean:
        return mean["x"], mean["low"], mean["high"]
    if len(folds) < 2 or any(len(fold["y"]) != len(mean["x"]) for fold in folds):
        return None
    levels = list(zip(*(fold["y"] for fold in folds)))
    return mean["x"], [min(level) for level in levels], [max(level) for level in levels]


def calibration(found: list[dict[str, Any]], tables: bool) -> Markup | None:
    """Calibration: observed share against predicted probability, with the rows of each point."""
    entries = [entry for entry in found if entry.get("bins")][:MOST_SERIES]
    if not entries:
        return None
    names = distinct((e["class"] for e in entries), 40)
    shown = {name: e.get("points") or e["bins"] for name, e in zip(names, entries)}
    picture = draw.line(
        {n: ([b["predicted"] for b in p], [b["observed"] for b in p]) for n, p in shown.items()},
        references={"perfectly calibrated": ([0, 1], [0, 1])},
        x_range=(0, 1),
        y_range=(0, 1),
        x_label="predicted probability",
        y_label="observed share",
        more={"rows": [b["rows"] for points in shown.values() for b in points]},
        **look_of("Calibration", tables, height=220),
    )
    drawn, data, table = markup(picture).partition("<details>")  # the scores go above the data
    return (
        drawn.replace("</figure>", "")
        + _calibration_scores(entries, shown)
        + data
        + (table or _END)
    )


def _calibration_scores(
    entries: list[dict[str, Any]], shown: dict[str, list[dict[str, Any]]]
) -> Markup:
    """Brier score, expected calibration error and rows per point of each class."""
    lines = []
    for (name, points), entry in zip(shown.items(), entries):
        rows = ", ".join(str(b["rows"]) for b in points)
        whose = Markup("<bdi>{}</bdi>: ").format(name) if len(entries) > 1 else ""
        scores = f"Brier score {entry['brier']:.3f}, ECE {entry['ece']:.3f}, rows per point {rows}"
        lines.append(Markup("{}{}.").format(whose, scores))
    return Markup('<p class="under">{}</p>').format(Markup("<br>").join(lines))


def probabilities(entry: dict[str, Any], tables: bool) -> Markup:
    """Histogram of a predicted probability, by actual class."""
    counts = dict(zip(distinct(entry["counts"], 40), entry["counts"].values()))
    which = "the actual class" if entry["class"] is None else clean(entry["class"], 30)
    shown = dict(list(counts.items())[:MOST_SERIES])
    return markup(
        draw.histogram(
            entry["edges"],
            {name: in_percent(values) for name, values in shown.items()},
            x_label=f"predicted probability of {which}",
            y_label="% of each actual class",
            **look_of("Predicted probabilities by actual class", tables, height=220),
        )
    )


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


def residuals(found: dict[str, Any], tables: bool) -> tuple[Markup, Markup]:
    """Actual values and residuals, both against the prediction."""
    predicted, actual = found["predicted"], found["actual"]
    ends = [min([*predicted, *actual]), max([*predicted, *actual])]
    cut = found["shown"] < found["rows"]
    note = f"{found['shown']} of {found['rows']} rows, drawn at random." if cut else ""
    first = draw.scatter(
        {"rows": (predicted, actual)},
        references={"perfect": (ends, ends)},
        x_label="predicted",
        y_label="actual",
        note=note,
        **look_of("Actual against predicted", tables, height=220),
    )
    second = draw.scatter(
        {"rows": (predicted, [a - b for a, b in zip(actual, predicted)])},
        references={"zero": ([min(predicted), max(predicted)], [0, 0])},
        x_label="predicted",
        y_label="actual minus predicted",
        note=note,
        **look_of("Residuals", tables, height=220),
    )
    return markup(first), markup(second)


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
    return markup(
        draw.intervals(
            [
                (f"{c['chosen']}× " if c.get("chosen") else "") + setting
                for c, setting in zip(tried, settings)
            ],
            [or_nan(c["mean"]) for c in tried],
            [or_nan(c.get("low")) for c in tried],
            [or_nan(c.get("high")) for c in tried],
            x_label=wording.metric_name(metric),
            y_label=varied,
            note=note,
            **look_of("Hyperparameter search", tables),
        )
    )


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
    return markup(
        draw.line(
            {
                "validation rows": (found["rows"], found["test"]),
                "training rows": (found["rows"], found["train"]),
            },
            x_label="training rows",
            y_label=wording.metric_name(metric),
            **look_of("Learning curve", tables, height=220),
        )
    )


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
        look = look_of(f"Coefficients{towards}", tables, note=note)
        look["x_label"] = f"coefficient per {'standard deviation' if scaled else 'unit'}"
        terms = [found["terms"][j] for j in order]
        low, high = (found.get(f"scaled_{end}" if scaled else end) for end in ("low", "high"))
        if low and high:
            parts = ([or_nan(part[k][j]) for j in order] for part in (values, low, high))
            out.append(markup(draw.intervals(terms, *parts, reference=0.0, **look)))
        else:
            out.append(markup(draw.bar(terms, {"coefficient": [row[j] for j in order]}, **look)))
    return out


def negligible(value: float | None, values: Sequence[float | None]) -> bool:
    """Whether a number is 0 up to rounding, compared with the largest of its kind."""
    return abs(value or 0.0) <= 1e-9 * max((abs(v or 0.0) for v in values), default=0.0)


def _to_digits_of_the_largest(part: list[float], values: list[float | None]) -> list[float]:
    """Numbers rounded to the third digit of the largest value."""
    top = max((abs(v) for v in values if v is not None and v == v), default=0.0)
    return [round(v, 3 - math.ceil(math.log10(top))) for v in part] if 0 < top < math.inf else part


def importances(found: dict[str, Any], tables: bool, most: int = 20) -> Markup:
    """Permutation importance of each column, with its interval if known."""
    values = found["values"]
    parts = [found[k] for k in ("values", "low", "high") if found.get(k)]
    used = [j for j in range(len(values)) if any(part[j] for part in parts)] or [0]
    order = sorted(used, key=lambda j: -(values[j] or 0.0))[:most]
    names = [found["columns"][j] for j in order]
    look = look_of("Permutation importance", tables)
    method = wording.with_names(clean(found.get("method") or "", 200))
    cut = f"The {most} largest of {len(values)}." if len(used) > most else ""
    if not cut and len(used) < len(values):
        rest = len(values) - len(used)
        cut = f"The other {rest} are zero." if rest > 1 else "The other one is zero."
    look["note"] = " ".join(
        filter(None, [f"{method[:1].upper()}{method[1:]}." if method else "", cut])
    )
    look["x_label"] = "importance"
    if found.get("low") and found.get("high"):
        ends = ([or_nan(part[j]) for j in order] for part in parts)
        shown = (_to_digits_of_the_largest(end, values) for end in ends)
        return markup(draw.intervals(names, *shown, reference=0.0, **look))
    return markup(draw.bar(names, {"importance": [values[j] for j in order]}, **look))


def history(found: dict[str, Any], tables: bool) -> Markup | None:
    """Convergence: the objective, and scores on validation rows, by iteration."""
    steps, loss = found.get("iteration"), found.get("objective")
    if not steps or not loss or len(steps) < 2:
        return None
    values = [v for v in loss if v is not None]
    first = markup(
        draw.line(
            {"objective": (steps, [or_nan(v) for v in loss])},
            x_label="iteration",
            y_label="objective",
            y_log=bool(values) and min(values) > 0 and max(values) > 30 * min(values),
            **look_of("Convergence", tables, height=200),
        )
    )
    return first + _validation(found, tables)


def _validation(found: dict[str, Any], tables: bool) -> Markup:
    """Validation score or loss by iteration, if the solver used validation rows."""
    aside = found.get("validation_score") or found.get("validation_loss") or []
    if all(value is None or value != value for value in aside):
        return Markup("")
    word = "score" if found.get("validation_score") else "loss"
    return markup(
        draw.line(
            {f"validation {word}": (found["iteration"], [or_nan(v) for v in aside])},
            x_label="iteration",
            y_label=word,
            **look_of(f"Validation {word} by iteration", tables, height=200),
        )
    )


def many_classes(labels: list[str], counts: list[list[int]]) -> Markup:
    """A confusion matrix of many classes as a heat map."""
    look = look_of("Confusion matrix (rows: actual, columns: predicted)", True, width=WIDE)
    return markup(draw.heatmap(counts, labels, labels, y_label="actual class", **look))
