"""Ten metrics with weights, equal to scikit-learn's; its scorers provide all others by name.

A metric is computed from predictions: labels, probabilities, scores or numbers. A metric that cannot
be computed (an AUC without scores, or with one class) is NaN, shown as n/a, never 0.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import _sklearn
from pellucid.default_scores import r2_score
from pellucid.errors import ParameterError
from pellucid.metrics.ranked_scores import binary_auc, binary_average_precision

RARE = 0.2  # share of the rarest class below which accuracy says little about it
SMALLEST_MEAN = 1e-3  # of the mean of y: predictions of a Poisson deviance count as at least this
# Names of metrics in other libraries, and the names here.
ALIASES = {
    "auc": "roc_auc", "rocauc": "roc_auc", "auroc": "roc_auc", "gini": "roc_auc",
    "aucpr": "average_precision", "prauc": "average_precision", "auprc": "average_precision",
    "acc": "accuracy", "bacc": "balanced_accuracy",
    "logloss": "log_loss", "crossentropy": "log_loss", "nll": "log_loss",
    "fscore": "f1", "f1score": "f1", "fmeasure": "f1",
    "mse": "rmse", "l2": "rmse", "squarederror": "rmse", "rootmeansquarederror": "rmse",
    "l1": "mae", "meanabsoluteerror": "mae", "rsquared": "r2", "rsq": "r2",
    "poisson": "poisson_deviance", "meanpoissondeviance": "poisson_deviance",
    "mcc": "matthews_corrcoef", "brier": "neg_brier_score",
    "mape": "neg_mean_absolute_percentage_error", "medae": "neg_median_absolute_error",
    "rmsle": "neg_root_mean_squared_log_error",
}  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """Name, required predictions, direction, and a function of (y, predictions, weights)."""

    name: str
    needs: str  # "labels", "scores", "probabilities", "numbers", "model"
    greater_is_better: bool
    compute: Callable[..., float]

    @property
    def sign(self) -> int:
        return 1 if self.greater_is_better else -1


def _mean(values: np.ndarray, w: np.ndarray) -> float:
    return float(np.average(values, weights=w))


def accuracy(y: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: np.ndarray) -> float:
    """Share of correct labels."""
    return _mean(y == labels, w)


def balanced_accuracy(
    y: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: np.ndarray
) -> float:
    """Mean recall of the classes that occur."""
    recalls = [_mean(labels[y == c] == c, w[y == c]) for c in np.unique(y) if w[y == c].sum() > 0]
    return float(np.mean(recalls))


def recall_by_class(y: np.ndarray, labels: np.ndarray, w: np.ndarray, n_classes: int) -> np.ndarray:
    """Weighted share of the rows of each class (codes 0 to n_classes - 1) with the correct label.

    NaN for a class without rows.
    """
    total = np.bincount(y, w, minlength=n_classes)
    found = np.bincount(y, w * (y == labels), minlength=n_classes)
    return np.divide(found, total, out=np.full(n_classes, np.nan), where=total > 0)


def imbalanced(y: np.ndarray, w: np.ndarray, n_classes: int) -> bool:
    """Whether a class that occurs has less than a share RARE of the rows, by weight."""
    total = np.bincount(y, w, minlength=n_classes)
    return bool(total[total > 0].min() < RARE * total.sum()) if total.any() else False


def f1(y: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: np.ndarray) -> float:
    """F1 of the last of two classes; for more classes the mean over all that occur."""
    seen = np.union1d(y, labels)
    which = classes[-1:] if len(classes) == 2 else seen
    scores = []
    for c in which:
        hit = w[(y == c) & (labels == c)].sum()
        total = w[y == c].sum() + w[labels == c].sum()
        scores.append(2 * hit / total if total > 0 else 0.0)
    return float(np.mean(scores))


def log_losses(codes: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Negative log probability of the true class by row; probabilities are clipped to [eps, 1 - eps]."""
    eps = np.finfo(float).eps
    p = np.clip(proba, eps, 1 - eps)
    p = p / p.sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(codes)), codes])


def log_loss(y: np.ndarray, proba: np.ndarray, w: np.ndarray, classes: np.ndarray) -> float:
    """Mean negative log probability of the true class; a class unknown to the model has eps."""
    known = np.isin(y, classes)
    losses = np.full(len(y), -np.log(np.finfo(float).eps))
    losses[known] = log_losses(np.searchsorted(classes, y[known]), proba[known])
    return _mean(losses, w)


def roc_auc(y: np.ndarray, scores: np.ndarray, w: np.ndarray, classes: np.ndarray) -> float:
    """Area under the ROC curve; for more classes the mean over all classes, each against the rest."""
    return float(each_against_rest(binary_auc, y, scores, w, classes))


