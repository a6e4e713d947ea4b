"""Texts for readers: names of metrics and models, scores, p-values, times.

Invariant: pure functions of plain values; no HTML, and no score is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid.draw.label_text import clean
from pellucid.draw.number import exponent, number

METRICS = {
    "roc_auc": (
        "ROC AUC",
        "the probability that a row of a class is ranked above a row of another class (0.5 is guessing, "
        "1 is perfect)",
    ),
    "accuracy": ("accuracy", "the share of rows that are predicted correctly"),
    "balanced_accuracy": (
        "balanced accuracy",
        "the recall of each class, averaged, so that rare classes count as much as frequent ones",
    ),
    "f1": ("F1", "the harmonic mean of precision and recall (1 is perfect)"),
    "log_loss": (
        "log loss",
        "minus the mean log probability of the actual class; confident errors cost most (0 is perfect)",
    ),
    "average_precision": ("average precision", "precision averaged over recall (1 is perfect)"),
    "rmse": (
        "RMSE",
        "the root mean squared error, in the units of the target; large errors weigh more",
    ),
    "poisson_deviance": (
        "Poisson deviance",
        "how far the counts are from their predicted means, by the log-likelihood (0 is perfect)",
    ),
    "mae": ("MAE", "the mean absolute error, in the units of the target"),
    "r2": (
        "R²",
        "the share of the target's variance that is explained (0 is the mean, 1 is perfect)",
    ),
}
BOUNDED = {"roc_auc", "accuracy", "balanced_accuracy", "f1", "average_precision", "log_loss", "r2"}
BESIDE = {
    "classification": ("accuracy", "roc_auc", "log_loss"),
    "regression": ("r2", "mae", "rmse"),
}
PROPER = (
    "AdaBoost",
    "Bayesian",
    "L1-penalised",
    "Poisson",
)  # titles that keep their capital letter
NOT_AVAILABLE = "n/a"
AGREEMENT = {
    "": "",
    "yes": "The test score agrees with cross-validation.",
    "better": "The test score is better than cross-validation predicted, but the intervals overlap: "
    "this may be chance.",
    "worse": "The test score is worse than cross-validation predicted, but the intervals overlap: this "
    "may be chance, or cross-validation was optimistic.",
    "much better": "The test score disagrees with cross-validation: it is better by more than the "
    "uncertainty of both. Find out why before you rely on either.",
    "much worse": "The test score disagrees with cross-validation: it is worse by more than the "
    "uncertainty of both. Find out why before you rely on either.",
}
EXACT = (
    "Every row of the test set is predicted exactly, so the columns contain the answer. This score says "
    "nothing about rows whose answer is not known yet."
)


def beside(task: str, metric: str) -> list[str]:
    """Two further metrics for the leaderboard; RMSE comes first beside a Poisson deviance."""
    others = ("rmse", *BESIDE[task]) if metric == "poisson_deviance" else BESIDE[task]
    return [name for name in dict.fromkeys(others) if name != metric][:2]


def metric_name(metric: str) -> str:
    """The usual name of a metric."""
    return METRICS.get(metric, (metric.replace("_", " "), ""))[0]


def model_name(row: Mapping[str, Any]) -> str:
    """A row's model inside a sentence: its title, and its id where that differs.

    >>> model_name({"model": "forest", "title": "Random forest"})
    'random forest (forest)'
    >>> model_name({"model": "svm_rbf", "title": "Support vector machine (RBF kernel)"})
    'support vector machine (RBF kernel; svm_rbf)'
    >>> model_name({"model": "lasso", "title": "Lasso"})
    'lasso'
    """
    title, model = title_in_sentence(row), row["model"]
    if title.lower().replace(" ", "_") == model:
        return title
    return f"{title[:-1]}; {model})" if title.endswith(")") else f"{title} ({model})"


def title_in_sentence(row: Mapping[str, Any]) -> str:
    """A row's title without the capital letter of a heading."""
    title = row["title"]
    keeps = title == row["model"] or title.startswith(PROPER)
    return title if keeps else title[0].lower() + title[1:]


def with_names(text: str) -> str:
    """A sentence in which metrics have their usual names."""
    return " ".join(metric_name(word) if word in METRICS else word for word in text.split(" "))


def score(value: float | None, metric: str, decimals: int = 3) -> str:
    """A score as a table shows it."""
    if value is None or value != value:
        return NOT_AVAILABLE
    if metric == "log_loss" and 0 < value < 0.5 * 10**-decimals:
        return f"<{10**-decimals:.{decimals}f}"  # it is small, but it is not 0
    if metric == "r2" and value < -99:
        return number(value, 3)
    if metric in BOUNDED:
        return f"{round(value, decimals) + 0.0:.{decimals}f}"  # never -0
    power = exponent(value, 4) if value else 0
    # Scores of one size have the same decimals, so that a column of them can be read.
    return f"{value:.{3 - power}f}" if -4 <= power <= 3 else number(value, 4)


