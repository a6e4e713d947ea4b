"""Every error and warning that Pellucid raises on purpose.

All errors derive from `PellucidError`, so one `except` clause catches them; each also derives from
the built-in (`ValueError`, `TypeError`) that scikit-learn's users expect. The texts say what is wrong,
where, whether it matters and what to do. All warnings go through `warn`, which names the user's
line.
"""

import sys
import warnings


class PellucidError(Exception):
    """Base of all errors raised on purpose by Pellucid."""


class DataError(PellucidError, ValueError):
    """The table, target or weights cannot be used as they are."""


class DataTypeError(PellucidError, TypeError):
    """The container or the cells have a type that Pellucid cannot use."""


class ParameterError(PellucidError, ValueError):
    """A parameter of an estimator or function has a wrong type or value."""


class NotFittedError(PellucidError, ValueError, AttributeError):
    """The estimator must be fitted before this call."""


class ModelFileError(PellucidError, ValueError):
    """A model file is damaged, hostile, or written by a newer version."""


class CannotSaveError(PellucidError, TypeError):
    """The model holds something that a safe model file cannot contain."""


class MemoryLimitError(PellucidError, MemoryError):
    """A fit cannot be done within the memory ceiling."""


class ScratchError(PellucidError, OSError):
    """The folder for scratch files is full or cannot be written."""


class PellucidWarning(UserWarning):
    """Base of all warnings raised by Pellucid."""


class UnseenLevelWarning(PellucidWarning):
    """A category at prediction did not occur in training."""


class ConvergenceWarning(PellucidWarning):
    """A solver stopped before it reached its goal."""


class DataConversionWarning(PellucidWarning):
    """The data were used, but not in the form they were given."""


class UndefinedMetricWarning(PellucidWarning):
    """A metric is not defined for these rows; the value that stands for it is named."""


def shown(value: object) -> str:
    """The repr of a value; NumPy's scalars as the plain values they are, in lists too."""
    if type(value) is list:
        return f"[{', '.join(map(shown, value))}]"
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    plain = kind and kind in "biufcU" and not getattr(value, "ndim", 1)
    return repr(value.item() if plain else value)  # type: ignore[attr-defined]


# Modules between a user's line and the place that warns: ours, and what runs our threads.
_BETWEEN = ("pellucid", "threading", "concurrent")


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside Pellucid; in a worker thread, here."""
    level, frame = 2, sys._getframe(1)
    while str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        if frame.f_back is None:
            level = 2
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