def each_against_rest(
    one: Callable[..., Any], y: np.ndarray, scores: np.ndarray, w: np.ndarray, classes: np.ndarray
) -> Any:
    """`one(positive, score, w)` of the last of two classes; for more classes the mean over all
    classes, each against the rest.
    """
    if scores.ndim == 1:
        return one(y == classes[-1], scores, w)
    if len(classes) == 2:
        return one(y == classes[1], scores[:, 1], w)
    return np.mean([one(y == c, scores[:, k], w) for k, c in enumerate(classes)], axis=0)


def average_precision(
    y: np.ndarray, scores: np.ndarray, w: np.ndarray, classes: np.ndarray
) -> float:
    """Area under the precision-recall step function; for more classes the mean over the classes."""
    return float(each_against_rest(binary_average_precision, y, scores, w, classes))


def r2(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """Coefficient of determination."""
    return r2_score(y, predicted, w) if len(y) >= 2 else float("nan")


def rmse(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(_mean((y - predicted) ** 2, w)))


def mae(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """Mean absolute error."""
    return _mean(np.abs(y - predicted), w)


def poisson_deviances(
    y: np.ndarray, predicted: np.ndarray, w: np.ndarray | None = None
) -> np.ndarray:
    """2 (y log(y / mu) - y + mu) by row, for y >= 0; NaN for a negative y.

    A prediction of 0 or less has no deviance, but linear models make such predictions, and trees
    predict 0 if all rows of a leaf are 0. So predictions are at least SMALLEST_MEAN times the mean of y.
    """
    mean = float(np.average(np.maximum(y, 0.0), weights=w)) if len(y) else 0.0
    mu = np.maximum(predicted, SMALLEST_MEAN * mean)
    positive = (y > 0) & (mu > 0)
    logs = np.zeros(np.shape(mu))
    np.log(np.divide(y, mu, out=np.ones_like(logs), where=positive), out=logs, where=positive)
    with np.errstate(over="ignore"):
        return np.where(y >= 0, 2 * (y * logs - y + mu), np.nan)


def poisson_deviance(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """Mean Poisson deviance of counts from their predicted means."""
    return _mean(poisson_deviances(y, predicted, w), w)


METRICS = {
    m.name: m
    for m in (
        Metric("accuracy", "labels", True, accuracy),
        Metric("balanced_accuracy", "labels", True, balanced_accuracy),
        Metric("f1", "labels", True, f1),
        Metric("log_loss", "probabilities", False, log_loss),
        Metric("roc_auc", "scores", True, roc_auc),
        Metric("average_precision", "scores", True, average_precision),
        Metric("r2", "numbers", True, r2),
        Metric("rmse", "numbers", False, rmse),
        Metric("mae", "numbers", False, mae),
        Metric("poisson_deviance", "numbers", False, poisson_deviance),
    )
}


def metric(name: str) -> Metric:
    """A metric by name: ours, or a scikit-learn scorer of that name."""
    if name in METRICS:
        return METRICS[name]
    try:
        scorer = _sklearn.scorer(name)
    except (ValueError, KeyError):
        raise ParameterError(
            f"Unknown metric {name!r}.{_suggestion(name)} Use one of {', '.join(METRICS)}, or a "
            "scikit-learn scorer."
        ) from None
    return Metric(name, "model", True, _scorer_metric(name, scorer))


def _suggestion(name: str) -> str:
    """` Did you mean ...?` for a name from another library, or a typing error."""
    from pellucid.data.io.source import did_you_mean

    plain = re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("neg")
    known = {own.replace("_", ""): own for own in METRICS} | ALIASES
    root = ", its square root" if plain == "mse" else ""
    if plain in known:
        return f" Did you mean {known[plain]!r}{root}?"
    return did_you_mean(name, METRICS)


def _scorer_metric(name: str, scorer: Callable[..., float]) -> Callable[..., float]:
    """A scikit-learn scorer as a metric; weights are passed only if they differ."""

    def compute(model: Any, X: Any, y: np.ndarray, w: np.ndarray) -> float:
        weights = {} if (w == w[0]).all() else {"sample_weight": w}
        try:
            return float(scorer(model, X, y, **weights))
        except AttributeError as error:
            if "none of the following attributes" in str(error):
                return float("nan")  # the model lacks the method that the scorer calls
            raise
        except TypeError as error:
            if weights and "sample_weight" in str(error):
                raise ParameterError(
                    f"The metric {name!r} does not support sample weights."
                ) from None
            raise

    return compute
