"""A neural network for regression."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.data.weighted_sampling import held_back
from pellucid.errors import DataError
from pellucid.neural_network.base import MultiLayer
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import ACTIVATION, HIDDEN_LAYER_SIZES
from pellucid.parameters import Choice, learned, positional

LOSS_NAMES = {"squared_error": "squared", "poisson": "poisson"}


class MLPRegressor(MultiLayer, Regressor):
    """A multi-layer perceptron for regression: layers of units from the columns to the targets,

        minimise mean_i w_i loss(y_i, network(x_i)) + alpha |W|^2 / (2 sum_i w_i)

    in mini-batches. Columns and targets should have comparable scales: see `standardize`.

    Examples
    --------
    >>> from pellucid.neural_network import MLPRegressor
    >>> X, y = [[-2.0], [-1.0], [0.0], [1.0], [2.0]], [2.0, 1.0, 0.0, 1.0, 2.0]
    >>> model = MLPRegressor(hidden_layer_sizes=4, solver="lbfgs", alpha=0, random_state=0)
    >>> model.fit(X, y).predict([[-1.5], [1.5]]).round(2)
    array([1.5, 1.5])
    """

    loss: str = positional(
        default="squared_error",
        check=Choice(*LOSS_NAMES),
        description="Half the squared error, summed over the targets; or half the Poisson deviance, "
        "with the logarithm of the mean as output.",
        kw_only=False,
    )
    hidden_layer_sizes: Any = HIDDEN_LAYER_SIZES
    activation: str = ACTIVATION

    several_: bool = learned("Whether y had several columns.")
    target_shift_: np.ndarray = learned("Value that is subtracted from each target.")
    target_scale_: np.ndarray = learned("Value that each target is divided by.")

    _several_targets = True
    _target = "several"

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one more pass over these rows."""
        self._check_parameters()
        self._check_more()
        return self._learn_more(X, y, weights=sample_weight)

    def _loss(self, problem: Problem) -> str:
        return LOSS_NAMES[self.loss]

    def _targets(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        from pellucid.numerics.column_scaling import deviations

        Y = problem.y.reshape(problem.n, -1)
        if self.loss == "poisson" and (Y < 0).any():
            row = int(np.argwhere(Y < 0)[0, 0])
            raise DataError(
                f"loss='poisson' needs targets that are not negative. Got y = {Y[row].min():g}."
            )
        shift, scale = np.zeros(Y.shape[1]), np.ones(Y.shape[1])
        if self.standardize and self.loss == "squared_error":
            shift, scale = deviations(Y, problem.weights)
            if self.__sklearn_is_fitted__():  # a warm start, or one more batch
                shift, scale = self.target_shift_, self.target_scale_
        attributes = {
            "target_shift_": shift,
            "target_scale_": scale,
            "several_": problem.y.size > problem.n,
        }
        return (Y - shift) / scale, problem.weights, attributes

    def _validation_weights(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        share, rows = self.validation_fraction, np.arange(problem.n)
        return held_back(problem.weights, [rows], lambda m: round(share * m), rng)

    def _validation_score(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        residual = w @ (Y - network.answers(X)) ** 2
        spread = w @ (Y - np.average(Y, axis=0, weights=w)) ** 2
        return float(np.mean(1.0 - residual / np.where(spread > 0, spread, 1.0)))

    def _held_targets(self, held: Problem, attributes: dict[str, Any]) -> np.ndarray:
        shift, scale = attributes["target_shift_"], attributes["target_scale_"]
        return (held.y.reshape(held.n, -1) - shift) / scale

    def _log_likelihood(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        return -float(np.average((Y - network.answers(X)) ** 2, axis=0, weights=w).mean())

    def _predict(self, X: Any) -> np.ndarray:
        network = self._network()
        predicted = (
            network.answers(self._scaled_inputs(X)) * self.target_scale_ + self.target_shift_
        )
        return predicted if self.several_ else predicted[:, 0]

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
            raise DataError("the number of targets does not match the outputs")
        if self.out_activation_ != ("identity" if self.loss == "squared_error" else "exp"):
            raise DataError("the activation of the last layer does not match the loss")
