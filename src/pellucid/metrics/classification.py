"""Metrics of predicted labels. `average` is None, "binary", "micro", "macro" or "weighted"."""

from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, UndefinedMetricWarning, shown, warn
from pellucid.metrics.inputs import label_pair, weights

AVERAGES = (None, "binary", "micro", "macro", "weighted")


def accuracy_score(
    y_true: Any, y_pred: Any, *, normalize: bool = True, sample_weight: Any = None
) -> float:
    """Share of correct labels; their number, or weight, with `normalize=False`.

    >>> from pellucid.metrics import accuracy_score
    >>> accuracy_score(["a", "b", "b"], ["a", "b", "a"])
    0.6666666666666666
    """
    true, pred = label_pair(y_true, y_pred)
    w, hit = weights(sample_weight, len(true)), true == pred
    return float(np.average(hit, weights=w)) if normalize else float(hit @ w)


def zero_one_loss(
    y_true: Any, y_pred: Any, *, normalize: bool = True, sample_weight: Any = None
) -> float:
    """Share of wrong labels; their number, or weight, with `normalize=False`."""
    right = accuracy_score(y_true, y_pred, normalize=normalize, sample_weight=sample_weight)
    return (1.0 if normalize else float(weights(sample_weight, len(y_true)).sum())) - right


def confusion_matrix(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    sample_weight: Any = None,
    normalize: str | None = None,
) -> np.ndarray:
    """Counts of rows by true class (rows of the matrix) and predicted class (columns).

    `labels` chooses and orders the classes; rows with other classes are left out. `normalize` is
    "true", "pred" or "all": shares of the rows, the columns or the whole matrix.

    >>> from pellucid.metrics import confusion_matrix
    >>> confusion_matrix(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    array([[1, 1],
           [0, 1]])
    """
    true, pred = label_pair(y_true, y_pred)
    classes = _classes(labels, true, pred)
    matrix = weights_by_class(true, pred, classes, weights(sample_weight, len(true)))
    if normalize is not None:
        return _shares(matrix, normalize)
    counted = sample_weight is None or np.asarray(sample_weight).dtype.kind in "iub"
    return matrix.astype(np.int64) if counted else matrix


