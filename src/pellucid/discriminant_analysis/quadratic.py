"""What QDA and the Gaussian Bayes classifier share: predictions from one normal density per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.base import Classifier
from pellucid.discriminant_analysis import class_covariances
from pellucid.errors import DataError, ModelFileError
from pellucid.numerics import bayes
from pellucid.numerics.densities import LARGEST, triangular, whitened_log_density
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import learned
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Status

if TYPE_CHECKING:  # predicting needs no SciPy
    from pellucid.discriminant_analysis.row_space import ClassRows, Span


def whitened_classes(
    found: class_covariances.ClassCovariances, covariances: np.ndarray, labels: Any, terms: Any
) -> dict[str, Any]:
    """Learned attributes: means, whitenings of the classes' covariances, and the status."""
    total = found.pooled + found.between()
    shapes = class_covariances.class_whitenings(covariances, found.pooled, total)
    return {
        "units_": found.units,
        "centres_": found.means,
        "means_": class_covariances.to_user(found.means, found.units),
        **_report(shapes, [triangular(shape.W) for shape in shapes], labels, terms),
        **NO_SPAN,
    }


NO_SPAN = {"base_": None, "span_": None, "outside_": 0.0}  # coordinates are the columns themselves


def whitened_in_span(
    found: ClassRows, span: Span, shapes: list[class_covariances.Whitening], labels: Any, terms: Any
) -> dict[str, Any]:
    """The same for classes that differ in a few coordinates of many columns."""
    square = [shape.W.shape[1] == len(shape.W) for shape in shapes]  # those are triangular already
    halves = [shape.W if one else triangular(shape.W) for shape, one in zip(shapes, square)]
    return {
        "units_": np.zeros(len(span.base), dtype=np.int64),
        "centres_": span.centres,
        "means_": found.means,
        **_report(shapes, halves, labels, terms),
        "base_": span.base, "span_": np.ascontiguousarray(span.axes), "outside_": span.outside,
    }  # fmt: skip


def _report(
    shapes: list[class_covariances.Whitening], halves: list[np.ndarray], labels: Any, terms: Any
) -> dict[str, Any]:
    """Triangular whitenings, log determinants, and the columns in which a class does not vary."""
    width = max(shape.W.shape[1] for shape in shapes)
    W = np.zeros((len(shapes), len(halves[0]), width))
    for k, half in enumerate(halves):
        W[k, :, : half.shape[1]] = half
    named = [
        (label, [terms[j] for j in np.flatnonzero(shape.lacking)])
        for label, shape in zip(labels.tolist(), shapes)
        if shape.lacking.any()
    ]
    return {
        "whitening_": W,
        "log_det_": np.array([shape.log_det for shape in shapes]),
        "collinear_": dict(named),
        "status_": status(named),
    }


def status(named: list[tuple[Any, list[str]]]) -> Status:
    """Names the classes that do not vary in some columns, or in linear combinations of columns."""
    if not named:
        return Status("ok", "Every class varies in all directions.")
    shown = [
        f"{label!r} ({', '.join(columns[:5])}{', ...' if len(columns) > 5 else ''})"
        for label, columns in named[:3]
    ]
    more = f", and {len(named) - 3} more" if len(named) > 3 else ""
    word = "class" if len(named) == 1 else "classes"
    return Status(
        "collinear",
        f"Singular covariance in {word} {', '.join(shown)}{more}: columns are constant or collinear. "
        "In these directions the pooled variance of all classes is used.",
        "Drop constant or collinear columns, add rows, or use shrinkage.",
    )


class QuadraticClassifier(Classifier):
    """Base of the classifiers with one normal distribution per class."""

    means_: np.ndarray = learned("Means of the classes, shape (n_classes, n_terms).")
    priors_: np.ndarray = learned("Prior probabilities of the classes.")
    collinear_: dict[Any, list[str]] = learned(
        "Columns in which a class does not vary, by class; only classes that have such columns."
    )
    status_: Status = learned(
        "Names the classes that do not vary in some columns, if there are any."
    )
    units_: np.ndarray = learned(
        "Exponents of the powers of two that divide columns of extreme size; 0 for all others."
    )
    centres_: np.ndarray = learned("Means of the classes in units of 2.0**units_ or in the span.")
    whitening_: np.ndarray = learned("Matrices W with W'CW = 1 for the covariance C of each class.")
    log_det_: np.ndarray = learned("Logarithm of the determinant of the covariance of each class.")
    span_: Any = learned(
        "With more columns than rows, the axes in which the classes differ; otherwise None."
    )
    base_: Any = learned("Origin of the coordinates in `span_`, or None.")
    outside_: float = learned("Inverse variance of all classes outside `span_`.")

    _takes_sparse = False
    # Not with Ledoit and Wolf's shrinkage, or an estimator of others: they see the rows of a class.
    _shares_rows = property(
        lambda self: (
            self.shrinkage != "auto" and getattr(self, "covariance_estimator", None) is None
        )
    )
    _takes_text = True

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """Logarithm of the density, up to a constant: (n, K)."""
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
            out[np.isnan(out)] = -0.5 * LARGEST  # distances that overflowed
        return out

    def _in_span(self, X: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """Coordinates of the rows, half the squared distance outside the span (the same for all
        classes), and the part of the rows outside the span.
        """
        apart = X - self.base_
        Z = linear_scores(apart, self.span_.T, 0.0)
        if not self.outside_:
            return Z, 0.0, np.zeros((1, 1))
        rest = apart - linear_scores(Z, self.span_, 0.0)
        return Z, 0.5 * self.outside_ * np.einsum("ij,ij->i", rest, rest)[:, None], rest

    def _propagates_nan(self) -> bool:
        """True if the first column of W uses every cell; W is triangular."""
        return self.span_ is None and bool(self.whitening_[:, 0].any())

    def _joint(self, X: np.ndarray) -> np.ndarray:
        return self._log_density(X) + class_covariances.log_priors(self.priors_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Logarithm of p(x, c) up to a constant (n, K); for two classes their difference (n,)."""
        return self._answer(self._scores, X)

    def _scores(self, X: np.ndarray) -> np.ndarray:
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if joint.shape[1] == 2 else joint

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return bayes.posterior(self._log_density(X), self.priors_)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return bayes.leading_class(self._log_density(X), self.priors_)

    def _log_proba(self, X: np.ndarray) -> np.ndarray:
        """Accurate where the probabilities underflow."""
        return bayes.log_posterior(self._log_density(X), self.priors_)

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        """The part of each column in the squared distance from the class mean: d_j (C^-1 d)_j."""
        block = np.ldexp(X, -self.units_) if self.units_.any() else X
        parts = np.empty((*X.shape, len(self.centres_)))
        if self.span_ is not None:
            Z, _, rest = self._in_span(X)
        for k, W in enumerate(self.whitening_):
            if self.span_ is None:
                apart = block - self.centres_[k]
                scaled = (apart @ W) @ W.T
            else:
                apart = X - self.means_[k]
                scaled = (((Z - self.centres_[k]) @ W) @ W.T) @ self.span_.T + self.outside_ * rest
            parts[:, :, k] = -0.5 * apart * scaled
        base = -0.5 * self.log_det_ + class_covariances.log_priors(self.priors_)
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
            raise ModelFileError(f"its {type(self).__name__} has both units_ and span_")
