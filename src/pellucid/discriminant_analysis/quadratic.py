"""Predicting with a normal distribution per class: what QDA and the Gaussian Bayes classifier share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.base import Classifier
from pellucid.discriminant_analysis.class_covariances import Clouds, log_priors, shape_of, to_user
from pellucid.errors import DataError, ModelFileError
from pellucid.numerics import bayes
from pellucid.numerics.densities import LARGEST, triangular, whitened_log_density
from pellucid.numerics.linear_scores import linear_scores
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Status

if TYPE_CHECKING:  # predicting needs no SciPy
    from pellucid.discriminant_analysis.row_space import ClassRows, Span, SpanShape


def usable(found: Clouds, covariances: np.ndarray, labels: Any, terms: Any) -> dict[str, Any]:
    """Whitenings of the classes' covariances, and what had to be done to get them."""
    total = found.pooled + found.between()
    shapes = [shape_of(cov, found.pooled, total) for cov in covariances]
    width = max(shape.W.shape[1] for shape in shapes)
    W = np.zeros((len(shapes), len(total), width))
    for k, shape in enumerate(shapes):
        half = triangular(shape.W)
        W[k, :, : half.shape[1]] = half
    return {
        "units_": found.units,
        "centres_": found.means,
        "means_": to_user(found.means, found.units),
        "whitening_": W,
        **_told(shapes, labels, terms),
        **NO_SPAN,
    }


NO_SPAN = {"base_": None, "span_": None, "outside_": 0.0}  # coordinates are the columns themselves


def usable_in_span(
    found: ClassRows, span: Span, shapes: list[SpanShape], labels: Any, terms: Any
) -> dict[str, Any]:
    """As `usable`, where the classes differ in a few coordinates of many columns."""
    width = max(shape.W.shape[1] for shape in shapes)
    W = np.zeros((len(shapes), span.axes.shape[1], width))
    for k, shape in enumerate(shapes):
        half = shape.W if shape.W.shape[1] == len(shape.W) else triangular(shape.W)
        W[k, :, : half.shape[1]] = half
    return {
        "units_": np.zeros(len(span.base), dtype=np.int64),
        "centres_": span.centres,
        "means_": found.means,
        "whitening_": W,
        **_told(shapes, labels, terms),
        "base_": span.base, "span_": np.ascontiguousarray(span.axes), "outside_": span.outside,
    }  # fmt: skip


def _told(shapes: list[Any], labels: Any, terms: Any) -> dict[str, Any]:
    named = [
        (label, [terms[j] for j in np.flatnonzero(shape.lacking)])
        for label, shape in zip(labels.tolist(), shapes)
        if shape.lacking.any()
    ]
    return {
        "log_det_": np.array([shape.log_det for shape in shapes]),
        "collinear_": dict(named),
        "status_": status(named),
    }


def status(named: list[tuple[Any, list[str]]]) -> Status:
    """What to say about classes that do not vary in some columns, or in sums of columns."""
    if not named:
        return Status("ok", "Every class varies in all directions.")
    shown = [
        f"class {label!r} ({', '.join(columns[:5])}{', ...' if len(columns) > 5 else ''})"
        for label, columns in named[:3]
    ]
    more = f", and {len(named) - 3} more" if len(named) > 3 else ""
    return Status(
        "collinear",
        f"Singular covariance in {', '.join(shown)}{more}: columns are constant or collinear. In these "
        "directions the variance of all classes together is used.",
        "Leave out columns that others determine, or give the classes more rows or a shrinkage.",
    )


class QuadraticClassifier(Classifier):
    """Base of the classifiers with one normal distribution per class."""

    _takes_sparse = False
    _takes_text = True

    @property
    def _chances(self) -> np.ndarray:
        return self.priors_

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """log of the density, up to p/2 log(2 pi) and the units: (n, K)."""
        units = self.units_ if self.units_.any() else None
        with np.errstate(over="ignore", invalid="ignore"):
            Z, beyond = (X, 0.0) if self.span_ is None else self._in_span(X)[:2]
            out, fine = whitened_log_density(
                Z, self.centres_, self.whitening_, self.log_det_, units
            )
            out -= beyond
        if not fine:
            if not np.isfinite(X).all():
                raise DataError("Input X contains NaN or infinity.")  # `_answer` finds the cell
            out[np.isnan(out)] = -0.5 * LARGEST  # distances that overflowed on the way
        return out

    def _in_span(self, X: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """Coordinates of the rows, half the distance that they have from all classes because of what
        lies outside of these, and that rest itself."""
        apart = X - self.base_
        Z = linear_scores(apart, self.span_.T, 0.0)
        if not self.outside_:
            return Z, 0.0, np.zeros((1, 1))
        rest = apart - linear_scores(Z, self.span_, 0.0)
        return Z, 0.5 * self.outside_ * np.einsum("ij,ij->i", rest, rest)[:, None], rest

    def _reveals(self) -> bool:
        """A cell meets every column of W, if the first column of W begins with the first cell."""
        return self.span_ is None and bool(self.whitening_[:, 0].any())

    def _joint(self, X: np.ndarray) -> np.ndarray:
        return self._log_density(X) + log_priors(self._chances)

    def decision_function(self, X: Any) -> np.ndarray:
        """log p(x, c) up to a constant (n, K); for two classes their difference (n,)."""
        return self._answer(self._scores, X)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return bayes.posterior(self._log_density(X), self._chances)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return bayes.leading_class(self._log_density(X), self._chances)

    def _log_proba(self, X: np.ndarray) -> np.ndarray:
        """Exact where the probabilities are too small for a float."""
        return bayes.log_posterior(self._log_density(X), self._chances)

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        """Each column's share of the squared distance from the class mean: d_j (C^-1 d)_j."""
        block = np.ldexp(X, -self.units_) if self.units_.any() else X
        parts = np.empty((*X.shape, len(self.centres_)))
        if self.span_ is not None:
            Z, _, rest = self._in_span(X)
        for k, W in enumerate(self.whitening_):
            if self.span_ is None:
                apart = block - self.centres_[k]
                pull = (apart @ W) @ W.T
            else:
                apart = X - self.means_[k]
                pull = (((Z - self.centres_[k]) @ W) @ W.T) @ self.span_.T + self.outside_ * rest
            parts[:, :, k] = -0.5 * apart * pull
        base = -0.5 * self.log_det_ + log_priors(self._chances)
        joint = self._joint(X)
        if len(base) == 2:
            base, parts = base[1:] - base[:1], parts[:, :, 1:] - parts[:, :, :1]
            joint = joint[:, 1:] - joint[:, :1]
        return {
            "base": base,
            "contributions": parts,
            "prediction": joint,
            "scale": "log-odds",
            "method": "share of the squared distance from the class mean",
        }

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        r = p
        if self.span_ is not None:
            r = np.shape(self.span_)[-1]
            expect_array(self, "span_", p, r, finite=True)
            expect_array(self, "base_", p, finite=True)
        expect_array(self, "centres_", K, r)
        expect_array(self, "whitening_", K, r, None)
        for name in ("log_det_", "priors_"):
            expect_array(self, name, K)
        expect_array(self, "units_", p, dtype=np.int64)
        if self.span_ is not None and self.units_.any():
            raise ModelFileError(f"its {type(self).__name__} has units beside a span")