def weights_by_class(
    true: np.ndarray, pred: np.ndarray, classes: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Weight of the rows by true class and predicted class; rows of other classes do not count."""
    first, second = _codes(true, classes), _codes(pred, classes)
    inside = (first >= 0) & (second >= 0)
    cells = first[inside] * len(classes) + second[inside]
    return np.bincount(cells, w[inside], len(classes) ** 2).reshape(len(classes), -1)


def _shares(matrix: np.ndarray, normalize: str) -> np.ndarray:
    if normalize not in ("true", "pred", "all"):
        raise ParameterError(
            f"normalize must be 'true', 'pred', 'all' or None. Got {shown(normalize)} instead."
        )
    axis = {"true": 1, "pred": 0, "all": None}[normalize]
    total = np.broadcast_to(matrix.sum(axis=axis, keepdims=True), matrix.shape)
    return np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)


def _classes(labels: Any, true: np.ndarray, pred: np.ndarray) -> np.ndarray:
    """The classes of a metric: given, or all that occur."""
    present = np.union1d(true, pred)
    if labels is None:
        return present
    given = np.asarray(labels)
    if not given.size:
        raise ParameterError("labels is empty: name at least one class.")
    if not np.isin(given, present).any():
        raise ParameterError(
            f"None of the labels {shown(given.tolist())} occurs in y_true or y_pred."
        )
    return given


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The position of each label in `classes`, -1 if it is not there."""
    order = np.argsort(classes, kind="stable")
    found = np.searchsorted(classes[order], y).clip(max=len(classes) - 1)
    return np.where(classes[order][found] == y, order[found], -1)


def _divide(
    top: np.ndarray, below: np.ndarray, zero_division: Any, sentence: str, warned: bool = True
) -> np.ndarray:
    """top / below; `zero_division` where below is 0, with a warning if it is "warn"."""
    value = 0.0 if zero_division == "warn" else float(zero_division)
    out = np.full(np.shape(top), value)
    np.divide(top, below, out=out, where=below != 0)
    if zero_division == "warn" and warned and (below == 0).any():
        warn(
            f"{sentence} It counts as 0; set zero_division to use another value.",
            UndefinedMetricWarning,
        )
    return out


def _check_average(average: Any, zero_division: Any) -> None:
    if average not in AVERAGES:
        known = ", ".join(map(repr, AVERAGES))
        raise ParameterError(f"average must be one of {known}. Got {shown(average)} instead.")
    allowed = zero_division == "warn" or zero_division in (0, 1) or zero_division != zero_division
    if not allowed:
        raise ParameterError(
            f"zero_division must be 'warn', 0, 1 or NaN. Got {shown(zero_division)} instead."
        )


def _counts(
    y_true: Any, y_pred: Any, labels: Any, pos_label: Any, average: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By class: weight of the correct rows, of the predicted rows, of the true rows."""
    true, pred = label_pair(y_true, y_pred)
    present = np.union1d(true, pred)
    if average == "binary":
        if len(present) > 2:
            raise DataError(
                f"average='binary' needs two classes, but there are {len(present)}. Choose 'micro', "
                "'macro', 'weighted' or None."
            )
        if len(present) == 2 and pos_label not in present.tolist():
            raise ParameterError(
                f"pos_label must be one of {shown(present.tolist())}. Got {shown(pos_label)} instead."
            )
        labels = np.array([pos_label])
    classes = present if labels is None else np.asarray(labels)
    w = weights(sample_weight, len(true))
    hit = [w[(true == c) & (pred == c)].sum() for c in classes]
    found = np.array(
        [hit, [w[pred == c].sum() for c in classes], [w[true == c].sum() for c in classes]]
    )
    if average == "micro":
        found = found.sum(axis=1, keepdims=True)
    return found[0], found[1], found[2]


def _averaged(values: np.ndarray, true: np.ndarray, average: Any, zero_division: Any) -> Any:
    """The values of the classes as one number; undefined ones (NaN) are left out of a mean."""
    if average is None:
        return values
    known = ~np.isnan(values)
    if not known.any():
        return float("nan")
    if average == "weighted":
        if true[known].sum() == 0:
            return 0.0 if zero_division == "warn" else float(zero_division)
        return float(np.average(values[known], weights=true[known]))
    return float(values[known].mean())


def _fscores(
    hit: np.ndarray, pred: np.ndarray, true: np.ndarray, beta: float, zero: Any, warned: bool = True
) -> np.ndarray:
    if np.isposinf(beta):
        return _divide(hit, true, zero, "Recall is undefined for a class without rows.", warned)
    weight = beta * beta
    empty = "F-score is undefined for a class that is neither true nor predicted."
    return _divide((1 + weight) * hit, weight * true + pred, zero, empty, warned)


def precision_recall_fscore_support(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float = 1.0,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = None,
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, F-score and number of true rows, by class, or averaged (support is then None).

    F is the harmonic mean of precision and recall, with recall counting `beta` times as much:
    (1 + beta^2) P R / (beta^2 P + R).
    """
    _check_average(average, zero_division)
    hit, pred, true = _counts(y_true, y_pred, labels, pos_label, average, sample_weight)
    values = (
        _divide(hit, pred, zero_division, "Precision is undefined for a class never predicted."),
        _divide(hit, true, zero_division, "Recall is undefined for a class without rows."),
        _fscores(hit, pred, true, beta, zero_division, warned=False),
    )
    precision, recall, f = (_averaged(v, true, average, zero_division) for v in values)
    counted = sample_weight is None or np.asarray(sample_weight).dtype.kind in "iub"
    support = true.astype(np.int64) if counted else true
    return precision, recall, f, support if average is None else None


def precision_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Of the rows predicted as a class, the share that belongs to it.

    `average="binary"` gives the class `pos_label`. "macro" is the mean over the classes, "weighted" the
    mean by their number of true rows, "micro" adds the counts of all classes, None returns one value
    per class.

    >>> from pellucid.metrics import precision_score
    >>> precision_score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    _check_average(average, zero_division)
    hit, pred, true = _counts(y_true, y_pred, labels, pos_label, average, sample_weight)
    empty = "Precision is undefined for a class never predicted."
    values = _divide(hit, pred, zero_division, empty)
    return _averaged(values, true, average, zero_division)


def recall_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Of the rows of a class, the share predicted as this class; `average` as in precision_score."""
    _check_average(average, zero_division)
    hit, _, true = _counts(y_true, y_pred, labels, pos_label, average, sample_weight)
    values = _divide(hit, true, zero_division, "Recall is undefined for a class without rows.")
    return _averaged(values, true, average, zero_division)


def fbeta_score(
    y_true: Any,
    y_pred: Any,
    *,
    beta: float,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Weighted harmonic mean of precision and recall; `beta` > 1 gives recall more weight."""
    _check_average(average, zero_division)
    hit, pred, true = _counts(y_true, y_pred, labels, pos_label, average, sample_weight)
    return _averaged(_fscores(hit, pred, true, beta, zero_division), true, average, zero_division)


def f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Harmonic mean of precision and recall; `average` as in precision_score.

    >>> from pellucid.metrics import f1_score
    >>> f1_score(["ham", "spam", "spam"], ["ham", "spam", "ham"], average=None).round(3)
    array([0.667, 0.667])
    """
    return fbeta_score(
        y_true, y_pred, beta=1.0, labels=labels, pos_label=pos_label, average=average,
        sample_weight=sample_weight, zero_division=zero_division,
    )  # fmt: skip


def jaccard_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: str | None = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """Of the rows that are truly or predicted of a class, the share that are both."""
    _check_average(average, zero_division)
    hit, pred, true = _counts(y_true, y_pred, labels, pos_label, average, sample_weight)
    empty = "Jaccard is undefined for a class that is neither true nor predicted."
    values = _divide(hit, pred + true - hit, zero_division, empty)
    return _averaged(values, true, average, zero_division)


def balanced_accuracy_score(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, adjusted: bool = False
) -> float:
    """Mean recall of the classes that occur; `adjusted` rescales it so that chance is 0."""
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight).astype(float)
    rows = matrix.sum(axis=1)
    recalls = np.diag(matrix)[rows > 0] / rows[rows > 0]
    score, chance = recalls.mean(), 1 / len(recalls)
    return float((score - chance) / (1 - chance)) if adjusted else float(score)


def matthews_corrcoef(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Correlation of true and predicted classes, from -1 to 1; 0 if one of them is constant."""
    matrix = confusion_matrix(y_true, y_pred, sample_weight=sample_weight).astype(float)
    true, pred, n = matrix.sum(axis=1), matrix.sum(axis=0), matrix.sum()
    covariance = np.trace(matrix) * n - true @ pred
    spread = (n * n - pred @ pred) * (n * n - true @ true)
    return float(covariance / np.sqrt(spread)) if spread else 0.0


def cohen_kappa_score(
    y1: Any, y2: Any, *, labels: Any = None, weights: Any = None, sample_weight: Any = None
) -> float:
    """Agreement of two labellings beyond chance; `weights` is None, "linear" or "quadratic"."""
    matrix = confusion_matrix(y1, y2, labels=labels, sample_weight=sample_weight).astype(float)
    distance = np.abs(np.subtract.outer(np.arange(len(matrix)), np.arange(len(matrix))))
    costs = {None: distance > 0, "linear": distance, "quadratic": distance**2}
    if weights not in costs:
        raise ParameterError(
            f"weights must be None, 'linear' or 'quadratic'. Got {shown(weights)} instead."
        )
    expected = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / matrix.sum()
    chance = (costs[weights] * expected).sum()
    return float(1 - (costs[weights] * matrix).sum() / chance) if chance else float("nan")


def classification_report(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    target_names: Any = None,
    sample_weight: Any = None,
    digits: int = 2,
    zero_division: Any = "warn",
) -> str:
    """Precision, recall, F1 and number of rows of every class as a text, with their averages.

    >>> from pellucid.metrics import classification_report
    >>> print(classification_report(["a", "a", "b"], ["a", "b", "b"]))
                  precision    recall  f1-score   support
    <BLANKLINE>
               a       1.00      0.50      0.67         2
               b       0.50      1.00      0.67         1
    <BLANKLINE>
        accuracy                           0.67         3
       macro avg       0.75      0.75      0.67         3
    weighted avg       0.83      0.67      0.67         3
    <BLANKLINE>
    """
    given = {"labels": labels, "sample_weight": sample_weight, "zero_division": zero_division}
    true, pred = label_pair(y_true, y_pred)
    classes = _classes(labels, true, pred)
    named = [str(name) for name in (classes if target_names is None else target_names)]
    columns = precision_recall_fscore_support(y_true, y_pred, average=None, **given)
    support = columns[3]
    all_present = labels is None or set(np.union1d(true, pred)) <= set(classes.tolist())
    averages = ["micro", "macro", "weighted"]
    quiet = given | {"zero_division": 0 if zero_division == "warn" else zero_division}
    footer: list[tuple[str, Any]] = [
        (f"{name} avg", precision_recall_fscore_support(y_true, y_pred, average=name, **quiet)[:3])
        for name in averages
    ]
    if all_present:
        footer[0] = ("accuracy", (None, None, footer[0][1][2]))
    width = max(*map(len, named), len("weighted avg"), digits)
    heads = ("precision", "recall", "f1-score", "support")
    lines = [" " * width + " " + "".join(f" {head:>9}" for head in heads), ""]
    for name, *row in zip(named, *columns, strict=True):
        lines.append(_report_line(name, row[:3], row[3], width, digits))
    lines.append("")
    lines += [_report_line(name, row, support.sum(), width, digits) for name, row in footer]
    return "\n".join(lines) + "\n"


def _report_line(name: str, values: Any, rows: Any, width: int, digits: int) -> str:
    cells = "".join(" " * 10 if v is None else f" {v:>9.{digits}f}" for v in values)
    return f"{name:>{width}} {cells} {rows:>9}"
