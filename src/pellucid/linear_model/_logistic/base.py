"""What logistic models share: scores, probabilities, explanation, summary, the check of files.

Invariant: `coef_` is (1, terms) for two classes and (classes, terms) for more; `_separate` says
whether the rows of `coef_` are fits of their own (one-vs-rest) or one softmax.
"""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.errors import ModelFileError
from pellucid.linear_model.linear_classifier import LinearScores
from pellucid.numerics import bayes
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import (
    HISTORY,
    N_ITER,
    STATUS,
    Choice,
    Ignored,
    Real,
    learned,
    param,
)
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


DUAL = param(
    False, Choice(False), "Only False is accepted: all solvers work on the primal problem."
)
INTERCEPT_SCALING = param(1, Ignored("the intercept is never penalised.", Real(0, None)))


class LogisticModel(LinearScores, Classifier):
    """Base of `LogisticRegression` and `LogisticRegressionCV`; scores are log-odds."""

    _scale = "log-odds"

    n_iter_: np.ndarray = learned(N_ITER)
    history_: dict[str, np.ndarray] = learned(HISTORY)
    status_: Status = learned(STATUS)
    separating_: list[int] = learned(
        "Positions in `terms_` of the columns that separate classes; found without a penalty only."
    )
    inference_: dict[str, Any] = learned(
        "Facts from which `summary` and `predict_interval` are computed; without a penalty only."
    )

    _refused = {
        "penalty": "For 'l2' give l1_ratio=0, for 'l1' l1_ratio=1, for 'elasticnet' an l1_ratio "
        "between them (l1_ratios for LogisticRegressionCV), for None C=np.inf."
    }

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

    def summary(
        self,
        *,
        errors: str = "classical",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        weights: str = "frequency",
        level: float = 0.95,
    ) -> Any:
        """Coefficients with standard errors, tests and intervals, deviance, AIC.

        Only a fit without penalty (`C=np.inf`) or Firth's has them; a penalised one says so.
        Several classes are shown as differences to the first.
        `errors`: "classical", "HC0" to "HC3" (a wrong model; several classes have "HC0" and "HC1")
        or "clustered" (rows of one of the `groups` depend on each other); all but the first need
        the rows of the fit again, and neither Firth's fit nor one-vs-rest has them.
        `weights="frequency"` counts a weight k as k rows, `"precision"` each row once.
        """
        from pellucid.linear_model._inference.logistic import logistic_summary
        from pellucid.linear_model._inference.robust import Wanted

        self._check_fitted()
        asked = Wanted(errors, X, y, sample_weight, None, groups, weights, level)
        return logistic_summary(self, asked)

    def predict_interval(self, X: Any, *, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends (n, K) of confidence intervals for the class probabilities.

        They are intervals for the log-odds of each class against the others, brought back to
        probabilities: always within 0 and 1. Only without a penalty. The fits of one-vs-rest share
        their rows: how their coefficients vary together is told by the rows' residuals.
        """
        from pellucid.linear_model._inference.logistic_intervals import probability_interval

        self._check_fitted()
        return self._answer(lambda encoded: probability_interval(self, encoded, level), X)

    def _check_state(self) -> None:
        """Refuse coefficients that do not belong to the columns and classes (model files)."""
        from pellucid.persist.fitted_state import expect_array, n_terms

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
            check_facts(self.inference_, K, self._separate(), p)


def _chances(leads: np.ndarray) -> np.ndarray:
    if leads.ndim == 1:
        return np.column_stack([expit(-leads), expit(leads)])
    return softmax(leads)


def _ascend(places: Any, top: int) -> bool:
    """Whether these are positions from 0 to top, in order."""
    right = type(places) is np.ndarray and places.dtype.kind == "i" and places.ndim == 1
    return right and bool(((places >= 0) & (places <= top)).all() and (np.diff(places) > 0).all())


def check_facts(kept: Any, K: int, separate: bool, p: int) -> None:
    """Refuse what a forged model file put in place of the facts."""
    numbers = ("rank", "log_likelihood", "null", "rows", "n")
    found = kept if isinstance(kept, dict) else {}
    right = all(isinstance(found.get(name), int | float) for name in numbers)
    right = right and all(
        _ascend(found.get(n), top) for n, top in (("aliased", p), ("present", K - 1))
    )
    right = right and len(found["present"]) > 1
    fits = 0
    if right:
        separate = separate and len(found["present"]) > 2
        fits = len(found["present"]) if separate else len(found["present"]) - 1
    right = right and _ascend(found.get("flat"), fits * (p + 1) - 1)
    shapes = {"root": (fits * (p + 1), None), "null_space": (p + 1, None)}
    if separate:
        shapes["joint"] = shapes["root"]
    for name, shape in shapes.items():
        part: Any = found.get(name)
        right = right and type(part) is np.ndarray and part.dtype == np.float64
        right = right and part.ndim == 2 and part.shape == (shape[0], shape[1] or part.shape[1])
    right = right and found["null_space"].shape[1] == len(found["aliased"])
    for name, size in (("centre", p), ("slack", len(found["aliased"]) if right else 0)):
        part = found.get(name)
        right = right and type(part) is np.ndarray and part.dtype == np.float64
        right = right and part.shape == (size,)
    if not right:
        raise ModelFileError("its facts for inference belong to other columns")
