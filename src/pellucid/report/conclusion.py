"""The answer in sentences, and the legend of the leaderboard's marks.

Terminal, report, Markdown and notebooks show these sentences. Invariant: all are made from the one
verdict of a comparison, so they cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid.comparison.analysis.verdict import (
    BELOW,
    BEST,
    FAR,
    LOWER,
    MAX_LOST,
    NEAR,
    NO_BETTER,
    SAME,
    WORSE,
)
from pellucid.draw.label_text import clean
from pellucid.report.wording import (
    METRICS,
    agreement,
    interval,
    listing,
    metric_name,
    model_name,
    p_value,
    percent,
    plural,
    score,
    title_in_sentence,
)

STAR = "*"
STARRED = "significant on its own, but not after Holm's correction"
STANDINGS = {
    BEST: "best", SAME: "as good", NEAR: "as good", WORSE: "worse", LOWER: "weaker", FAR: "weaker",
    NO_BETTER: "no gain", BELOW: "no gain",
}  # fmt: skip


def against(row: Mapping[str, Any]) -> str:
    """How a row of the board compares with the best."""
    word, p = STANDINGS.get(row.get("why", ""), ""), p_value(row.get("p"))
    if row.get("why") == BEST or not p:
        return word
    return f"{word}, {p}{STAR if starred(row) else ''}"


def starred(row: Mapping[str, Any]) -> bool:
    """Whether a difference is significant alone, but not after Holm's correction."""
    alone, among = row.get("p"), row.get("p_holm")
    return alone is not None and among is not None and alone < 0.05 <= among


def legend(data: Mapping[str, Any]) -> list[str]:
    """What the marks on the leaderboard mean; only those that it has."""
    rows = [row for row in data["leaderboard"] if row["place"]]
    reasons = {row["why"] for row in rows}
    if len(rows) < 2:
        return []
    family = sum(row.get("p_holm") is not None for row in rows)
    units = {"group": "groups", "time": "blocks of times"}.get(
        data["plan"].get("folds", ""), "rows"
    )
    if data["plan"]["metric"] not in METRICS:  # scikit-learn's metrics have no value per row
        units = "folds"
    over = f"paired by {units}"
    if family > 1:
        over += f", after Holm's correction for {family} tests; the table shows p before it"
    if not data["verdict"]["beats_baseline"]:
        lines = [f"= no significant difference from the baseline ({over})"]
        none = ["no gain: scores no higher than the baseline"]
        return lines + (none if reasons & {NO_BETTER, BELOW} else [])
    lines = [
        f"= as good as the best: loses less than {_margin(data)} of the best model's gain over the "
        f"baseline, or is not significantly worse ({over}) and probably loses at most "
        f"{percent(MAX_LOST)} of that gain"
    ]
    if any(map(starred, rows)):
        lines.append(f"{STAR} {STARRED}")
    known = {FAR: f"probably loses more than {percent(MAX_LOST)} of the best model's gain",
             LOWER: "ranks below a model that is not as good"}  # fmt: skip
    weaker = [text for reason, text in known.items() if reason in reasons]
    if weaker:
        lines.append(f"weaker: not significantly worse, but {' or '.join(weaker)}")
    if reasons & {NO_BETTER, BELOW}:
        lines.append("no gain: not significantly better than the baseline")
    return lines


def _margin(data: Mapping[str, Any]) -> str:
    return f"{100 * data['verdict']['margin']:.3g} %"


def answer(data: Mapping[str, Any]) -> list[str]:
    """Warnings, the recommended model, its score, the alternatives and the test set."""
    best = data["verdict"]["recommended"]
    if best is None:
        return ["No model has a score. The leaderboard gives the reasons."]
    own = next(row for row in data["leaderboard"] if row["model"] == best)
    metric = data["plan"]["metric"]
    return [
        *filter(None, (test_disagrees(data), leak_warning(data))),
        _choice(data, own),
        f"Its {metric_name(metric)} is {score(own['mean'], metric)} in cross-validation (95 % interval "
        f"{interval(own['ci'], metric)}){_over_baseline(data, own)}.",
        *rare_class(data, own),
        *alternatives(data, own),
        *_on_test_set(data, own),
    ]


