"""Linear classifiers by stochastic gradient descent."""

from typing import Any

import numpy as np

from pellucid.linear_model._sgd.base import (
    EPSILON,
    LEARNING_RATE,
    POWER_T,
    StochasticClassifier,
    loss_and_schedule,
)
from pellucid.numerics import bayes
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Choice, changed, positional
from pellucid.protocol import available_if

CLASS_LOSSES = (
    "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber",
    "epsilon_insensitive", "squared_epsilon_insensitive",
)  # fmt: skip
PROBABLE = ("log_loss", "modified_huber")


class SGDClassifier(StochasticClassifier):
    """Linear classifier by stochastic gradient descent. It minimises

        mean_i w_i loss(y_i, b0 + x_i . b) + alpha (r |b|_1 + (1 - r) |b|^2 / 2),    y = -1 or 1

    with one gradient step per row and a decreasing step size; r is `l1_ratio`. With more than two
    classes, each class is fitted against all others. Use it for data that arrive in batches
    (`partial_fit`) or are too large for many passes. Standardise the columns first, or use
    `standardize`.

    Examples
    --------
    >>> from pellucid.linear_model import SGDClassifier
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]] * 10, ["no", "no", "yes", "yes"] * 10
    >>> SGDClassifier(random_state=0).fit(X, y).predict([[-1.5], [1.5]]).tolist()
    ['no', 'yes']
    """

    loss: str = positional(
        default="hinge",
        check=Choice(*CLASS_LOSSES),
        description="Loss of a row: 'hinge' is a linear support vector machine, 'log_loss' logistic "
        "regression, 'modified_huber' a smooth hinge that gives probabilities, 'squared_hinge' a "
        "squared hinge, 'perceptron' a hinge at 0. The other four are losses of regression on targets "
        "-1 and 1.",
        kw_only=False,
    )
    epsilon: float = EPSILON.replace(after="verbose")
    learning_rate: str = LEARNING_RATE.replace(before="eta0")
    eta0: float = changed(before="early_stopping")
    power_t: float = POWER_T.replace(after="eta0")

    def _own_options(self) -> dict[str, Any]:
        return loss_and_schedule(self, "hinge")

    def _codes(self, X: Any) -> np.ndarray:
        """The class of the highest score; if two probabilities are equal, the first of them.

        Overrides the choice by probabilities, which most losses do not have.
        """
        scores = self._finite(self._scores(X))
        several = scores.ndim == 2
        # Probabilities of the modified Huber loss are cut at 1, where only scores differ.
        if self.loss not in PROBABLE or (several and self.loss == "modified_huber"):
            return scores.argmax(axis=1) if several else (scores > 0).astype(np.int32)
        logits = _log_probabilities(scores) if several else scores
        return bayes.leading(logits, lambda rows: self._probabilities(scores[rows]))

    @available_if(
        lambda self: self.loss in PROBABLE,
        f"Probabilities need one of the losses {' and '.join(map(repr, PROBABLE))}.",
    )
    def _proba(self, X: Any) -> np.ndarray:
        return self._probabilities(self._finite(self._scores(X)))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim == 2 and self.loss == "log_loss":
            return softmax(_log_probabilities(scores))
        positive = expit(scores) if self.loss == "log_loss" else (np.clip(scores, -1, 1) + 1) / 2
        if scores.ndim == 1:
            return np.column_stack([1 - positive, positive])
        total = positive.sum(axis=1, keepdims=True)
        equal = np.full_like(positive, 1 / positive.shape[1])
        out = np.divide(positive, total, out=equal, where=total > 0)
        # Probabilities are cut at 0 and 1. Where several are equal, that of the class with the highest
        # score is made larger by one ulp, so that it agrees with `predict`.
        best = scores.argmax(axis=1)
        tied = out.argmax(axis=1) != best
        out[tied, best[tied]] = np.nextafter(out[tied].max(axis=1, initial=0.0), 2.0)
        return out


def _log_probabilities(scores: np.ndarray) -> np.ndarray:
    """Log of each class's probability against all others. Their softmax normalises the
    probabilities, even where all of them are too small for a float."""
    return -np.logaddexp(0.0, -scores)
