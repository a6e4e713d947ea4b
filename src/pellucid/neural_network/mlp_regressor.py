"""A network that predicts numbers."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data.weighted_sampling import held_back
from pellucid.errors import DataError
from pellucid.neural_network.base import OPTIONS, MultiLayer
from pellucid.neural_network.lessons import Lessons
from pellucid.neural_network.network import Network
from pellucid.parameters import Choice

LOSS_NAMES = {"squared_error": "squared", "poisson": "poisson"}


class MLPRegressor(MultiLayer, Regressor):
    """A multi-layer perceptron: layers of units between the columns and one or several numbers,

        minimise mean_i w_i loss(y_i, network(x_i)) + alpha |W|^2 / (2 sum_i w_i)

    in mini-batches. Columns and targets should have comparable scales: see `standardize`.

    Parameters
    ----------
    loss : {"squared_error", "poisson"}, default="squared_error"
        Half the squared error, summed over the targets; half the Poisson deviance, with the
        logarithm of the mean as output.
    hidden_layer_sizes : int or sequence of ints, default=(100,)
        Units of each hidden layer; () is a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
    solver : {"lbfgs", "sgd", "adam", "gd"}, default="adam"
        "gd" is plain gradient descent on all rows.
    alpha, batch_size, learning_rate, learning_rate_init, power_t, max_iter, shuffle, random_state, \
tol, verbose, warm_start, momentum, nesterovs_momentum, early_stopping, validation_fraction, beta_1, \
beta_2, epsilon, n_iter_no_change, max_fun, dropout, dtype
        As in `MLPClassifier`; early stopping judges by R2.
    standardize : bool, default=False
        Subtract the mean of each column and divide numbers by their standard deviations, inside, as
        in `MLPClassifier`; with squared error the targets, too.
    table : Table, optional

    Attributes
    ----------
    coefs_, intercepts_ : lists of (inputs, units) and (units,), layer by layer
    loss_, best_loss_, loss_curve_, validation_scores_, best_validation_score_, t_
    n_iter_, n_layers_, n_outputs_, out_activation_
    shift_, scale_, means_ : of the encoded columns; target_shift_, target_scale_
    history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neural_network import MLPRegressor
    >>> X, y = [[-2.0], [-1.0], [0.0], [1.0], [2.0]], [2.0, 1.0, 0.0, 1.0, 2.0]
    >>> model = MLPRegressor(hidden_layer_sizes=4, solver="lbfgs", alpha=0, random_state=0)
    >>> model.fit(X, y).predict([[-1.5], [1.5]]).round(2)
    array([1.5, 1.5])
    """

    _several_targets = True
    _target = "several"
    _parameters = {"loss": Choice(*LOSS_NAMES)} | OPTIONS

    def __init__(
        self,
        loss: str = "squared_error",
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
        dropout: float = 0.0,
        dtype: str = "float64",
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.loss = loss
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
        self.dropout = dropout
        self.dtype = dtype
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """One more pass, over these rows."""
        self._check_parameters()
        self._check_more()
        return self._learn_more(X, y, weights=sample_weight)

    def _loss(self, lessons: Lessons) -> str:
        return LOSS_NAMES[self.loss]

    def _targets(self, lessons: Lessons) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        from pellucid.numerics.column_scaling import deviations

        Y = lessons.y.reshape(lessons.n, -1)
        if self.loss == "poisson" and (Y < 0).any():
            row = int(np.argwhere(Y < 0)[0, 0])
            raise DataError(
                f"loss='poisson' needs targets that are not negative; a row has y = {Y[row].min():g}."
            )
        shift, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.standardize and self.loss == "squared_error":
            shift, scale = deviations(Y, lessons.weights)
            if self.__sklearn_is_fitted__():  # a warm start, or one more batch
                shift, scale = self.target_shift_, self.target_scale_
        learned = {"target_shift_": shift, "target_scale_": scale, "several_": lessons.y.ndim == 2}
        return (Y - shift) / scale, lessons.weights, learned

    def _held_back(self, lessons: Lessons, rng: np.random.Generator) -> np.ndarray:
        def some(m: int) -> int:
            return round(self.validation_fraction * m)

        return held_back(lessons.weights, [np.arange(lessons.n)], some, rng)

    def _score_of(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        residual = w @ (Y - network.answers(X)) ** 2
        spread = w @ (Y - np.average(Y, axis=0, weights=w)) ** 2
        return float(np.mean(1.0 - residual / np.where(spread > 0, spread, 1.0)))

    def _predict(self, X: Any) -> np.ndarray:
        network = self._network()
        answer = network.answers(self._inside(X)) * self.target_scale_ + self.target_shift_
        return answer if self.several_ else answer[:, 0]

    def _explain(self, X: Any) -> dict[str, Any]:
        base, contributions, scores = self._contributions(X)
        plain = self.loss == "squared_error"
        return {
            "base": base * self.target_scale_ + self.target_shift_,
            "contributions": contributions * self.target_scale_,
            "prediction": scores * self.target_scale_ + self.target_shift_,
            "scale": "response" if plain else "link",
            "method": "integrated gradients from the training mean",
        }

    def _check_state(self) -> None:
        from pellucid.persist.fitted_state import expect_array

        super()._check_state()
        for name in ("target_shift_", "target_scale_"):
            expect_array(self, name, self.n_outputs_, finite=True)
        several = vars(self).get("several_")
        if type(several) is not bool or not (several or self.n_outputs_ == 1):
            raise DataError("the number of targets is not that of the outputs")
        if self.out_activation_ != ("identity" if self.loss == "squared_error" else "exp"):
            raise DataError("the last layer is not that of the loss")
