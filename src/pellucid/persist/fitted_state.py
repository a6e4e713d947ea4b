"""What every fitted model must satisfy after loading, whatever its family.

Families add what their own loops rely on (shapes, indices in range) as `_check_state`.
"""

from __future__ import annotations

from inspect import get_annotations
from typing import Any

import numpy as np

from pellucid.data.raw_column import is_missing
from pellucid.errors import ModelFileError
from pellucid.persist.checks import is_quick
from pellucid.records import Status

# What a learned attribute may be that is declared as a number or a text.
SCALARS: dict[str, tuple[type, ...]] = {
    "float": (float, int, np.floating, np.integer),
    "int": (int, np.integer),
    "bool": (bool, np.bool_),
    "str": (str,),
}


def check_state(model: Any) -> None:
    """Parameters in their ranges, a schema of the right layout, columns and classes that agree."""
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    if hasattr(model, "_input_spec"):
        _check_columns(model)
        _check_classes(model)
        _check_scalars(model, vars(model))
        _check_diagnostics(model, vars(model), type(model).__name__)
        _check_additions(model)
    if hasattr(model, "_check_state"):
        model._check_state()


def _check_scalars(model: Any, learned: dict[str, Any]) -> None:
    """Learned attributes that are declared as numbers or texts are such; integers have 64 bits."""
    for base in type(model).__mro__:
        declared = get_annotations(base)
        for name in vars(base).get("_declared", {}):
            kind = declared.get(name)
            allowed = SCALARS.get(kind if isinstance(kind, str) else getattr(kind, "__name__", ""))
            if allowed is None or not name.endswith("_") or name not in learned:
                continue
            if not isinstance(learned[name], allowed) or is_too_long(learned[name]):
                raise ModelFileError(f"its {type(model).__name__} has no {kind} {name}")


def is_too_long(value: Any) -> bool:
    """Whether it is an integer that 64 bits do not hold: NumPy takes it for an object."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _check_additions(model: Any) -> None:
    """What a comparison adds to a model: out-of-fold errors, a threshold, a calibration."""
    name = type(model).__name__
    if "unseen_errors_" in vars(model):
        _check_errors(model, name)
    threshold = vars(model).get("threshold_")
    if threshold is not None:
        number = isinstance(threshold, float | np.floating) and 0 <= threshold <= 1
        if not number or len(vars(model).get("classes_", ())) != 2:
            raise ModelFileError(f"its {name} has no threshold for two classes")
    if "calibration_" in vars(model):
        expect_array(model, "calibration_", len(model.classes_) + 1, finite=True)
        if model.calibration_[0] < 0:
            raise ModelFileError(f"its {name} has a negative slope")


def _check_errors(model: Any, name: str) -> None:
    """Errors sorted within each fold, and the models of the folds, for the same columns and classes."""
    expect_array(model, "fold_sizes_", None, dtype=np.int64)
    errors = ("unseen_errors_", *(["adaptive_errors_"] if model._target == "classes" else []))
    sizes = model.fold_sizes_
    for one in errors:
        expect_array(model, one, None, finite=True)
        found = vars(model)[one]
        if (sizes < 0).any() or not sizes.any() or sizes.sum() != len(found) or found.min() < 0:
            raise ModelFileError(f"its {name} has errors of unseen rows that are not in order")
        for part in np.split(found, np.cumsum(sizes)[:-1]):
            if (np.diff(part) < 0).any():
                raise ModelFileError(f"its {name} has errors of unseen rows that are not in order")
    models = vars(model).get("fold_models_")
    if not isinstance(models, list) or len(models) not in (0, len(sizes)):
        raise ModelFileError(f"its {name} has not one model for each fold")
    for own in models:
        same = getattr(own, "_kind", None) == model._kind and "schema_" in vars(own)
        if not same or own.schema_.columns != model.schema_.columns:
            raise ModelFileError(f"its {name} has a model of a fold with other columns")
        if model._target == "classes" and not set(own.classes_.tolist()) <= set(
            model.classes_.tolist()
        ):
            raise ModelFileError(f"its {name} has a model of a fold with other classes")


def _check_diagnostics(model: Any, learned: dict[str, Any], name: str) -> None:
    """What the solver left behind: shown by the model's card, never used to predict."""
    declared = any("status_" in vars(base).get("_declared", {}) for base in type(model).__mro__)
    if (declared or "status_" in learned) and type(learned.get("status_")) is not Status:
        raise ModelFileError(f"its {name} does not state how its fit ended")
    history, n_iter = learned.get("history_"), learned.get("n_iter_")
    if history is not None:
        table = isinstance(history, dict) and {"iteration", "objective"} <= history.keys()
        columns = list(history.values()) if table else [None]
        vectors = [c for c in columns if isinstance(c, np.ndarray) and c.dtype.kind in "fiub"]
        shapes = {vector.shape for vector in vectors}
        if len(vectors) < len(columns) or any(v.ndim != 1 for v in vectors) or len(shapes) > 1:
            raise ModelFileError(f"its {name} has a history that is not a table of numbers")
    if n_iter is not None:
        counts = np.asarray(n_iter)
        if counts.dtype.kind not in "iu" or not counts.size or counts.ndim > 3:
            raise ModelFileError(f"its {name} has no count of iterations")


