"""What a comparison can be told: one table of settings for Python, command line, files, environment.

A setting has a name, a kind, a default and a sentence. `Settings` holds the values together with
where each came from. Invariant: a value is checked here once, wherever it came from, and the error
names the setting, what is allowed and what was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pellucid.errors import ParameterError

_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Setting:
    """One setting. `shapes` says whether another value can change a result; one that `judges` can
    change what is concluded from the scores, not the scores: a run may be continued with another."""

    name: str
    kind: str  # text, int, float, list, columns, duration, flag, choice
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    shapes: bool = True
    judges: bool = False


SETTINGS = (
    Setting("target", "text", None, "The column to predict."),
    Setting("task", "choice", "auto", "The kind of task.", ("auto", "classification", "regression")),
    Setting("metric", "text", "auto", "The metric that ranks the models: one of ours or a scikit-learn scorer."),
    Setting("cv", "int", 5, "Number of cross-validation folds.", low=2, high=100),
    Setting("repeats", "int", 1, "Number of times to repeat the cross-validation with new folds.", low=1, high=100),
    Setting("test_size", "float", 0.2, "Share of the rows held out as the test set; 0 for none.", low=0, high=0.9),
    Setting("test", "text", None, "A file to use as the test set."),
    Setting("group", "text", None, "Group column: rows of a group are never split between training and test."),
    Setting("time", "text", None, "Time column: models are trained on earlier rows and tested on later ones."),
    Setting("weights", "text", None, "Column of row weights."),
    Setting("id", "columns", (), "ID columns, not used for training; repeatable."),
    Setting("encoding", "text", None, "Encoding of the file, such as cp1252; default: detected."),
    Setting("drop", "columns", (), "Columns to leave out; repeatable."),
    Setting("positive", "text", None, "Positive class for binary metrics; default: the last class."),
    Setting("models", "list", (), "Compare only these models."),
    Setting("exclude", "list", (), "Compare all models except these."),
    Setting("effort", "choice", "normal", "Effort of the hyperparameter search.", ("quick", "normal", "thorough")),
    Setting("time_limit", "duration", None, "Stop the run after this time, such as 90s, 10m or 1h.", shapes=False),
    Setting("model_timeout", "duration", None, "Time limit for one model."),
    Setting("memory_limit", "float", None, "Memory limit for one model, in GB.", low=0.05),
    Setting("margin", "float", 0.01, "Share of the best model's gain over the baseline that counts as no difference.", low=0, high=0.5, judges=True),
    Setting("prefer", "choice", "simple", "Recommend the simplest model that is as good as the best, or the best score.", ("simple", "score"), judges=True),
    Setting("seed", "int", 0, "Random seed.", low=0),
    Setting("select", "list", (), "Run only these checks, by code or prefix."),
    Setting("ignore", "list", (), "Skip these checks, by code or prefix."),
    Setting("jobs", "int", None, "Number of parallel processes; default: one per CPU.", low=1, high=1024, shapes=False),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}


def duration(text: Any) -> float:
    """Seconds of `90`, `90s`, `10m`, `1h30m`."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        if text > 0:
            return float(text)
        raise ValueError
    # The unit may be left out at the end only: elsewhere a number could be divided in many ways.
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
    """Names from a list, or from text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _columns(value: Any) -> tuple[str, ...]:
    """Texts as given: only the table can tell commas between names from commas in names."""
    parts = (value,) if isinstance(value, str) else value
    return tuple(str(part) for part in parts if str(part).strip())


def _flag(value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    return words[str(value).lower()]


_READ: dict[str, Callable[[Any], Any]] = {
    "text": str,
    "int": _whole,
    "float": _number,
    "list": _listed,
    "columns": _columns,
    "duration": duration,
    "flag": _flag,
    "choice": str,
}
_MEANT = {
    "int": "a whole number",
    "float": "a number",
    "duration": "a time such as 90s, 10m or 1h",
    "list": "names with commas between",
    "columns": "names of columns",
    "flag": "true or false",
    "text": "text",
}


def read_value(setting: Setting, value: Any) -> Any:
    """The checked value; an error says what is allowed."""
    if value is None:
        return setting.default
    try:
        out = _READ[setting.kind](value)
        fits = not setting.choices or out in setting.choices
        fits = fits and (setting.low is None or out >= setting.low)
        fits = fits and (setting.high is None or out <= setting.high)
    except (ValueError, TypeError, KeyError):
        fits = False
    if not fits:
        value = value.item() if hasattr(value, "item") else value  # 1, not np.int64(1)
        raise ParameterError(f"{setting.name} must be {allowed(setting)}. Got {value!r} instead.")
    return out


def allowed(setting: Setting) -> str:
    """What a setting can be, in words."""
    if setting.choices:
        return "one of " + ", ".join(setting.choices)
    text = _MEANT[setting.kind]
    if setting.low is not None:
        text += f" of at least {setting.low:g}"
    if setting.high is not None:
        text += f" and at most {setting.high:g}"
    return text


@dataclass(frozen=True)
class Settings:
    """All values by name, and the source of each: "default", "command line", a file, ..."""

    values: dict[str, Any]
    sources: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], sources: Mapping[str, str] | None = None) -> Settings:
        """Checked values; what is not given (or None) takes its default."""
        unknown = [name for name in given if name not in BY_NAME]
        if unknown:
            from pellucid.data.io.source import did_you_mean

            raise ParameterError(
                f"there is no setting {unknown[0]!r}.{did_you_mean(unknown[0], BY_NAME)}"
            )
        values = {s.name: read_value(s, given.get(s.name)) for s in SETTINGS}
        named = sources or {name: "call" for name, value in given.items() if value is not None}
        return cls(values, {name: named.get(name, "default") for name in values})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def shaping(self) -> dict[str, Any]:
        """The values that can change the result, as JSON values."""
        return {
            s.name: list(v) if isinstance(v, tuple) else v
            for s in SETTINGS
            if s.shapes and (v := self.values[s.name]) is not None
        }

    def scoring(self) -> dict[str, Any]:
        """Those that can change a score: a continued run must have the same."""
        return {name: v for name, v in self.shaping().items() if not BY_NAME[name].judges}

    def judging(self) -> dict[str, Any]:
        """Those that can change what is concluded from the scores."""
        return {name: v for name, v in self.shaping().items() if BY_NAME[name].judges}
