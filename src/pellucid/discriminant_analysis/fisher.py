"""Fisher's linear discriminant: the direction that separates the classes best."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    class_covariances,
    whitened,
    with_fixed_signs,
)
from pellucid.numerics.linear_scores import class_scores, explained_scores
from pellucid.parameters import Choice, learned, param, shared
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Status
from pellucid.transformer import Transformer

SINGULAR = 1e-7  # directions with a smaller standard deviation, in standard units, are left out


class FisherDiscriminant(Classifier, Transformer):
    """Fisher's discriminant: the direction w that maximises

        (w' (m_1 - m_0))^2 / (w' S w),    S = sum of the scatter of both classes

    which is w = S^-1 (m_1 - m_0). A row is of class 1 if w'x is above the cut-off. With more than two
    classes, a row is assigned to the nearest class mean in the space of the K - 1 best directions.

    Examples
    --------
    >>> from pellucid.discriminant_analysis import FisherDiscriminant
    >>> X = [[0.0, 0], [2, 0], [1, 1], [1, -1], [4, 1], [6, 1], [5, 2], [5, 0]]
    >>> model = FisherDiscriminant().fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> (model.coef_[0] / model.coef_[0, 1]).tolist(), model.separated_
    ([4.0, 1.0], True)
    """

    cutoff: str = param(
        "midpoint",
        Choice("midpoint", "density", "error"),
        "Cut-off on the projected rows of two classes. 'midpoint' is halfway between the projected "
        "means; 'density' is where normal densities of the classes, times their shares, are equal; "
        "'error' misclassifies the fewest training rows. No effect with more classes.",
    )

    coef_: np.ndarray = learned(
        "Coefficients of the scores, shape (1, n_terms) for two classes, otherwise (n_classes, n_terms)."
    )
    intercept_: np.ndarray = learned("Intercepts of the scores; for two classes minus the cut-off.")
    scalings_: np.ndarray = learned("Directions of `transform`, shape (n_terms, n_directions).")
    cutoff_: float = learned("Cut-off on the projected rows; only for two classes.")
    separated_: bool = learned(
        "Whether the projected training rows of the classes do not overlap; only for two classes."
    )
    means_: np.ndarray = learned("Means of the classes, shape (n_classes, n_terms).")
    xbar_: np.ndarray = learned("Mean of all training rows, shape (n_terms,).")
    offset_: np.ndarray = learned("Intercepts of the scores for rows minus `xbar_`.")
    status_: Status = learned(shared.STATUS)

    _takes_sparse = False
    _takes_text = True
    _shares_rows = property(lambda self: self.cutoff == "midpoint")

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        two = len(problem.classes) == 2
        # Overflow is clipped to the largest float64 below.
        with parallel.one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            found = class_covariances(problem, own=False)
            scatter = found.pooled * problem.total  # as in Fisher's definition
            W, _ = whitened(scatter, SINGULAR)
            xbar = found.share @ found.means
            if two:
                directions = (W @ (W.T @ (found.means[1] - found.means[0])))[:, None]
            else:
                apart = np.sqrt(found.share)[:, None] * (found.means - xbar)
                axes = np.linalg.svd(apart @ W, full_matrices=False)[2]
                directions = with_fixed_signs(W @ axes[: len(found.means) - 1].T)
            X = np.ldexp(problem.table, -found.units) if found.units.any() else problem.table
            coef, intercept, more = (
                self._cut(problem, X - xbar, directions, found)
                if two
                else _nearest(directions, found.means - xbar)
            )
        units = found.units
        top = np.finfo(float).max
        with np.errstate(over="ignore"):
            user = np.clip(np.ldexp(coef, -units), -top, top)
            learned = {
                "coef_": user,
                "intercept_": np.clip(intercept - coef @ xbar, -top, top),
                "offset_": intercept,
                "scalings_": np.clip(np.ldexp(directions, -units[:, None]), -top, top),
                "xbar_": np.clip(np.ldexp(xbar, units), -top, top),
                "means_": np.clip(np.ldexp(found.means, units), -top, top),
                "status_": Status("ok", "Solved directly."),
            }
        if two:
            more["cutoff_"] = float(-learned["intercept_"][0])
        return learned | more

    def _cut(self, problem: Problem, X: np.ndarray, w: np.ndarray, found: Any) -> tuple:
        """Coefficients, minus the cut-off (for rows minus their mean), and `separated_`."""
        z = X @ w[:, 0]
        xbar = found.share @ found.means
        low, high = ((found.means - xbar) @ w)[:, 0]
        if self.cutoff == "midpoint":
            cut = (low + high) / 2
        elif self.cutoff == "density":
            spread = [_variance(z, problem.weights, problem.y == k) for k in (0, 1)]
            cut = equal_density(low, high, spread[0], spread[1], found.share)
        else:
            cut = fewest_errors(z, problem.y, problem.weights)
        below = parallel.largest(z[problem.y == 0].max(initial=-np.inf))
        above = -parallel.largest((-z[problem.y == 1]).max(initial=-np.inf))
        return w.T, np.array([-cut]), {"separated_": bool(below < above)}

    def decision_function(self, X: Any) -> np.ndarray:
        """Distance from the cut-off along the direction (n,), or scores of the classes (n, K)."""
        return self._answer(self._scores, X)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        return class_scores(X - self.xbar_, self.coef_, self.offset_)

    def _transform(self, X: np.ndarray) -> np.ndarray:
        """w'x; for two classes `cutoff_` is on this scale."""
        return X @ self.scalings_

    @property
    def _n_features_out(self) -> int:
        return self.scalings_.shape[1]

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        parts = explained_scores(X, self.xbar_, self.coef_, self.offset_, self._scores(X))
        return parts | {"scale": "link"}

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        rows = 1 if K == 2 else K
        expect_array(self, "coef_", rows, p)
        expect_array(self, "offset_", rows)
        expect_array(self, "xbar_", p)
        expect_array(self, "scalings_", p, None)


