"""Metrics of predicted numbers; `multioutput` says how the columns of a 2-D y are combined."""

from typing import Any

import numpy as np

from pellucid.data.targets import as_vector
from pellucid.errors import DataError, ParameterError, UndefinedMetricWarning, shown, warn
from pellucid.metrics.inputs import check_lengths, weights
from pellucid.numerics.moments import sums_of_squares
from pellucid.numerics.quantiles import middle_quantile

MEAN = "uniform_average"


def _numbers(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[np.ndarray, ...]:
    """Two finite arrays of shape (rows, columns), and the weights."""
    pair = []
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        try:
            found = np.asarray(as_vector(values, name)).astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{name} must hold numbers.") from None
        found = found[:, None] if found.ndim == 1 else found
        if found.ndim != 2 or not found.size:
            raise DataError(
                f"{name} must have one or several numbers per row, and at least one row."
            )
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found).all(axis=1)))
            raise DataError(
                f"{name} contains NaN or infinity (row {row}). Replace or drop the row."
            )
        pair.append(found)
    check_lengths(pair[0], pair[1], ("y_true", "y_pred"))
    if pair[0].shape != pair[1].shape:
        raise DataError(f"y_true has {pair[0].shape[1]} columns and y_pred {pair[1].shape[1]}.")
    return pair[0], pair[1], weights(sample_weight, len(pair[0]))


def _combined(values: np.ndarray, multioutput: Any, spread: np.ndarray | None = None) -> Any:
    """The values of the columns as asked for."""
    if isinstance(multioutput, str):
        if multioutput == "raw_values":
            return values
        if multioutput == MEAN:
            return float(values.mean())
        if multioutput == "variance_weighted" and spread is not None:
            return float(np.average(values, weights=spread if spread.any() else None))
        raise ParameterError(
            f"multioutput must be 'raw_values', 'uniform_average' or weights. Got {shown(multioutput)} "
            "instead."
        )
    share = np.asarray(multioutput, dtype=float)
    if share.shape != values.shape:
        raise ParameterError(f"multioutput needs one weight for each of the {len(values)} columns.")
    return float(np.average(values, weights=share))


def mean_squared_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Mean of the squared errors.

    >>> from pellucid.metrics import mean_squared_error
    >>> mean_squared_error([3.0, 5.0], [2.0, 7.0])
    2.5
    """
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    return _combined(np.average((y - f) ** 2, axis=0, weights=w), multioutput)


def root_mean_squared_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Root of the mean squared error (RMSE), in the units of y."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    return _combined(np.sqrt(np.average((y - f) ** 2, axis=0, weights=w)), multioutput)


def mean_absolute_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Mean of the absolute errors (MAE), in the units of y."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    return _combined(np.average(np.abs(y - f), axis=0, weights=w), multioutput)


def mean_pinball_loss(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    alpha: float = 0.5,
    multioutput: Any = MEAN,
) -> Any:
    """Loss of a predicted quantile: errors count `alpha` above it and 1 - `alpha` below it."""
    if not 0 <= alpha <= 1:
        raise ParameterError(f"alpha must lie in [0, 1]. Got {shown(alpha)} instead.")
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    loss = np.maximum(alpha * (y - f), (alpha - 1) * (y - f))
    return _combined(np.average(loss, axis=0, weights=w), multioutput)


def mean_absolute_percentage_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Mean of the absolute errors divided by |y| (at least the rounding unit): 0.1 is 10 %."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    shares = np.abs(y - f) / np.maximum(np.abs(y), np.finfo(float).eps)
    return _combined(np.average(shares, axis=0, weights=w), multioutput)


def median_absolute_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Median of the absolute errors; with weights, the mean of lower and upper median."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    errors = np.abs(y - f)
    if sample_weight is None:
        return _combined(np.median(errors, axis=0), multioutput)
    counted = w > 0
    errors, w = errors[counted], w[counted]
    return _combined(np.array([middle_quantile(e, w, 0.5) for e in errors.T]), multioutput)


def max_error(y_true: Any, y_pred: Any) -> float:
    """Largest absolute error."""
    y, f, _ = _numbers(y_true, y_pred, None)
    if y.shape[1] > 1:
        raise DataError("max_error needs one number per row.")
    return float(np.abs(y - f).max())


def mean_squared_log_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Mean squared error of log(1 + y); all values must exceed -1."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    return _combined(np.average(_squared_logs(y, f), axis=0, weights=w), multioutput)


def root_mean_squared_log_error(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, multioutput: Any = MEAN
) -> Any:
    """Root of the mean squared error of log(1 + y)."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    return _combined(np.sqrt(np.average(_squared_logs(y, f), axis=0, weights=w)), multioutput)


