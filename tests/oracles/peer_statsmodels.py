"""statsmodels as an oracle: least squares, logistic and Poisson regression with standard errors.

Where equality ends, and why:

- Only unpenalised models: statsmodels' penalties are scaled differently, so a twin of a penalised
  estimator is an error (`C` must be inf, `alpha` 0).
- Weights are repetitions: least squares by WLS agrees in coefficients, but its degrees of freedom
  count rows, so standard errors agree only where the weights sum to the number of rows. The others
  use `freq_weights`, which agree throughout.
- Convergence is by Newton to 1e-12 here; statsmodels' default of 1e-8 leaves 6 to 8 digits.
- Separated classes: statsmodels raises or returns huge numbers; there is no optimum to agree on.
- Several classes (MNLogit): the first class is the reference, so coefficients differ from a
  symmetric softmax by a constant per column; `coef_` is given centred over the classes. It has no
  weights.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

NAME = "statsmodels"


class Twin:
    """A statsmodels regression with fit, predict and the learned numbers under our names.

    `std_error_` has the constant first if there is one. `fit` takes NumPy arrays.
    """

    def __init__(self, regress: Callable[..., Any], intercept: bool) -> None:
        self.regress = regress
        self.intercept = intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Twin:
        design = self._design(X)
        self.result_ = self.regress(y, design, sample_weight)
        params = np.asarray(self.result_.params, dtype=float)
        if params.ndim == 2:  # (terms, classes - 1), the first class at 0
            params = np.column_stack([np.zeros(len(params)), params])
            params -= params.mean(axis=1, keepdims=True)
        self.intercept_ = params[0] if self.intercept else 0.0
        self.coef_ = params[int(self.intercept) :].T
        self.std_error_ = np.asarray(self.result_.bse, dtype=float)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The expected response: values, rates, or probabilities of the classes."""
        return np.asarray(self.result_.predict(self._design(X)))

    def robust_errors(self, kind: str, groups: Any = None) -> np.ndarray:
        """Standard errors "HC0".."HC3" or "clustered", with statsmodels' corrections.

        GLMs have HC0 and clustered only: its HC1 to HC3 of a GLM are HC0.
        """
        result = self.result_
        if kind != "clustered" and hasattr(result, f"{kind}_se"):
            return np.asarray(getattr(result, f"{kind}_se"))
        options = {"groups": groups} if kind == "clustered" else {}
        name = "cluster" if kind == "clustered" else kind
        if hasattr(result, "get_robustcov_results"):
            return np.asarray(result.get_robustcov_results(name, **options).bse)
        return np.asarray(result.model.fit(cov_type=name, cov_kwds=options, tol=1e-12).bse)

    def _design(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else X


def twin(estimator: Any) -> Twin:
    """The statsmodels regression that does what `estimator` (ours, unfitted) does."""
    name = type(estimator).__name__
    if name not in _TWINS:
        raise ValueError(f"statsmodels has no {name}")
    params = estimator.get_params(deep=False)
    _refuse_penalty(name, params)
    return Twin(_TWINS[name], bool(params.get("fit_intercept", True)))


def fitted(estimator: Any, X: Any, y: Any, **options: Any) -> Twin:
    """The fitted twin."""
    return twin(estimator).fit(X, y, **options)


def version() -> str:
    """The version that answers."""
    return str(importlib.import_module("statsmodels").__version__)


def _refuse_penalty(name: str, params: dict[str, Any]) -> None:
    if name == "LogisticRegression" and params.get("C") != np.inf:
        raise ValueError(f"statsmodels has no penalty: C must be inf, not {params.get('C')!r}")
    if name == "PoissonRegressor" and params.get("alpha") != 0:
        raise ValueError(
            f"statsmodels has no penalty: alpha must be 0, not {params.get('alpha')!r}"
        )


def _api() -> Any:
    return importlib.import_module("statsmodels.api")


def _least_squares(y: Any, X: np.ndarray, weights: Any) -> Any:
    return _api().OLS(y, X).fit() if weights is None else _api().WLS(y, X, weights=weights).fit()


def _logistic(y: Any, X: np.ndarray, weights: Any) -> Any:
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) == 2:
        return _generalised("Binomial")(codes.astype(float), X, weights)
    if weights is not None:
        raise ValueError("statsmodels' MNLogit has no weights")
    return _api().MNLogit(codes, X).fit(method="newton", tol=1e-12, maxiter=100, disp=False)


def _generalised(family: str) -> Callable[..., Any]:
    def regress(y: Any, X: np.ndarray, weights: Any) -> Any:
        model = _api().GLM(y, X, family=getattr(_api().families, family)(), freq_weights=weights)
        return model.fit(tol=1e-12, tol_criterion="params", maxiter=100)

    return regress


_TWINS: dict[str, Callable[..., Any]] = {
    "LinearRegression": _least_squares,
    "LogisticRegression": _logistic,
    "PoissonRegressor": _generalised("Poisson"),
}
