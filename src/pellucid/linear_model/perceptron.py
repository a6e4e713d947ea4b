"""The perceptron."""

from typing import Any

import numpy as np

from pellucid import conformal
from pellucid.linear_model._sgd.base import StochasticClassifier
from pellucid.parameters import Choice, changed, learned, param


class Perceptron(StochasticClassifier):
    """Rosenblatt's perceptron. Every misclassified row moves the separating plane,

        b <- b + eta0 y_i x_i,    b0 <- b0 + eta0 y_i    if y_i (b0 + x_i . b) <= 0

    until an epoch makes no mistake, which happens if a plane separates the classes (see
    `converged_`). With more than two classes, each class is fitted against all others.

    Examples
    --------
    >>> from pellucid.linear_model import Perceptron
    >>> X, y = [[2.0, 1.0], [-1.0, -1.0], [1.0, -1.0]], ["+", "-", "-"]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> model.converged_, model.n_mistakes_.tolist()
    (True, [2, 0])
    """

    penalty: str | None = changed(default=None)
    alpha: float = changed(description="Strength of the penalty, if there is one.")
    eta0: float = changed(default=1.0, description="Step size of each move.")
    random_state: Any = changed(default=0)
    step: str = param(
        "constant",
        Choice("constant", "decreasing"),
        "Whether all moves have the size eta0, or the k-th mistake moves the plane by eta0 / (k + 1).",
    )

    converged_: bool = learned("Whether the last epoch made no mistake.")
    n_mistakes_: np.ndarray = learned("Number of mistakes in each epoch, summed over the classes.")

    _exempt = {"representation_is_the_call": "random_state is 0 by default, so it is not shown"}

    _proba = conformal.calibrated_probabilities

    def _own_options(self) -> dict[str, Any]:
        return {
            "loss": "perceptron", "schedule": self.step, "power": 0.5, "epsilon": 0.1,
            "stop_without_mistakes": not self.penalty,
        }  # fmt: skip

    def _more_learned(self, states: list[Any]) -> dict[str, Any]:
        epochs = max(len(one.history) for one in states)
        mistakes = np.zeros(epochs, dtype=np.int64)
        for one in states:
            made = [int(row[1]) for row in one.history]
            mistakes += np.array(made + made[-1:] * (epochs - len(made)), dtype=np.int64)
        return {"n_mistakes_": mistakes, "converged_": bool(mistakes[-1] == 0)}
