"""The arguments of metrics as arrays: labels, numbers, scores and weights, checked."""

from typing import Any

import numpy as np

from pellucid.data.targets import as_vector, weights_or_ones
from pellucid.errors import DataError, ParameterError, shown

PARAMETERS = {
    "y_true": "the true labels or numbers, one per row.",
    "y_pred": "the predicted labels or numbers.",
    "y1": "labels, one per row.",
    "y2": "other labels of the same rows.",
    "y_score": "the score of the positive class; a higher one means more likely positive.",
    "y_proba": "the predicted probabilities: of the positive class, or one column per class.",
    "beta": "weight of recall relative to precision.",
    "labels": "the classes, in the order of the result; None takes those that occur.",
    "pos_label": "the class that counts as positive.",
    "average": 'None, "binary", "micro", "macro" or "weighted", as in precision_score.',
    "sample_weight": "weights of the rows; None counts every row once.",
    "zero_division": 'the value of 0 / 0: 0, 1 or NaN; "warn" is 0 with a warning.',
    "multioutput": 'for several columns of y: "uniform_average", "raw_values" or one weight per column.',
    "force_finite": "whether a constant y has the score 1 or 0 instead of NaN or -infinity.",
    "power": "the variance of y is proportional to its mean to this power.",
    "drop_intermediate": "whether to leave out points that do not change the shape of the curve.",
    "target_names": "names to show for the classes.",
    "digits": "number of decimals.",
    "x": "values that only increase or only decrease.",
    "y": "the height of the curve at each x.",
}  # fmt: skip


def vector(values: Any, name: str) -> np.ndarray:
    """One value per row, none missing; a single column counts as a vector."""
    found = np.asarray(as_vector(values, name))
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise DataError(
            f"{name} must have one value per row. Got shape {found.shape} instead; several labels "
            "per row are not supported."
        )
    if not len(found):
        raise DataError(f"{name} has no rows. A metric needs at least one.")
    _check_present(found, name)
    return found


def _check_present(values: np.ndarray, name: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values).reshape(len(values), -1).all(axis=1)))
        raise DataError(f"{name} contains NaN or infinity (row {row}). Replace or drop the row.")
    if values.dtype.kind == "O":
        missing = [row for row, cell in enumerate(values) if cell is None or cell != cell]
        if missing:
            raise DataError(f"{name} has a missing value (row {missing[0]}). Drop such rows.")


def check_lengths(first: Any, second: Any, names: tuple[str, str]) -> None:
    """Two arguments describe the same rows."""
    if len(first) != len(second):
        raise DataError(
            f"{names[0]} has {len(first)} rows and {names[1]} has {len(second)}. They must match."
        )


def label_pair(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """True and predicted labels of the same kind; numbers must be whole."""
    pair = vector(y_true, "y_true"), vector(y_pred, "y_pred")
    check_lengths(*pair, ("y_true", "y_pred"))
    check_kinds(*(_has_texts(values) for values in pair))
    for name, values in zip(("y_true", "y_pred"), pair, strict=True):
        if values.dtype.kind == "f" and (values != np.floor(values)).any():
            raise DataError(f"{name} holds numbers that are not whole, so they cannot be labels.")
    return pair


def check_kinds(true_has_texts: bool, pred_has_texts: bool) -> None:
    """Refuse texts on one side and numbers on the other."""
    if true_has_texts != pred_has_texts:
        texts, numbers = ("y_true", "y_pred") if true_has_texts else ("y_pred", "y_true")
        raise DataError(f"{texts} contains text, but {numbers} contains numbers: no labels match.")


def _has_texts(values: np.ndarray) -> bool:
    if values.dtype.kind == "O":
        return any(isinstance(cell, str) for cell in values)
    return values.dtype.kind == "U"


def weights(sample_weight: Any, n: int) -> np.ndarray:
    """One weight per row; ones if there are none."""
    return weights_or_ones(sample_weight, n)


def positive_class(pos_label: Any, y: np.ndarray) -> Any:
    """The class that counts as positive; None means 1, for labels among -1, 0 and 1."""
    if pos_label is not None:
        return pos_label
    classes = np.unique(y)
    if classes.dtype.kind in "OU" or not set(classes.tolist()) <= {-1, 0, 1}:
        raise ParameterError(
            f"y_true has the classes {shown(classes.tolist()[:5])}: set pos_label to the class that "
            "counts as positive."
        )
    return 1


def score_matrix(y_score: Any, name: str = "y_score") -> np.ndarray:
    """Scores or probabilities, one or several columns, finite."""
    found = np.asarray(as_vector(y_score, name))
    if found.dtype.kind not in "fiub":
        try:
            found = found.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{name} must hold numbers.") from None
    _check_present(found, name)
    return found
