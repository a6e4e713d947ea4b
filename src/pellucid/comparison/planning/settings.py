"""The settings of a comparison: one table for Python, command line, files and environment.

A setting has a name, a kind, a default and a help text. `Settings` holds the values and the source of
each. Invariant: every value is checked here, whatever its source, and an error names the setting, what
is allowed and what was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

from pellucid.errors import ParameterError

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Setting:
    """One setting.

    affects_results : whether another value can change a result
    verdict_only : whether another value changes the conclusion but no score, so that a run can be
        resumed with it
    """

    name: str
    kind: str  # text, int, float, list, columns, duration, choice
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    affects_results: bool = True
    verdict_only: bool = False


SETTINGS = (
    Setting("target", "text", None, "The column to predict."),
    Setting("task", "choice", "auto", "Kind of prediction; auto decides by the target.", ("auto", "classification", "regression")),
    Setting("metric", "text", "auto", "Metric that ranks the models: one of Pellucid's or the name of a scikit-learn scorer."),
    Setting("cv", "int", 5, "Number of cross-validation folds.", low=2, high=100),
    Setting("repeats", "int", 1, "How many times the cross-validation is repeated with new folds.", low=1, high=100),
    Setting("test_size", "float", 0.2, "Share of the rows held out as the test set; 0 for none.", low=0, high=0.9),
    Setting("test", "text", None, "A file whose rows are the test set."),
    Setting("group", "text", None, "Column of groups; the rows of a group are never split between training and test."),
    Setting("time", "text", None, "Column of times; models are tested on rows later than their training rows."),
    Setting("weights", "text", None, "Column of sample weights; a row of weight 2 counts as two rows."),
    Setting("id", "columns", (), "Columns that only identify a row and are not features; repeatable."),
    Setting("encoding", "text", None, "Encoding of the file, such as cp1252; default: detected."),
    Setting("drop", "columns", (), "Columns to leave out; repeatable."),
    Setting("positive", "text", None, "Positive class of binary metrics; default: the last in sorted order."),
    Setting("models", "list", (), "Compare only these models ('pellucid models' lists all)."),
    Setting("exclude", "list", (), "Compare all models except these."),
    Setting("peers", "list", (), "Also compare these models of other packages: lightgbm, xgboost, catboost, or the path of an estimator. They are never saved."),
    Setting("effort", "choice", "normal", "How many hyperparameter candidates are searched.", ("quick", "normal", "thorough")),
    Setting("time_limit", "duration", None, "Stop the whole run after this time, such as 90s, 10m or 1h.", affects_results=False),
    Setting("model_timeout", "duration", None, "Stop a model after this time, such as 90s, 10m or 1h."),
    Setting("memory_limit", "float", None, "Memory limit for one model, in GB.", low=0.05),
    Setting("margin", "float", 0.01, "A model is as good as the best if it loses at most this share of the best model's gain over the baseline.", low=0, high=0.5, verdict_only=True),
    Setting("prefer", "choice", "simple", "Recommend the simplest model that is as good as the best, or the model with the best score.", ("simple", "score"), verdict_only=True),
    Setting("cost_false_alarm", "float", None, "Cost of predicting the positive class wrongly; chooses the threshold of a saved model for two classes.", low=0, verdict_only=True),
    Setting("cost_miss", "float", None, "Cost of missing the positive class; chooses the threshold of a saved model for two classes.", low=0, verdict_only=True),
    Setting("intervals", "choice", "auto", "Prediction intervals and sets of the saved model: cv+ stores the models of the folds as well, for guaranteed coverage; plain uses the saved model alone; auto is cv+ unless the file would grow by more than 50 MB.", ("auto", "cv+", "plain"), verdict_only=True),
    Setting("seed", "int", 0, "Random seed.", low=0),
    Setting("select", "list", (), "Run only these data checks, by code or prefix."),
    Setting("ignore", "list", (), "Skip these data checks, by code or prefix."),
    Setting("jobs", "int", None, "Number of worker processes; default: one per CPU.", low=1, high=1024, affects_results=False),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}


def duration(text: Any) -> float:
    """Seconds in `90`, `90s`, `10m` or `1h30m`."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        if text > 0:
            return float(text)
        raise ValueError
    # Only the last unit may be left out; elsewhere the text would be ambiguous.
    parts = re.fullmatch(r"(?:\d+(?:\.\d+)?[hms])*(?:\d+(?:\.\d+)?)?", str(text).strip())
    if parts is None:
        raise ValueError
    seconds = sum(
        float(amount) * _SECONDS[unit]
        for amount, unit in re.findall(r"(\d+(?:\.\d+)?)(h|m|s|)", str(text))
    )
    if seconds <= 0:
        raise ValueError
    return seconds