def _nearest(directions: np.ndarray, apart: np.ndarray) -> tuple:
    """Linear scores; the largest is that of the nearest class mean."""
    position = apart @ directions
    return position @ directions.T, -0.5 * (position**2).sum(axis=1), {}


def _variance(z: np.ndarray, w: np.ndarray, rows: np.ndarray) -> float:
    share = w[rows] / w[rows].sum()
    return float(share @ (z[rows] - share @ z[rows]) ** 2)


def equal_density(low: float, high: float, s0: float, s1: float, share: np.ndarray) -> float:
    """Where share_0 N(low, s0) = share_1 N(high, s1); the solution nearest to the midpoint."""
    middle = (low + high) / 2
    if not min(s0, s1) > 0:
        return middle
    a = 0.5 / s0 - 0.5 / s1
    b = high / s1 - low / s0
    c = 0.5 * low**2 / s0 - 0.5 * high**2 / s1 + np.log(share[1] / share[0]) + 0.5 * np.log(s0 / s1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if abs(a) <= 1e-12 * (0.5 / s0):
            roots = np.array([-c / b])
        else:
            root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
            q = -0.5 * (b + np.copysign(root, b))
            roots = np.array([q / a, c / q])
    inside = roots[np.isfinite(roots)]
    return float(inside[np.argmin(np.abs(inside - middle))]) if inside.size else middle


def fewest_errors(z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """The cut halfway between two rows that misclassifies the least weight.

    It lies outside all rows only if that is better.
    """
    order = np.argsort(z, kind="stable")
    z, sign = z[order], np.where(y[order] == 1, w[order], -w[order])
    # With the first i rows below the cut, those of class 1 are wrong and those of class 0 are right.
    error = np.append(0.0, np.cumsum(sign))
    places = np.append(np.flatnonzero(z[1:] > z[:-1]) + 1, [0, len(z)])
    tolerance = 1e-9 * np.abs(error).max()
    best = places[np.argmax(error[places] <= error[places].min() + tolerance)]
    margin = (z[-1] - z[0]) or max(abs(z[0]), 1.0)
    edges = np.concatenate([[z[0] - margin], z, [z[-1] + margin]])
    return float(edges[best] + (edges[best + 1] - edges[best]) / 2)
