"""What logistic models share: probabilities, summary, intervals and the check of model files.

Invariant: `coef_` is (1, terms) for two classes and (classes, terms) for more. Its rows are separate
fits (one-vs-rest) or belong to one softmax model; `_separate` tells which.
"""

from typing import Any, Self

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.linear_model.base import LinearClassifier
from pellucid.numerics import bayes
from pellucid.numerics.objectives.losses import class_probabilities
from pellucid.parameters import Choice, Ignored, Real, learned, param, positional
from pellucid.persist.fitted_state import expect_entries, expect_full_rank, expect_increasing

# Every solver finds the same optimum; scikit-learn's other names are accepted.
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

# Solvers that support an L1 penalty: all of these names mean coordinate descent.
L1_SOLVERS = ("auto", "cd", "saga", "liblinear")


DUAL = param(
    False, Choice(False), "Only False is accepted: all solvers work on the primal problem."
)
INTERCEPT_SCALING = param(1, Ignored("the intercept is never penalised.", Real(0, None)))


PENALTY = positional(
    default="deprecated",
    check=Choice("l1", "l2", "elasticnet", None, "deprecated"),
    description="Older name for the kind of penalty, kept for code that was written for scikit-learn: "
    "'l1' is l1_ratio=1, 'l2' is l1_ratio=0, 'elasticnet' uses l1_ratio, None is C=np.inf. "
    "'deprecated' means that it is not given.",
    kw_only=False,
)


class LogisticModel(LinearClassifier):
    """Base of `LogisticRegression` and `LogisticRegressionCV`; scores are log-odds."""

    _scale = "log-odds"
    _finite_coef = True
    penalty: Any  # declared by the subclasses

    separating_: list[int] = learned(
        "Positions in `terms_` of the columns that separate classes; found without a penalty only."
    )
    inference_: dict[str, Any] = learned(
        "Statistics from which `summary` and `predict_interval` are computed; without a penalty only."
    )

    def _working_copy(self) -> Self:
        """A copy for a fit, with the parameters that `penalty` stands for in its place."""
        work = super()._working_copy()
        if not (isinstance(self.penalty, str) and self.penalty == "deprecated"):
            work._check_parameters()
            vars(work).update(self._meaning_of(self.penalty), penalty="deprecated")
        return work

    def _meaning_of(self, penalty: str | None) -> dict[str, Any]:
        """The parameters that a value of `penalty` stands for."""
        raise NotImplementedError

    def _separate(self) -> bool:
        """Whether every class was fitted separately, against all others."""
        return getattr(self, "multiclass", "softmax") == "one_vs_rest" and len(self.classes_) > 2

    def _proba(self, X: Any) -> np.ndarray:
        return class_probabilities(self._logits(X))

    def _codes(self, X: Any) -> np.ndarray:
        """Overrides the choice by probabilities, which are needed only where two scores are equal."""
        logits = self._logits(X)
        return bayes.leading(logits, lambda rows: class_probabilities(logits[rows]))

    def _logits(self, X: Any) -> np.ndarray:
        """Log-odds (n,) for two classes, else (n, K) logits whose softmax are the probabilities."""
        scores = self._finite(self._scores(X))
        # Probabilities of separate fits are normalised to sum 1, on the log scale.
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
        """Coefficients with standard errors, tests and confidence intervals, deviance and AIC.

        Standard errors exist only without a penalty (`C=np.inf`) or with `firth=True`; for other
        fits the summary gives the reason. With several classes, coefficients are shown as differences
        from the first class.

        errors : "classical"; "HC0" to "HC3", which are robust to a wrong model (several classes have
            "HC0" and "HC1"); or "clustered", for rows that depend on each other within `groups`. All
            but the first need the training rows again and are not available for Firth's fit or
            one-vs-rest.
        weights : "frequency" counts a row of weight k as k rows, "precision" counts it once.
        """
        from pellucid.linear_model._inference.estimates import logistic
        from pellucid.linear_model._inference.summary_table import Request, summarise

        self._check_fitted()
        request = Request(errors, X, y, sample_weight, None, groups, weights, level)
        return summarise(self, request, logistic)

    def predict_interval(self, X: Any, *, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends, shape (n, K) each, of confidence intervals for the probabilities.

        They are computed for the log-odds of each class against all others and transformed to
        probabilities, so they stay between 0 and 1. They exist only without a penalty. One-vs-rest
        fits share their rows; the residuals of these rows estimate the covariance of the fits.
        """
        from pellucid.linear_model._inference.intervals import probability_interval

        self._check_fitted()
        return self._answer(lambda encoded: probability_interval(self, encoded, level), X)

    def _check_state(self) -> None:
        """Check the columns that separate and the facts for inference, too (model files)."""
        super()._check_state()
        K, p = len(self.classes_), self.coef_.shape[1]
        columns = vars(self).get("separating_", [])
        if not (isinstance(columns, list) and all(type(j) is int and 0 <= j < p for j in columns)):
            raise ModelFileError("it names columns that it does not have")
        if "inference_" not in vars(self):
            return
        kept = expect_entries(
            self, "inference_", rank=(), log_likelihood=(), null=(), rows=(), n=(), centre=(p,),
            aliased=(None,), present=(None,), flat=(None,),
        )  # fmt: skip
        present, aliased = len(kept["present"]), len(kept["aliased"])
        if present < 2:
            raise ModelFileError("its inference record covers one class only")
        separate = self._separate() and present > 2
        size = (present if separate else present - 1) * (p + 1)
        expect_increasing(self, kept["present"], K)
        expect_increasing(self, kept["aliased"], p + 1)
        expect_increasing(self, kept["flat"], size)
        more = {"joint": (size, None)} if separate else {}
        shapes = {"root": (size, None), "null_space": (p + 1, aliased), "slack": (aliased,)}
        expect_entries(self, "inference_", **shapes, **more)
        expect_full_rank(self, kept["null_space"][kept["aliased"]])