def _choice(data: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    target, model = clean(data["data"]["target"], 60), model_name(own)
    if test_disagrees(data):
        return f"Cross-validation alone would recommend {model} to predict {target}."
    if not own["baseline"]:
        return f"Use {model} to predict {target}."
    baseline = f"the baseline ({title_in_sentence(own)}), which ignores the columns"
    if data["verdict"]["scored"] == 1:
        return f"Only {baseline}, has a score."
    return f"No model predicts {target} significantly better than {baseline}."


def _over_baseline(data: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """The score of the baseline, and whether the recommended model is significantly better."""
    base = next((r for r in data["leaderboard"] if r["baseline"] and r["place"]), None)
    if base is None or own["baseline"]:
        return ""
    value = score(base["mean"], data["plan"]["metric"])
    word = "significantly better than" if data["verdict"]["beats_baseline"] else "against"
    return f", {word} the baseline's {value} ({title_in_sentence(base)}, which ignores the columns)"


def rare_class(data: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """Recall of the rarest class, if the leaderboard has it because the class is rare."""
    found, classes = own.get("recall"), data["data"].get("classes")
    if not found or not classes or own["baseline"]:
        return []
    rarest = min(classes, key=lambda c: c["rows"])
    share = rarest["rows"] / sum(c["rows"] for c in classes)
    recall = found.get(rarest["label"])
    if recall is None or recall != recall:
        return []
    return [
        f"Its recall for {clean(rarest['label'], 60)!r}, the rarest class ({percent(share)} of the "
        f"rows), is {percent(recall)}."
    ]


def alternatives(data: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """Which other models are as good, and why this one is recommended."""
    verdict, metric = data["verdict"], data["plan"]["metric"]
    others, good = verdict["scored"] - 1, len(verdict["as_good"]) - 1
    if not others:
        return ["No other model has a score."]
    if own["baseline"]:
        return []
    top = next(row for row in data["leaderboard"] if row["model"] == verdict["best"])
    if own["mean"] == top["mean"]:
        if not good:
            which = "The other model is" if others == 1 else f"None of the other {others} models is"
            return [f"{which} {'not ' if others == 1 else ''}as good."]
        which = f"{good} of the other {others} models {'is' if good == 1 else 'are'}"
        which = "The other model is" if others == 1 else which
        return [f"{which} as good; this one {reason(data, own)}."]
    family = sum(row.get("p_holm") is not None for row in data["leaderboard"])
    among = f" after Holm's correction for {family} tests" if family > 1 else ""
    gap = f"not significantly better ({p_value(own['p_holm'])}{among})"
    if own["why"] == NEAR:
        gap = f"better by less than {_margin(data)} of the gain over the baseline"
    alike = own["rank"] == top["rank"]
    matters = "alone matters" if alike else "matters more than simplicity"
    return [
        f"The best score, {score(top['mean'], metric)} for {model_name(top)}, is {gap}; the "
        f"recommended model {reason(data, own)}.",
        f"If the score {matters}, use {top['model']} (--prefer score).",
    ]


def reason(data: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Why the recommended model is preferred to those that are as good."""
    if data["verdict"]["prefer"] == "score":
        return "has the best score"
    good = [r for r in data["leaderboard"] if r.get("as_good")]
    alike = [r for r in good if r["rank"] == own["rank"]]
    if len(alike) == 1:
        return f"is the simplest of the {len(good)} models that are as good as the best"
    loss = "log_loss" if data["data"]["task"] == "classification" else data["plan"]["metric"]
    known, best = own["metrics"].get(loss), "highest" if loss == "r2" else "lowest"
    if known is None or known != known or loss not in METRICS:
        best, loss = "best", data["plan"]["metric"]
    which = f"{len(alike)} simplest models that are as good as the best"
    return f"has the {best} {metric_name(loss)} of the {which}"


def rule(data: Mapping[str, Any]) -> str:
    """The rule by which a model is recommended."""
    if data["verdict"]["prefer"] == "score":
        return "the one with the best score (--prefer score)"
    classes = data["data"]["task"] == "classification"
    return (
        "the simplest of those as good as the best; if several are equally simple, the one with "
        f"the {'lowest log loss' if classes else 'best score'}"
    )


def _on_test_set(data: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    test, metric = data.get("test"), data["plan"]["metric"]
    if not test or "failed" in test or metric not in test["metrics"]:
        return []
    known = test["intervals"].get(metric)
    ends = f" (95 % interval {interval(known, metric)})" if known else ""
    base = f"; the baseline's is {score(test['baseline'].get(metric), metric)}"
    base = "" if own["baseline"] else base
    return [
        f"On the test set of {plural(test['rows'], 'row')}, its {metric_name(metric)} is "
        f"{score(test['metrics'][metric], metric)}{ends}{base}."
    ]


def test_disagrees(data: Mapping[str, Any]) -> str:
    """A warning if the recommended model is much worse on the test set; empty if not."""
    test, metric = data.get("test"), data["plan"]["metric"]
    if not test or "failed" in test or not test.get("baseline"):
        return ""
    own = next((r for r in data["leaderboard"] if r["model"] == test["model"]), None)
    value, base = test["metrics"].get(metric), test["baseline"].get(metric)
    if own is None or own["baseline"] or value is None or base is None:
        return ""
    sign, called = 1 if data["plan"]["greater_is_better"] else -1, metric_name(metric)
    result = (
        f"on the test set of {plural(test['rows'], 'row')}, its {called} is {score(value, metric)}"
    )
    if sign * value < sign * base:
        return (
            f"Do not rely on {model_name(own)}: {result}, worse than the baseline's "
            f"{score(base, metric)}."
        )
    if agreement(data) == "much worse":
        return (
            f"Do not rely on the cross-validation score of {model_name(own)}: {result}, worse than "
            f"cross-validation predicted ({interval(own['ci'], metric)})."
        )
    return ""


def leak_warning(data: Mapping[str, Any]) -> str:
    """A warning if a check suspects that columns leak the target; empty if not."""
    found = [check for check in data.get("checks", []) if check["leak"]]
    columns = list(dict.fromkeys(name for check in found for name in check.get("columns", ())))
    if not found:
        return ""
    codes = ", ".join(sorted({check["code"] for check in found}))
    which, whose = ("A column", "its") if len(columns) == 1 else ("Some columns", "their")
    named = f" ({listing(columns)})" if columns else ""
    return (
        f"{which} may leak the target{named}: unless {whose} values are known before the target, these "
        f"scores will not hold for new rows (check {codes})."
    )
