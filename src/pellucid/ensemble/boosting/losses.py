"""Losses of boosting: the best constant, gradients and curvatures of every row, the inverse link.

Predictions are raw: (K, n) on the scale of the link. Invariant: `gradients` fills (g, h) of the
weighted loss and returns the mean loss; a loss without curvature has h = weight, and `renew` finds
the value of a leaf from its residuals instead. `adapt` is given the residuals before each round.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pellucid import parallel
from pellucid.ensemble.boosting.shared_rows import (
    near_total,
    total,
    weighted_sum,
    weights_of_classes,
)
from pellucid.numerics.objectives import losses as formulas
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.quantiles import lower_quantile
from pellucid.parallel.shard import shard
from pellucid.tree import _gradients

BLOCK = 2**14
LARGEST_EXPONENT = 300.0
Array = np.ndarray


@dataclass(frozen=True)
class Objective:
    """One loss of boosting."""

    name: str
    outputs: int
    fill: Callable[[Array, Array, Array, Array, int, int], float]  # rows [first, last)
    start: Callable[[Array, Array, Array | None], Array]
    inverse: Callable[[Array], Array]
    renew: Callable[[Array, Array], float] | None = None  # (residuals, weights) -> leaf's value
    adapt: Callable[[Array, Array], None] | None = None  # (residuals, weights) of all rows
    power: int = 2  # exponent of the unit of y in the unit of the loss, with the identity link
    link: str = "identity"
    # The side (1, -1) on which the curvature grows as exp, so that a Newton step may overshoot; 2: it
    # grows at most as exp on both sides.
    steep: int = 0

    def gradients(self, y: Array, raw: Array, weights: Array, out: Array) -> float:
        """Fill (g, h) of every row; the mean loss. Sums go over fixed blocks, in their order."""
        n = len(y)
        blocks = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]

        def part(rows: slice) -> float:
            return self.fill(y, raw, weights, out, rows.start, rows.stop)

        if len(blocks) == 1 and shard() is None:
            return float(part(blocks[0])) / near_total(weights)
        return parallel.reduce(part, float.__add__, blocks) / near_total(weights)

    def loss(self, y: Array, raw: Array, weights: Array) -> float:
        """The mean loss."""
        return self.gradients(y, raw, weights, np.empty((len(raw), len(y), 2)))


def _fill_squared(y: Array, raw: Array, w: Array, out: Array, first: int, last: int) -> float:
    return _gradients.squared_gradients(y, raw[0], w, out[0], first, last)


def _fill_logistic(y: Array, raw: Array, w: Array, out: Array, first: int, last: int) -> float:
    return _gradients.logistic_gradients(y, raw[0], w, out[0], first, last)


def _fill_by_formula(loss: formulas.Loss) -> Callable[..., float]:
    def fill(y: Array, raw: Array, w: Array, out: Array, first: int, last: int) -> float:
        y, z, w = y[first:last], raw[0, first:last], w[first:last]
        out[0, first:last, 0] = w * loss.gradient(y, z)
        out[0, first:last, 1] = w * loss.curvature(y, z)
        return float(w @ loss.value(y, z))

    return fill


def pinball(q: float) -> formulas.Loss:
    """q (y - z) above the prediction z, (1 - q) (z - y) below it; curvature 1 by convention."""
    return formulas.Loss(
        "quantile",
        value=lambda y, z: np.where(y > z, q * (y - z), (1 - q) * (z - y)),
        gradient=lambda y, z: np.where(y > z, -q, 1 - q),
        curvature=lambda y, z: np.ones_like(z - y),
        domain="real",
    )


def _fill_exponential(y: Array, raw: Array, w: Array, out: Array, first: int, last: int) -> float:
    """exp(-raw) for y = 1, exp(raw) for y = 0; bounded so that the next step does not overflow."""
    side = 1.0 - 2.0 * y[first:last]
    value = w[first:last] * np.exp(np.minimum(side * raw[0, first:last], LARGEST_EXPONENT))
    out[0, first:last, 0] = side * value
    out[0, first:last, 1] = value
    return float(value.sum())


def huber(q: float) -> "Objective":
    """r^2 / 2 for residuals r up to d, d (|r| - d / 2) beyond; d is the q-quantile of |r|, updated
    before each round."""
    knee = np.zeros(1)

    def adapt(residuals: Array, w: Array) -> None:
        knee[0] = lower_quantile(np.abs(residuals), w, q)

    def fill(y: Array, raw: Array, w: Array, out: Array, first: int, last: int) -> float:
        r, w, d = y[first:last] - raw[0, first:last], w[first:last], knee[0]
        size = np.abs(r)
        out[0, first:last, 0] = -w * np.clip(r, -d, d)
        out[0, first:last, 1] = w
        return float(w @ np.where(size <= d, 0.5 * r * r, d * (size - 0.5 * d)))

    def renew(residuals: Array, w: Array) -> float:
        middle = lower_quantile(residuals, w, 0.5)
        return middle + float(np.average(np.clip(residuals - middle, -knee[0], knee[0]), weights=w))

    return Objective("huber", 1, fill, _start_quantile(0.5), _same, renew=renew, adapt=adapt)


# The best constant, from which boosting starts ---------------------------------------------------


def _start_mean(y: Array, w: Array, offset: Array | None) -> Array:
    share = w / total(w)
    y = y if offset is None else y - offset
    return np.array([weighted_sum(share, y)])


def _start_quantile(q: float) -> Callable[[Array, Array, Array | None], Array]:
    def start(y: Array, w: Array, offset: Array | None) -> Array:
        return np.array([lower_quantile(y if offset is None else y - offset, w, q)])

    return start


def _start_poisson(y: Array, w: Array, offset: Array | None) -> Array:
    share = w / total(w)
    top = (
        0.0 if offset is None else float(parallel.largest(offset.max()))
    )  # so that no exponential overflows
    exposure = 1.0 if offset is None else weighted_sum(share, np.exp(offset - top))
    return np.array([np.log(weighted_sum(share, y)) - np.log(exposure) - top])


def _start_gamma(y: Array, w: Array, offset: Array | None) -> Array:
    share = w / total(w)
    low = (
        0.0 if offset is None else -float(parallel.largest(-offset.min()))
    )  # so that no exponential overflows
    rates = y if offset is None else y * np.exp(low - offset)
    return np.array([np.log(weighted_sum(share, rates)) - low])


def _start_logistic(y: Array, w: Array, offset: Array | None) -> Array:
    share = w / total(w)
    p = weighted_sum(share, y)
    z = float(np.log(p) - np.log1p(-p))
    if offset is None:
        return np.array([z])
    for _ in range(100):  # Newton steps for one number, bounded so that they cannot diverge
        q = expit(z + offset)
        step = float(weighted_sum(share, y - q)) / max(
            float(weighted_sum(share, q * (1 - q))), 1e-300
        )
        z += min(max(step, -2.0), 2.0)
        if abs(step) <= 1e-15 * max(1.0, abs(z)):
            break
    return np.array([z])


def _start_exponential(y: Array, w: Array, offset: Array | None) -> Array:
    if offset is None:
        return 0.5 * _start_logistic(y, w, None)
    top = float(np.max(np.abs(offset)))  # the best constant is half a logarithm of a ratio
    up, down = w * y * np.exp(-offset - top), w * (1 - y) * np.exp(offset - top)
    return np.array([0.5 * (np.log(up.sum()) - np.log(down.sum()))])


def _start_softmax(y: Array, w: Array, offset: Array | None) -> Array:
    logs = np.log(weights_of_classes(y, w) / total(w))
    return logs - logs.mean()


def _same(raw: Array) -> Array:
    return raw


SQUARED = Objective("squared_error", 1, _fill_squared, _start_mean, _same)
EXPONENTIAL = Objective(
    "exponential", 1, _fill_exponential, _start_exponential, expit, link="logit", steep=2
)
LOGISTIC = Objective("log_loss", 1, _fill_logistic, _start_logistic, expit, link="logit", steep=2)
POISSON = Objective(
    "poisson", 1, _fill_by_formula(formulas.poisson()), _start_poisson, np.exp, link="log", steep=1
)
GAMMA = Objective(
    "gamma", 1, _fill_by_formula(formulas.gamma()), _start_gamma, np.exp, link="log", steep=-1
)


def quantile(q: float) -> Objective:
    """The q-quantile."""
    return Objective(
        "quantile", 1, _fill_by_formula(pinball(q)), _start_quantile(q), _same,
        power=1, renew=lambda r, w: lower_quantile(r, w, q),
    )  # fmt: skip


def absolute() -> Objective:
    """The absolute error: twice the pinball loss of the median."""
    half = pinball(0.5)
    whole = formulas.Loss(
        "absolute_error",
        value=lambda y, z: 2.0 * half.value(y, z),
        gradient=lambda y, z: 2.0 * half.gradient(y, z),
        curvature=half.curvature,
        domain="real",
    )
    return replace(quantile(0.5), name="absolute_error", fill=_fill_by_formula(whole))


def softmax(n_classes: int) -> Objective:
    """Log loss of three and more classes; one tree per class and round."""
    return Objective(
        "log_loss",
        n_classes,
        _gradients.softmax_gradients,
        _start_softmax,
        _same,
        link="softmax",
        steep=2,
    )


def regression(name: str, q: float | None) -> Objective:
    """The loss of a regressor by its name; q is the quantile of the losses that have one."""
    if name in ("quantile", "huber"):
        assert q is not None
        return quantile(q) if name == "quantile" else huber(q)
    if name == "absolute_error":
        return absolute()
    return {"squared_error": SQUARED, "poisson": POISSON, "gamma": GAMMA}[name]
