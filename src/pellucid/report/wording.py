"""Plain words and numbers for readers: metrics, scores, p-values, times, checks.

Invariant: pure functions of plain values; nothing here knows HTML, and nothing computes a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pellucid.draw.label_text import clean
from pellucid.draw.number import exponent, number

METRICS = {
    "roc_auc": (
        "ROC AUC",
        "how often a row of the class in question gets a higher score than a row of the other "
        "(0.5 is guessing, 1 is perfect)",
    ),
    "accuracy": ("accuracy", "the share of rows that are predicted right"),
    "balanced_accuracy": (
        "balanced accuracy",
        "the share predicted right in each class, averaged, so that rare classes count as much",
    ),
    "f1": ("F1", "a mean of precision and recall (1 is perfect)"),
    "log_loss": (
        "log loss",
        "how surprised the model is by the truth; wrong but certain answers cost most (0 is perfect)",
    ),
    "average_precision": ("average precision", "precision averaged over recall (1 is perfect)"),
    "rmse": (
        "RMSE",
        "the typical size of a mistake in the units of the target; large ones weigh more",
    ),
    "poisson_deviance": (
        "Poisson deviance",
        "how far counts lie from their predicted means, by the log-likelihood (0 is perfect)",
    ),
    "mae": ("MAE", "the mean size of a mistake in the units of the target"),
    "r2": (
        "R²",
        "the share of the target's variation that is explained (0 is the mean, 1 is perfect)",
    ),
}
BOUNDED = {"roc_auc", "accuracy", "balanced_accuracy", "f1", "average_precision", "log_loss", "r2"}
BESIDE = {
    "classification": ("accuracy", "roc_auc", "log_loss"),
    "regression": ("r2", "mae", "rmse"),
}
LEVELS = {"error": "problem", "warning": "look at this", "note": "good to know"}
NOT_AVAILABLE = "n/a"
EXACT = (
    "Every row of the test set is predicted exactly: the columns hold the answer, so this score says "
    "nothing about rows where the answer is not known yet."
)


def beside(task: str, metric: str) -> list[str]:
    """Two further metrics that a board shows; of counts the squared error beside their deviance."""
    others = ("rmse", *BESIDE[task]) if metric == "poisson_deviance" else BESIDE[task]
    return [name for name in dict.fromkeys(others) if name != metric][:2]


def metric_name(metric: str) -> str:
    """The name people use."""
    return METRICS.get(metric, (metric.replace("_", " "), ""))[0]


def with_names(text: str) -> str:
    """A sentence in which metrics have the names people use."""
    return " ".join(metric_name(word) if word in METRICS else word for word in text.split(" "))


def metric_meaning(metric: str) -> str:
    """What it measures, in one sentence; empty for a metric that is not ours."""
    return METRICS.get(metric, ("", ""))[1]


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
    """Whether no row of the test part is predicted with an error that can be seen."""
    error, usual = (test[part].get("rmse") for part in ("metrics", "baseline"))
    return error is not None and usual is not None and error <= 1e-6 * usual


def agreement(data: Mapping[str, Any]) -> str:
    """How the test score lies to the interval of cross-validation: "yes" (inside), "better" or "worse"
    (outside, but no further than both are uncertain), "no" (further), or "" where that is not known.
    """
    test, plan = data["test"], data["plan"]
    own = next((r for r in data["leaderboard"] if r["model"] == test["model"] and r["place"]), None)
    value = test["metrics"].get(plan["metric"])
    if own is None or value is None or test.get("agrees") is None or None in own["ci"]:
        return ""
    if not test["agrees"]:
        return "no"
    low, high = own["ci"]
    if low <= value <= high:
        return "yes"
    return "better" if (value > high) == plan["greater_is_better"] else "worse"


def too_good(verdict: Mapping[str, Any]) -> str:
    """A warning about models that no honest table allows; empty if there is none."""
    found = verdict.get("too_good") or []
    if not found:
        return ""
    named = ", ".join(found)
    return f"{named}: too good to be true. Some columns probably add up to the target."


def gives_no_probabilities(row: Mapping[str, Any]) -> bool:
    """Whether a classifier of the board has no log loss: None in files, NaN in a running program."""
    loss = row["metrics"].get("log_loss", 0.0)
    return loss is None or loss != loss


def p_value(p: float | None) -> str:
    """p as a reader wants it."""
    if p is None or p != p:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.{p_digits(p)}f}"


def p_digits(p: float) -> int:
    """Two decimals, three where they tell on which side of 0.05 it lies."""
    return 3 if p < 0.01 or 0.045 <= p < 0.055 else 2


def seconds(value: float | None) -> str:
    """A time that can be grasped."""
    if value is None or value != value:
        return NOT_AVAILABLE
    if value < 0.1:
        return f"{1000 * value:.1f} ms" if value < 0.01 else f"{1000 * value:.0f} ms"
    if value < 120:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def percent(share: float | None) -> str:
    """A share as a whole percentage that never claims 0 or 100 % wrongly."""
    if share is None or share != share:
        return ""
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def amount(value: float) -> str:
    """A contribution with its sign."""
    return f"{'+' if value >= 0 else '−'}{number(abs(value), 3)}"


def params(values: Mapping[str, Any] | None) -> str:
    """Parameters on one line."""
    if not values:
        return "nothing to choose"
    return ", ".join(f"{key} = {number(value, 3)}" for key, value in values.items())


def verdict(row: Mapping[str, Any]) -> str:
    """What to do with a row of the board."""
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
