"""What logistic models share: scores, probabilities, explanation, summary, the check of files.

Invariant: `coef_` is (1, terms) for two classes and (classes, terms) for more; `_separate` says
whether the rows of `coef_` are fits of their own (one-vs-rest) or one softmax.
"""

from typing import Any

import numpy as np

from pellucid.base import ProbabilisticClassifier
from pellucid.errors import ModelFileError
from pellucid.linear_model.linear_classifier import LinearScores
from pellucid.numerics import bayes
from pellucid.numerics.links import expit
from pellucid.numerics.losses import softmax
from pellucid.records import Status

# Every solver finds the same optimum; scikit-learn's other names are understood.
SOLVERS = {
    "auto": "auto",
    "cd": "cd",
    "gd": "gd",
    "lbfgs": "lbfgs",
    "newton": "newton",
    "newton-cg": "newton",
    "newton-cholesky": "newton",
    "liblinear": "auto",
    "sag": "auto",
    "saga": "auto",
    "sgd": "sgd",
}

# Solvers that know absolute values: all of these name coordinate descent.
L1_SOLVERS = ("auto", "cd", "saga", "liblinear")


class LogisticModel(LinearScores, ProbabilisticClassifier):
    """Base of `LogisticRegression` and `LogisticRegressionCV`; scores are log-odds."""

    _scale = "log-odds"

    classes_: np.ndarray
    n_iter_: np.ndarray
    history_: dict[str, np.ndarray]
    status_: Status

    def _separate(self) -> bool:
        """Whether every class has a fit of its own, against all others."""
        return getattr(self, "multiclass", "softmax") == "one_vs_rest" and len(self.classes_) > 2

    def _proba(self, X: Any) -> np.ndarray:
        return _chances(self._leads(X))

    def _codes(self, X: Any) -> np.ndarray:
        leads = self._leads(X)  # no probability is needed for a label, but where two are equal
        return bayes.leading(leads, lambda rows: _chances(leads[rows]))

    def _leads(self, X: Any) -> np.ndarray:
        """Log-odds (n,), or (n, K) whose softmax are the probabilities."""
        scores = self._finite(self._scores(X))
        # Chances of separate fits are divided by their sum; by way of logarithms.
        return -np.logaddexp(0.0, -scores) if self._separate() else scores

    def summary(self, *, level: float = 0.95) -> Any:
        """Coefficients with standard errors, tests and intervals, deviance, AIC.

        Only a fit without penalty (`C=np.inf`) or Firth's has them; a penalised one says so.
        Several classes are shown as differences to the first.
        """
        from pellucid.linear_model.logistic_inference import logistic_summary

        self._check_fitted()
        return logistic_summary(self, level)

    def predict_interval(self, X: Any, *, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends (n, K) of confidence intervals for the class probabilities.

        They are intervals for the log-odds of each class against the others, brought back to
        probabilities: always within 0 and 1. Only without a penalty.
        """
        from pellucid.linear_model.logistic_inference import probability_interval

        self._check_fitted()
        return self._answer(lambda encoded: probability_interval(self, encoded, level), X)

    def _check_state(self) -> None:
        """Refuse coefficients that do not belong to the columns and classes (model files)."""
        from pellucid.persist.state import expect_array, n_terms

        K, p = len(self.classes_), n_terms(self)
        rows = 1 if K == 2 else K
        expect_array(self, "coef_", rows, p, finite=True)
        expect_array(self, "intercept_", rows, finite=True)
        expect_array(self, "means_", p, finite=True)
        guilty = vars(self).get("separating_", [])
        numbers = isinstance(guilty, list) and all(type(j) is int and 0 <= j < p for j in guilty)
        if not numbers:
            raise ModelFileError("it names columns that it does not have")
        if "inference_" in vars(self):
            check_facts(self.inference_, K if self._separate() else K - 1, p)


def _chances(leads: np.ndarray) -> np.ndarray:
    if leads.ndim == 1:
        return np.column_stack([expit(-leads), expit(leads)])
    return softmax(leads)


def check_facts(kept: Any, q: int, p: int) -> None:
    """Refuse what a forged model file put in place of the facts."""
    numbers = ("rank", "log_likelihood", "null", "rows")
    found = kept if isinstance(kept, dict) else {}
    size = q * (p + 1)
    right = all(isinstance(found.get(name), int | float) for name in numbers)
    part: Any
    for name, shape in (("covariance", (size, size)), ("null_space", (p + 1, None))):
        part = found.get(name)
        right = right and type(part) is np.ndarray and part.dtype == np.float64
        right = right and part.ndim == 2 and part.shape == (shape[0], shape[1] or part.shape[1])
    for name in ("aliased", "flat"):
        part = found.get(name)
        right = right and type(part) is np.ndarray and part.dtype.kind == "i" and part.ndim == 1
        right = right and not np.any((part < 0) | (part > p))
    right = right and found["null_space"].shape[1] == len(found["aliased"])
    if not right:
        raise ModelFileError("its facts for inference belong to other columns")
