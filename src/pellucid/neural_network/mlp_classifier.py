"""A network that tells classes apart."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.errors import DataError, ParameterError
from pellucid.neural_network.base import MultiLayer
from pellucid.neural_network.layers import logistic
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import ACTIVATION, HIDDEN_LAYER_SIZES
from pellucid.numerics.objectives.losses import log_softmax, softmax
from pellucid.parameters import CLASS_WEIGHT

# Scores that differ by more have different probabilities.
TIED = 1e-12


class MLPClassifier(MultiLayer, Classifier):
    """A multi-layer perceptron: layers of units between the columns and the log-odds of the classes,

        minimise mean_i w_i log loss(y_i, network(x_i)) + alpha |W|^2 / (2 sum_i w_i)

    in mini-batches. Columns should have comparable scales: see `standardize`.

    Examples
    --------
    >>> from pellucid.neural_network import MLPClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 1.0]], [0, 1]
    >>> model = MLPClassifier((5, 2), solver="lbfgs", alpha=1e-5, random_state=1).fit(X, y)
    >>> model.predict([[2.0, 2.0], [-1.0, -2.0]])
    array([1, 0])
    >>> [W.shape for W in model.coefs_]
    [(2, 5), (5, 2), (2, 1)]
    """

    hidden_layer_sizes: Any = HIDDEN_LAYER_SIZES
    activation: str = ACTIVATION
    class_weight: Any = CLASS_WEIGHT.replace(after="max_fun")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """One more pass, over these rows."""
        self._check_parameters()
        self._check_more()
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight 'balanced' is not supported for partial_fit: a batch does not know the "
                "sizes of all classes. Give the weights as a dict."
            )
        return self._learn_more(X, y, weights=sample_weight, classes=classes)

    def _loss(self, problem: Problem) -> str:
        assert problem.classes is not None
        return "log" if len(problem.classes) == 2 else "cross_entropy"

    def _targets(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        assert problem.classes is not None
        K, y = len(problem.classes), problem.y
        Y = (y == 1)[:, None] if K == 2 else np.eye(K, dtype=bool)[y]
        return Y, class_weighted(self.class_weight, problem), {}

    def _held_back(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """The same share of every class; a class of one row stays with the rows to learn from."""

        def some(m: int) -> int:
            return min(round(self.validation_fraction * m), m - 1)

        return held_back(problem.weights, classes_of(problem.y), some, rng)

    def _score_of(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        Z = network.scores(X)
        right = (Z[:, 0] > 0) == (Y[:, 0] > 0) if Z.shape[1] == 1 else Z.argmax(1) == Y.argmax(1)
        return float(np.average(right, weights=w))

    def _proba(self, X: Any) -> np.ndarray:
        return _probabilities(self._raw(X))

    def _log_proba(self, X: Any) -> np.ndarray:
        """From the scores, so that probabilities too small for a float have logarithms."""
        Z = self._finite(self._raw(X))
        if Z.shape[1] == 1:
            return -np.logaddexp(0.0, np.concatenate([Z, -Z], axis=1))
        with np.errstate(over="ignore", under="ignore"):
            return log_softmax(Z)

    def _codes(self, X: Any) -> np.ndarray:
        """The largest probability, without most of the exponentials: scores have the same order,
        but for those so near each other that their probabilities are equal.
        """
        Z = self._finite(self._raw(X))
        if Z.shape[1] == 1:
            codes = (Z[:, 0] > 0).astype(np.int32)
            near = np.abs(Z[:, 0]) < TIED
        else:
            codes = Z.argmax(axis=1)
            near = codes != (Z.max(axis=1, keepdims=True) - TIED < Z).argmax(axis=1)
        if near.any():
            codes[near] = _probabilities(Z[near]).argmax(axis=1)
        return codes

    def _explain(self, X: Any) -> dict[str, Any]:
        base, contributions, scores = self._contributions(X)
        return {
            "base": base,
            "contributions": contributions,
            "prediction": scores,
            "scale": "log-odds",
            "method": "integrated gradients from the training mean",
        }

    def _check_state(self) -> None:
        super()._check_state()
        K = len(self.classes_)
        if self.n_outputs_ != (1 if K == 2 else K):
            raise DataError("the outputs are not those of the classes")
        if self.out_activation_ != ("logistic" if K == 2 else "softmax"):
            raise DataError("the last layer does not give probabilities")


def _probabilities(Z: np.ndarray) -> np.ndarray:
    """From the scores of the outputs to (n, classes)."""
    if Z.shape[1] > 1:
        return softmax(Z)
    return logistic(np.concatenate([-Z, Z], axis=1))