def _squared_logs(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    if (y <= -1).any() or (f <= -1).any():
        raise DataError("The logarithmic error needs values above -1 in y_true and y_pred.")
    return (np.log1p(y) - np.log1p(f)) ** 2


def r2_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = MEAN,
    force_finite: bool = True,
) -> Any:
    """Coefficient of determination: 1 - residual sum of squares / sum of squares around the mean.

    1 is perfect, 0 is what the mean of y reaches, and a model can be worse than that. For a constant y,
    the score is 1 if all errors are 0, else 0; with `force_finite=False` NaN and -infinity.
    """
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    if len(y) < 2:
        warn("R2 needs at least two rows: it is NaN.", UndefinedMetricWarning)
        return float("nan")
    left, total = sums_of_squares(y, f, w)
    return _combined(_explained(left, total, force_finite), multioutput, total)


def explained_variance_score(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    multioutput: Any = MEAN,
    force_finite: bool = True,
) -> Any:
    """1 - variance of the errors / variance of y: R2 without the mean error."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    error = y - f
    left = np.average((error - np.average(error, axis=0, weights=w)) ** 2, axis=0, weights=w)
    total = np.average((y - np.average(y, axis=0, weights=w)) ** 2, axis=0, weights=w)
    return _combined(_explained(left, total, force_finite), multioutput, total)


def _explained(left: np.ndarray, total: np.ndarray, force_finite: bool) -> np.ndarray:
    if not force_finite:
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - left / total
    out = np.where(left == 0, 1.0, 0.0)
    np.divide(left, total, out=out, where=total != 0)
    return np.where(total != 0, 1 - out, out)


def mean_tweedie_deviance(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, power: float = 0
) -> float:
    """Mean deviance of a Tweedie model: power 0 is squared error, 1 Poisson, 2 gamma."""
    y, f, w = _numbers(y_true, y_pred, sample_weight)
    if y.shape[1] > 1:
        raise DataError("A deviance needs one number per row.")
    if 0 < power < 1:
        raise ParameterError(f"power must not lie between 0 and 1. Got {shown(power)} instead.")
    _check_domain(y, f, power)
    return float(np.average(_deviances(y[:, 0], f[:, 0], power), weights=w))


def _check_domain(y: np.ndarray, f: np.ndarray, power: float) -> None:
    if power != 0 and (f <= 0).any():
        raise DataError(f"A deviance with power={power} needs predictions above 0.")
    if 1 <= power < 2 and (y < 0).any():
        raise DataError(f"A deviance with power={power} needs y_true of at least 0.")
    if power >= 2 and (y <= 0).any():
        raise DataError(f"A deviance with power={power} needs y_true above 0.")


def _deviances(y: np.ndarray, f: np.ndarray, p: float) -> np.ndarray:
    if p == 0:
        return (y - f) ** 2
    if p == 1:
        logs = np.log(np.divide(y, f, out=np.ones_like(f), where=y > 0))
        return 2 * (y * logs - y + f)
    if p == 2:
        return 2 * (np.log(f / y) + y / f - 1)
    top = np.maximum(y, 0) if p < 0 else y
    return 2 * (
        top ** (2 - p) / ((1 - p) * (2 - p)) - y * f ** (1 - p) / (1 - p) + f ** (2 - p) / (2 - p)
    )


def mean_poisson_deviance(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Mean Poisson deviance of counts from predicted means, which must be positive."""
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


def mean_gamma_deviance(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Mean gamma deviance: errors relative to the size of y, which must be positive."""
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)
