"""A neural network for classification."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.errors import DataError, ParameterError
from pellucid.neural_network.base import MultiLayer
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import ACTIVATION, HIDDEN_LAYER_SIZES
from pellucid.numerics.objectives.losses import class_probabilities, log_softmax
from pellucid.parameters import shared

# Scores that differ by more than this have different probabilities.
TIED = 1e-12


class MLPClassifier(MultiLayer, Classifier):
    """A multi-layer perceptron for classification: layers of units from the columns to the log-odds
    of the classes,

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
    class_weight: Any = shared.CLASS_WEIGHT.replace(after="max_fun")

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Self:
        """Make one more pass over these rows."""
        self._check_parameters()
        self._check_more()
        if isinstance(self.class_weight, str):
            raise ParameterError(
                "class_weight='balanced' is not supported by partial_fit, because the class sizes are "
                "unknown. Give the weights as a dict."
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

    def _validation_weights(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """The same share of every class; a class with one row is only used for training."""
        share = self.validation_fraction
        groups = classes_of(problem.y)
        return held_back(problem.weights, groups, lambda m: min(round(share * m), m - 1), rng)

    def _validation_score(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        Z = network.scores(X)
        correct = (Z[:, 0] > 0) == (Y[:, 0] > 0) if Z.shape[1] == 1 else Z.argmax(1) == Y.argmax(1)
        return float(np.average(correct, weights=w))

    def _held_targets(self, held: Problem, attributes: dict[str, Any]) -> np.ndarray:
        return held.y

    def _log_likelihood(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        Z = network.scores(X)
        if Z.shape[1] == 1:
            own = -np.logaddexp(0.0, np.where(Y == 1, -Z[:, 0], Z[:, 0]))
        else:
            own = log_softmax(Z)[np.arange(len(Z)), Y]
        return float(np.average(own, weights=w))

    def _proba(self, X: Any) -> np.ndarray:
        return _probabilities(self._raw(X))

    def _log_proba(self, X: Any) -> np.ndarray:
        """Computed from the scores, so that probabilities that underflow have finite logarithms."""
        Z = self._finite(self._raw(X))
        if Z.shape[1] == 1:
            return -np.logaddexp(0.0, np.concatenate([Z, -Z], axis=1))
        with np.errstate(over="ignore", under="ignore"):
            return log_softmax(Z)

    def _codes(self, X: Any) -> np.ndarray:
        """The class of the largest probability, found from the scores, which have the same order.

        Probabilities are computed only if scores are so close that these may be equal.
        """
        Z = self._finite(self._raw(X))
        if Z.shape[1] == 1:
            codes = (Z[:, 0] > 0).astype(np.int32)
            close = np.abs(Z[:, 0]) < TIED
        else:
            codes = Z.argmax(axis=1)
            close = codes != (Z.max(axis=1, keepdims=True) - TIED < Z).argmax(axis=1)
        if close.any():
            codes[close] = _probabilities(Z[close]).argmax(axis=1)
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
            raise DataError("the number of outputs does not match the classes")
        if self.out_activation_ != ("logistic" if K == 2 else "softmax"):
            raise DataError("the last layer does not return probabilities")


def _probabilities(Z: np.ndarray) -> np.ndarray:
    """Probabilities (n, classes) from the scores of the outputs."""
    return class_probabilities(Z if Z.shape[1] > 1 else Z[:, 0])