def interval(ends: Any, metric: str) -> str:
    """`0.981 to 1.000`."""
    if not ends or ends[0] is None or ends[1] is None:
        return NOT_AVAILABLE
    return f"{score(ends[0], metric)} to {score(ends[1], metric)}"


def exact(test: Mapping[str, Any]) -> bool:
    """Whether every row of the test set is predicted without error, but for rounding."""
    error, usual = (test[part].get("rmse") for part in ("metrics", "baseline"))
    return error is not None and usual is not None and error <= 1e-6 * usual


def agreement(data: Mapping[str, Any]) -> str:
    """Whether the test score agrees with cross-validation: "yes" (inside its interval), "better" or
    "worse" (outside, but within the uncertainty of both), "much better" or "much worse" (further
    away), or "" if unknown.
    """
    test, plan = data["test"], data["plan"]
    own = next((r for r in data["leaderboard"] if r["model"] == test["model"] and r["place"]), None)
    value = test["metrics"].get(plan["metric"])
    if own is None or value is None or test.get("agrees") is None or None in own["ci"]:
        return ""
    low, high = own["ci"]
    if test["agrees"] and low <= value <= high:
        return "yes"
    better = (value > own["mean"]) == plan["greater_is_better"]
    return ("" if test["agrees"] else "much ") + ("better" if better else "worse")


def disagrees(data: Mapping[str, Any]) -> bool:
    """Whether the test score and cross-validation differ by more than the uncertainty of both."""
    return agreement(data).startswith("much")


def too_good(verdict: Mapping[str, Any]) -> str:
    """A warning about models whose scores are implausibly good; empty if there are none."""
    found = verdict.get("too_good") or []
    if not found:
        return ""
    return f"{', '.join(found)}: too good to be true. Some columns probably add up to the target."


def gives_no_probabilities(row: Mapping[str, Any]) -> bool:
    """Whether a classifier has no log loss: None in files, NaN in a running program."""
    loss = row["metrics"].get("log_loss", 0.0)
    return loss is None or loss != loss


def p_value(p: float | None) -> str:
    """`p = 0.03`, or `p < 0.001`."""
    if p is None or p != p:
        return ""
    decimals = 3 if p < 0.01 or 0.045 <= p < 0.055 else 2  # three near a limit
    return "p < 0.001" if p < 0.001 else f"p = {p:.{decimals}f}"


def seconds(value: float | None) -> str:
    """A time in a readable unit."""
    if value is None or value != value:
        return NOT_AVAILABLE
    if value < 0.1:
        return f"{1000 * value:.1f} ms" if value < 0.01 else f"{1000 * value:.0f} ms"
    if value < 120:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def percent(share: float | None) -> str:
    """A share as a whole percentage; 0 % and 100 % are exact."""
    if share is None or share != share:
        return ""
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def params(values: Mapping[str, Any] | None) -> str:
    """Parameters on one line."""
    if not values:
        return "default settings"
    return ", ".join(f"{key} = {number(value, 3)}" for key, value in values.items())


def verdict(row: Mapping[str, Any]) -> str:
    """The tag of a row of the leaderboard."""
    if row.get("recommended"):
        return "recommended"
    return "baseline" if row.get("baseline") else ""


def plural(count: int, one: str, many: str = "") -> str:
    """`1 row`, `2 rows`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listing(names: list[str], most: int = 6) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(clean(name, 60) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def intervals(data: Mapping[str, Any]) -> str:
    """How wide the prediction intervals (or sets) of the recommended model are, and what they cover."""
    found = data.get("intervals")
    if not found:
        return ""
    level = f"{100 * found['level']:.0f} %"
    covered = f"{100 * found['coverage']:.1f} % in cross-validation"
    if "test_coverage" in found:
        covered += f" and {100 * found['test_coverage']:.1f} % on the test set"
    if "reach" in found:
        wide = f"about the prediction +- {found['reach']:.4g}"
        return f"{level} prediction interval: {wide}; it covers {covered}."
    text = (
        f"{level} prediction set: {found['classes']:.2f} classes on average; it covers {covered}."
    )
    if found["accuracy"] > found["level"]:
        alone = f"{100 * found['accuracy']:.1f} %"
        text += f" The most probable class alone is right for {alone}, and no set is empty."
    return text


def threshold(data: Mapping[str, Any]) -> str:
    """The threshold that was chosen for the costs."""
    found = data.get("threshold")
    if not found:
        return ""
    alarm, miss = found["cost_false_alarm"], found["cost_miss"]
    return (
        f"Threshold for costs of {alarm:g} (false alarm) and {miss:g} (miss): {found['threshold']:.3f}, "
        f"at a cost of {found['cost']:.3g} per row instead of {found['cost_at_half']:.3g} at 0.5 "
        "(out of fold)."
    )
