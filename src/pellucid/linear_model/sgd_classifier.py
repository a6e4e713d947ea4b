"""Linear classifiers by stochastic gradient descent."""

from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.linear_model._sgd.base import WALKING, StochasticClassifier
from pellucid.numerics import bayes
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Boolean, Choice, Either, Integer, Real
from pellucid.protocol import available_if

CLASS_LOSSES = (
    "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber",
    "epsilon_insensitive", "squared_epsilon_insensitive",
)  # fmt: skip
PROBABLE = ("log_loss", "modified_huber")


class SGDClassifier(StochasticClassifier):
    """A linear classifier that learns row by row: it walks down

        mean_i w_i loss(y_i, b0 + x_i . b) + alpha (r |b|_1 + (1 - r) |b|^2 / 2),    y = -1 or 1

    one row a step, with steps that shrink. More than two classes are class against the others. For
    data that come in batches, or too many to be visited often; standardise the columns first.

    Parameters
    ----------
    loss : {"hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", \
"huber", "epsilon_insensitive", "squared_epsilon_insensitive"}, default="hinge"
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
    alpha : float >= 0, default=0.0001
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        r of "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Passes at most.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen by it for `n_iter_no_change` passes; None makes all.
    shuffle : bool, default=True
        A new random order for every pass; False keeps the order of the rows.
    verbose : without effect; see `pellucid.watching`
    epsilon : float, default=0.1, for "huber" and the epsilon-insensitive losses
    n_jobs : int or None
        Classes that learn at the same time; results do not depend on it.
    random_state : int, generator or None
    learning_rate : {"optimal", "constant", "invscaling", "adaptive", "pa1", "pa2"}
        "optimal": 1 / (alpha (t0 + t)); "constant": eta0; "invscaling": eta0 / t**power_t;
        "adaptive": eta0, divided by 5 whenever the loss stalls; "pa1", "pa2": passive-aggressive.
    eta0 : float > 0, default=0.01
    power_t : float, default=0.5
    early_stopping : bool, default=False
        Judge by the accuracy on a held-back share, `validation_fraction`, of the rows.
    validation_fraction : float in (0, 1), default=0.1
    n_iter_no_change : int, default=5
    class_weight : dict {label: weight}, "balanced" or None
    warm_start : bool, default=False
    average : bool or int, default=False
        Use the mean of the coefficients over all steps, or from that step on.
    standardize : bool, default=False
        Walk over numbers of mean 0 and deviation 1 (seldom ones of sparse tables keep their 0);
        levels and words stay as they are. The coefficients are told for the user's columns; the
        penalty is on the weights per deviation then.
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, terms), or (classes, terms), in the order of `terms_`; intercept_
    n_iter_, t_ : passes and steps; history_ : objective, mistakes, learning_rate by pass
    status_, classes_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import SGDClassifier
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 10, ["no", "no", "yes", "yes"] * 10
    >>> SGDClassifier(random_state=0).fit(X, y).predict([[-1.5], [1.5]]).tolist()
    ['no', 'yes']
    """

    _parameters = WALKING | {
        "loss": Choice(*CLASS_LOSSES),
        "penalty": Choice("l2", "l1", "elasticnet", None),
        "epsilon": Real(0, None),
        "learning_rate": Choice("constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"),
        "eta0": Real(0, None, "neither"),
        "power_t": Real(0, None),
        "average": Either(Boolean, Integer(0)),
    }

    def __init__(
        self,
        loss: str = "hinge",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        learning_rate: str = "optimal",
        eta0: float = 0.01,
        power_t: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.epsilon = epsilon
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.standardize = standardize
        self.table = table

    def _plan(self) -> dict[str, Any]:
        if self.learning_rate == "optimal" and self.alpha == 0:
            raise ParameterError(
                "alpha must be > 0 since learning_rate is 'optimal'. alpha is used to compute the "
                "optimal learning rate."
            )
        if self.learning_rate in ("pa1", "pa2") and self.loss != "hinge":
            raise ParameterError(
                f"Learning rate {self.learning_rate!r} only works with loss 'hinge'. Got loss="
                f"{self.loss!r}."
            )
        return {
            "loss": self.loss, "schedule": self.learning_rate, "eta0": float(self.eta0),
            "power": float(self.power_t), "epsilon": float(self.epsilon),
            "average_from": float(self.average), "rate": float(self.alpha),
        }  # fmt: skip

    def _codes(self, X: Any) -> np.ndarray:
        """By scores; where two probabilities are equal the first class has it."""
        scores = self._finite(self._scores(X))
        several = scores.ndim == 2
        # Chances of the modified Huber loss end at 1: beyond that only scores tell classes apart.
        if self.loss not in PROBABLE or (several and self.loss == "modified_huber"):
            return scores.argmax(axis=1) if several else (scores > 0).astype(np.int32)
        leads = _leads(scores) if several else scores
        return bayes.leading(leads, lambda rows: self._chances(scores[rows]))

    @available_if(
        lambda self: self.loss in PROBABLE,
        f"Probabilities need one of the losses {' and '.join(map(repr, PROBABLE))}.",
    )
    def _proba(self, X: Any) -> np.ndarray:
        return self._chances(self._finite(self._scores(X)))

    def _chances(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim == 2 and self.loss == "log_loss":
            return softmax(_leads(scores))
        chance = expit(scores) if self.loss == "log_loss" else (np.clip(scores, -1, 1) + 1) / 2
        if scores.ndim == 1:
            return np.column_stack([1 - chance, chance])
        total = chance.sum(axis=1, keepdims=True)
        equal = np.full_like(chance, 1 / chance.shape[1])
        out = np.divide(chance, total, out=equal, where=total > 0)
        # Chances are cut at 0 and 1: of equal ones that of the highest score is the larger by an ulp.
        best = scores.argmax(axis=1)
        tied = out.argmax(axis=1) != best
        out[tied, best[tied]] = np.nextafter(out[tied].max(axis=1, initial=0.0), 2.0)
        return out


def _leads(scores: np.ndarray) -> np.ndarray:
    """Logarithms of the logistic functions: their softmax divides chances by their sum, even where
    all of them are too small for a float."""
    return -np.logaddexp(0.0, -scores)