def _check_columns(model: Any) -> None:
    from pellucid.data import Schema

    learned, name = vars(model), type(model).__name__
    schema, given = learned.get("schema_"), learned.get("feature_names_in_")
    if type(schema) is not Schema or schema.layout != model._input_spec().layout:
        raise ModelFileError(f"its {name} lacks the schema it needs")
    expected = None if schema.names is None else list(schema.names)
    found = None if given is None else np.asarray(given, object).tolist()
    if not reads_text_quickly(schema):
        raise ModelFileError(f"its {name} finds words by a pattern that may take forever")
    if learned.get("n_features_in_") != schema.n_columns or found != expected:
        raise ModelFileError(f"its {name} has other columns than its schema")


def reads_text_quickly(schema: Any) -> bool:
    """Whether the words of the text columns, if there are any, are found in linear time."""
    return "text" not in schema.kinds or is_quick(schema.text_pattern)


def _check_classes(model: Any) -> None:
    classes = vars(model).get("classes_")
    if model._target != "classes":
        return
    if type(classes) is not np.ndarray or classes.ndim != 1 or not len(classes):
        raise ModelFileError(f"its {type(model).__name__} lacks its classes")
    labels = classes.tolist()
    if len(set(labels)) < len(labels) or any(map(is_missing, labels)):
        raise ModelFileError(f"its {type(model).__name__} repeats a class or has a missing one")


def expect_array(
    model: Any, name: str, *shape: int | None, dtype: Any = np.float64, finite: bool = False
) -> None:
    """For `_check_state`: `model.name` is an array of this type and shape; None is any length."""
    array = vars(model).get(name)
    right = type(array) is np.ndarray and array.dtype == dtype and array.ndim == len(shape)
    if not right or any(k not in (None, found) for k, found in zip(shape, array.shape)):
        raise ModelFileError(f"its {type(model).__name__} has no {name} of the right shape")
    if finite and not np.isfinite(array).all():
        raise ModelFileError(f"its {type(model).__name__} has infinite or missing {name}")


def expect_number(model: Any, name: str, low: float = -np.inf) -> None:
    """For `_check_state`: `model.name` is a number of at least `low`."""
    value = vars(model).get(name)
    number = isinstance(value, int | float | np.number) and not is_too_long(value)
    if not number or not low <= value < np.inf:
        raise ModelFileError(f"its {type(model).__name__} has no {name} in its range")


def expect_count(model: Any, name: str, most: int) -> None:
    """For `_check_state`: `model.name` is a whole number from 0 to `most`."""
    value = vars(model).get(name)
    if not isinstance(value, int | np.integer) or not 0 <= value <= most:
        raise ModelFileError(f"its {type(model).__name__} has no {name} in its range")


def expect_texts(model: Any, name: str, *entries: str) -> None:
    """For `_check_state`: these entries of the dict `model.name` are texts."""
    if not all(type(vars(model)[name].get(entry)) is str for entry in entries):
        raise ModelFileError(f"its {type(model).__name__} lacks a name in {name}")


def expect_positions(model: Any, name: str, end: int) -> None:
    """For `_check_state`: `model.name` is a vector of positions below `end`."""
    expect_array(model, name, None, dtype=np.int64)
    positions = getattr(model, name)
    if ((positions < 0) | (positions >= end)).any():
        raise ModelFileError(f"its {type(model).__name__} has {name} beyond its columns")


def expect_entries(model: Any, name: str, **shapes: tuple[int | None, ...]) -> dict[str, Any]:
    """For `_check_state`: `model.name` is a dict of arrays of these shapes, or of numbers: ()."""
    kept = vars(model).get(name)
    found = kept if isinstance(kept, dict) else {}
    for entry, shape in shapes.items():
        value: Any = found.get(entry)
        right = isinstance(value, np.ndarray if shape else int | float | np.number)
        right = right and np.ndim(value) == len(shape) and np.asarray(value).dtype.kind in "fib"
        if not right or any(k not in (None, size) for k, size in zip(shape, np.shape(value))):
            owner = type(model).__name__
            raise ModelFileError(f"its {owner} has no {entry!r} of the right shape in {name}")
    return found


def expect_full_rank(model: Any, square: np.ndarray) -> None:
    """For `_check_state`: equations with this matrix can be solved."""
    finite = np.isfinite(square).all()
    if not finite or (len(square) and np.linalg.matrix_rank(square) < len(square)):
        raise ModelFileError(f"its {type(model).__name__} cannot solve for its aliased columns")


def expect_increasing(model: Any, positions: np.ndarray, end: int) -> None:
    """For `_check_state`: a vector of increasing positions below `end`."""
    inside = positions.dtype.kind == "i" and ((positions >= 0) & (positions < end)).all()
    if not inside or (np.diff(positions) <= 0).any():
        raise ModelFileError(
            f"its {type(model).__name__} names columns or classes it does not have"
        )


def n_terms(model: Any) -> int:
    """The number of columns that the model's schema encodes a table to."""
    return len(model.schema_.owner)