def _whole(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError
    return float(value)


def _listed(value: Any) -> tuple[str, ...]:
    """Names from a list, or from text separated by commas."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _columns(value: Any) -> tuple[str, ...]:
    """Texts as given: only the table shows which commas separate names and which are part of one."""
    parts = (value,) if isinstance(value, str) else value
    return tuple(str(part) for part in parts if str(part).strip())


@dataclass(frozen=True)
class Kind:
    """How values of a kind are read, what they must be, and their type in docs and in `--help`."""

    read: Callable[[Any], Any]
    meant: str = ""
    type: str = ""
    metavar: str = "NAME"


KINDS = {
    "text": Kind(str, "text", "str"),
    "choice": Kind(str, metavar="WORD"),
    "int": Kind(_whole, "an integer", "int", "N"),
    "float": Kind(_number, "a number", "float", "X"),
    "list": Kind(_listed, "names separated by commas", "str or list of str", "A,B"),
    "columns": Kind(_columns, "column names", "str or list of str", "A,B"),
    "duration": Kind(duration, "a time such as 90s, 10m or 1h", "seconds, or text", "TIME"),
}


def read_value(setting: Setting, value: Any) -> Any:
    """The checked value; an error lists what is allowed."""
    if value is None:
        return setting.default
    try:
        out = KINDS[setting.kind].read(value)
        fits = not setting.choices or out in setting.choices
        fits = fits and (setting.low is None or out >= setting.low)
        fits = fits and (setting.high is None or out <= setting.high)
    except (ValueError, TypeError):
        fits = False
    if not fits:
        value = value.item() if hasattr(value, "item") else value  # 1, not np.int64(1)
        raise ParameterError(f"{setting.name} must be {allowed(setting)}. Got {value!r} instead.")
    return out


def allowed(setting: Setting) -> str:
    """The allowed values of a setting, in words."""
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    text = KINDS[setting.kind].meant
    if setting.low is None:
        return text
    if setting.high is None:
        return f"{text} of at least {setting.low:g}"
    return f"{text} from {setting.low:g} to {setting.high:g}"


def documentation() -> str:
    """The settings other than the target as the parameter list of a docstring."""
    lines = []
    for setting in SETTINGS[1:]:
        choices = "{" + ", ".join(f'"{choice}"' for choice in setting.choices) + "}"
        kind = choices if setting.choices else KINDS[setting.kind].type
        text = setting.help.replace("; repeatable", "")
        lines.append(f"{setting.name} : {kind}, default={setting.default!r}")
        lines.append(fill(text, 92, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


@dataclass(frozen=True)
class Settings:
    """All values by name, and the source of each: "default", "command line", a file, ..."""

    values: dict[str, Any]
    sources: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> Settings:
        """Checked values; a setting that is not given (or None) takes its default."""
        unknown = [name for name in given if name not in BY_NAME]
        if unknown:
            from pellucid.data.io.source import did_you_mean

            raise ParameterError(
                f"unknown setting {unknown[0]!r}.{did_you_mean(unknown[0], BY_NAME)}"
            )
        values = {s.name: read_value(s, given.get(s.name)) for s in SETTINGS}
        named = sources or {name: "call" for name, value in given.items() if value is not None}
        return cls(values, {name: named.get(name, "default") for name in values})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def affecting_results(self) -> dict[str, Any]:
        """The settings that can change the results, as JSON values."""
        return {
            s.name: list(v) if isinstance(v, tuple) else v
            for s in SETTINGS
            if s.affects_results and (v := self.values[s.name]) is not None
        }

    def affecting_scores(self) -> dict[str, Any]:
        """The settings that can change a score; a resumed run must have the same."""
        found = self.affecting_results()
        return {name: v for name, v in found.items() if not BY_NAME[name].verdict_only}
