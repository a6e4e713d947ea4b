"""A network that tells classes apart."""

from typing import Any, Self

import numpy as np

from pellucid.base import ProbabilisticClassifier
from pellucid.data.class_weights import class_weighted
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.errors import DataError, ParameterError
from pellucid.neural_network.base import OPTIONS, MultiLayer
from pellucid.neural_network.layers import logistic
from pellucid.neural_network.lessons import Lessons
from pellucid.neural_network.network import Network
from pellucid.numerics.objectives.losses import log_softmax, softmax
from pellucid.parameters import ClassWeight

# Scores that differ by more have different probabilities.
TIED = 1e-12


class MLPClassifier(MultiLayer, ProbabilisticClassifier):
    """A multi-layer perceptron: layers of units between the columns and the log-odds of the classes,

        minimise mean_i w_i log loss(y_i, network(x_i)) + alpha |W|^2 / (2 sum_i w_i)

    in mini-batches. Columns should have comparable scales: see `standardize`.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of ints, default=(100,)
        Units of each hidden layer; () is a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
    solver : {"lbfgs", "sgd", "adam", "gd"}, default="adam"
        "gd" is plain gradient descent on all rows.
    alpha : float >= 0, default=0.0001
        Strength of the penalty on the weights; intercepts are free.
    batch_size : int or "auto", default="auto"
        Rows of a step; "auto" is min(200, rows).
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        For "sgd" and "gd": learning_rate_init; divided by t**power_t; divided by 5 when the loss stalls.
    learning_rate_init : float > 0, default=0.001
    power_t : float >= 0, default=0.5
    max_iter : int, default=200
        Passes over the rows at most ("lbfgs": iterations).
    shuffle : bool, default=True
        A new random order for every pass; False keeps the order of the rows.
    random_state : int, generator or None
    tol : float >= 0, default=1e-4
        Stop when loss (or validation score) has not improved by it for `n_iter_no_change` passes;
        for "lbfgs" when every slope is at most this.
    verbose : without effect; see `pellucid.watching`
    warm_start : bool, default=False
    momentum : float in [0, 1], default=0.9, for "sgd"
    nesterovs_momentum : bool, default=True
    early_stopping : bool, default=False
        Judge by the accuracy on a held-back share of the rows, and keep the best parameters; as in
        scikit-learn without effect for "lbfgs".
    validation_fraction : float in [0, 1), default=0.1
    beta_1, beta_2, epsilon : floats, for "adam"
    n_iter_no_change : int, default=10
    max_fun : int, default=15000, for "lbfgs"
    class_weight : dict {label: weight}, "balanced" or None
    dropout : float in [0, 1), default=0.0
        Share of the hidden values set to 0 in a step; refused for "lbfgs" and very large batches.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the network; float32 is about twice as fast.
    standardize : bool, default=False
        Subtract the mean of each column and divide numbers by their standard deviations, inside
        (levels, flags of missing cells and words keep their unit; in sparse tables, and in tables of
        many levels, only numbers that are seldom 0 are centred).
    table : Table, optional

    Attributes
    ----------
    coefs_, intercepts_ : lists of (inputs, units) and (units,), layer by layer
    loss_, best_loss_, loss_curve_, validation_scores_, best_validation_score_, t_
    n_iter_, n_layers_, n_outputs_, out_activation_
    shift_, scale_, means_ : of the encoded columns
    history_, status_, classes_, n_features_in_, feature_names_in_, schema_

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

    _parameters = OPTIONS | {
        "class_weight": ClassWeight,
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        solver: str = "adam",
        alpha: float = 0.0001,
        batch_size: Any = "auto",
        learning_rate: str = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        tol: float = 1e-4,
        verbose: bool = False,
        warm_start: bool = False,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        n_iter_no_change: Any = 10,
        max_fun: int = 15000,
        class_weight: Any = None,
        dropout: float = 0.0,
        dtype: str = "float64",
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose
        self.warm_start = warm_start
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.n_iter_no_change = n_iter_no_change
        self.max_fun = max_fun
        self.class_weight = class_weight
        self.dropout = dropout
        self.dtype = dtype
        self.standardize = standardize
        self.table = table

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

    def _loss(self, lessons: Lessons) -> str:
        assert lessons.classes is not None
        return "log" if len(lessons.classes) == 2 else "cross_entropy"

    def _targets(self, lessons: Lessons) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        assert lessons.classes is not None
        K, y = len(lessons.classes), lessons.y
        Y = (y == 1)[:, None] if K == 2 else np.eye(K, dtype=bool)[y]
        return Y, class_weighted(self.class_weight, lessons), {}

    def _held_back(self, lessons: Lessons, rng: np.random.Generator) -> np.ndarray:
        """The same share of every class; a class of one row stays with the rows to learn from."""

        def some(m: int) -> int:
            return min(round(self.validation_fraction * m), m - 1)

        return held_back(lessons.weights, classes_of(lessons.y), some, rng)

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
