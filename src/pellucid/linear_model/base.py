"""What linear models share: prediction, explanation and the check of loaded coefficients.

Invariant: coefficients follow the encoded columns (`terms_`), (p,) or (targets or classes, p); `means_`
are those of the training columns, for regressors 0 without an intercept.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier, Regressor
from pellucid.data.row_view import blocks_of
from pellucid.errors import DataError
from pellucid.numerics.linear_scores import class_scores, linear_scores
from pellucid.parameters import Boolean, learned, param, shared
from pellucid.persist.fitted_state import expect_array, expect_number, n_terms
from pellucid.records import Status

POSITIVE = param(False, Boolean, "Whether to require all coefficients to be >= 0.")
SQUARES_STEP = shared.STEP.replace(
    description="Step size of the solver 'gd' along the gradient of the mean objective, which is half "
    "the objective divided by the sum of the weights. None takes a step that cannot overshoot."
)


class LinearPredictor(Regressor):
    """A regressor whose prediction is x . coef_ + intercept_, or a function of it."""

    _scale = "response"  # name of the scale of the scores, for explanations
    _reads_float32 = True
    _reads_entries = True

    fit_intercept: bool = shared.FIT_INTERCEPT

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns, shape (n_terms,) or (n_targets, n_terms), in the order "
        "of `terms_`."
    )
    intercept_: Any = learned("Intercept, a float or an array of shape (n_targets,).")
    means_: np.ndarray = learned(
        "Weighted means of the encoded columns in training; 0 without an intercept."
    )
    status_: Status = learned(shared.STATUS)

    def _predict(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_, self.intercept_)

    def _propagates_nan(self) -> bool:
        """True unless one of several targets has a coefficient of 0, whose column is never read."""
        return self.coef_.ndim == 1 or bool(np.all(self.coef_))

    def _explain(self, X: Any) -> dict[str, Any]:
        return additive_parts(self, X, self._scale)

    def summary(self) -> Any:
        """The coefficients; with a penalty there are no standard errors (bootstrap them instead)."""
        from pellucid.linear_model._inference.summary_table import penalised_summary

        self._check_fitted()
        return penalised_summary(self, self._strengths_shown(), *self._reasons())

    def _reasons(self) -> tuple[str, ...]:
        """Why `summary()` has no standard errors, if the reason is not a penalty."""
        return ()

    def _strengths_shown(self) -> dict[str, Any]:
        """Entries of the header of `summary()`."""
        shown = {
            name: vars(self).get(name) for name in ("alpha_", "alpha", "l1_ratio_", "l1_ratio")
        }
        return {
            name.rstrip("_"): float(value)
            for name, value in shown.items()
            if isinstance(value, int | float) and f"{name}_" not in vars(self)
        }

    def _check_state(self) -> None:
        """Refuse a model file whose arrays do not match its columns or each other."""
        p, several = n_terms(self), np.ndim(vars(self).get("coef_", 0.0)) == 2
        expect_array(self, "coef_", *([None, p] if several else [p]), finite=True)
        expect_array(self, "means_", p, finite=True)
        if isinstance(vars(self).get("intercept_"), np.ndarray):
            expect_array(self, "intercept_", len(self.coef_) if several else 1, finite=True)
        else:
            expect_number(self, "intercept_")

    def _finished(self, coef: np.ndarray, intercept: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        """coef (k, p) and intercept (k,) as scikit-learn has them for one or several targets."""
        check_size(coef, intercept)
        return shaped(coef, intercept, y)


def shaped(coef: np.ndarray, intercept: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """coef (k, p) and intercept (k,) by name, as scikit-learn has them: (p,) and (1,) for a y of one
    column, (p,) and a number for a vector y."""
    return {
        "coef_": coef if len(coef) > 1 else coef[0],
        "intercept_": intercept if y.ndim == 2 else float(intercept[0]),
    }


def check_size(coef: np.ndarray, intercept: np.ndarray) -> None:
    """Refuse coefficients that overflow."""
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise DataError(
            "The coefficients overflow float64, because X is many orders of magnitude smaller than y. "
            "Rescale X, for example X * 1e18."
        )


def additive_parts(model: Any, X: Any, scale: str) -> dict[str, Any]:
    """Coefficient times distance from the training mean, for `_explain`.

    The prediction is their sum: far from zero it is more exact than x . coef_ + intercept_, where
    large terms cancel.
    """
    from pellucid.numerics.row_blocks import as_dense

    coef = np.atleast_2d(model.coef_)
    dense = as_dense(X)
    base = coef @ model.means_ + model.intercept_
    contributions = (dense - model.means_)[:, :, None] * coef.T
    return {
        "base": base,
        "contributions": contributions,
        "prediction": base + contributions.sum(axis=1),
        "scale": scale,
        "method": "coefficient times distance from the training mean",
    }


CLASS_FACTORS = shared.CLASS_WEIGHT.replace(
    description="Factors for the weights of the rows by class. 'balanced' gives every class the same "
    "total weight."
)


def column_means(X: Any, w: np.ndarray) -> np.ndarray:
    """Weighted means of the columns. Weights are normalised first, so that no sum overflows."""
    share = w / parallel.largest(w.max())
    share /= 2 * parallel.sum_rows(share)
    half = parallel.reduce(lambda rows: X[rows].T @ share[rows], np.add, blocks_of(X))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)


class LinearClassifier(Classifier):
    """Base of all classifiers that predict the class of the largest x . coef_ + intercept_."""

    _takes_text = True
    _scale = "link"  # name of the scale of the scores, for explanations
    _reads_float32 = True
    _reads_entries = True
    _finite_coef = False  # whether a model file must have finite coefficients

    fit_intercept: bool = shared.FIT_INTERCEPT

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns in the order of `terms_`, shape (1, n_terms) for two "
        "classes, else (n_classes, n_terms)."
    )
    intercept_: np.ndarray = learned("Intercepts, shape (1,) for two classes, else (n_classes,).")
    means_: np.ndarray = learned("Weighted means of the encoded columns in training.")
    status_: Status = learned(shared.STATUS)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, shape (n, K); for two classes those of the second, shape (n,)."""
        return self._answer(self._scores, X, direct=True)

    def _propagates_nan(self) -> bool:
        """True unless one of several classes has a coefficient of 0, whose column is never read."""
        return len(self.coef_) == 1 or bool(np.all(self.coef_))

    def _scores(self, X: Any) -> np.ndarray:
        return class_scores(X, self.coef_, self.intercept_)

    def _explain(self, X: Any) -> dict[str, Any]:
        return additive_parts(self, X, self._scale)

    def _check_state(self) -> None:
        """Refuse coefficients that do not fit the columns and classes (model files)."""
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "coef_", 1 if K == 2 else K, p, finite=self._finite_coef)
        expect_array(self, "intercept_", 1 if K == 2 else K, finite=self._finite_coef)
        expect_array(self, "means_", p, finite=True)
