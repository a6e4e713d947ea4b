"""What Bayesian linear regressions share: predictions with their standard deviation, intervals.

Invariant: the variance of an observation is that of its mean, which depends on the row, plus that of
the noise, which does not.
"""

from typing import Any

import numpy as np

from pellucid.linear_model.base import LinearPredictor
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import learned
from pellucid.persist.fitted_state import expect_array, n_terms


class BayesianPredictor(LinearPredictor):
    """A linear regressor with a posterior distribution."""

    coef_: np.ndarray = learned(
        "Posterior mean of the coefficients, shape (n_terms,), in the order of `terms_`."
    )
    intercept_: float = learned("Posterior mean of the intercept.")

    def _variances(self, X: Any) -> tuple[np.ndarray, float]:
        """Variance of x . b + b0 for encoded rows, and that of the noise."""
        raise NotImplementedError

    def _deviations(self) -> np.ndarray:
        """Posterior standard deviations (p + 1,) of the coefficients and of the intercept."""
        raise NotImplementedError

    def _check_state(self) -> None:
        super()._check_state()
        expect_array(self, "coef_", n_terms(self), finite=True)

    def summary(self, *, level: float = 0.95) -> Any:
        """Posterior mean, standard deviation and credible interval of each coefficient."""
        from pellucid.linear_model._ridge.posterior import posterior_summary

        self._check_fitted()
        return posterior_summary(self, self._deviations(), self._strengths_shown(), level)

    def _mean_and_sd(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        spread, noise = self._variances(X)
        return linear_scores(X, self.coef_, self.intercept_), np.sqrt(spread + noise)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The predicted number of each row; with `return_std` also the standard deviation of a new
        observation: noise and uncertainty of the coefficients."""
        return self._answer(self._mean_and_sd, X) if return_std else super().predict(X)

    def predict_interval(
        self, X: Any, level: float = 0.95, *, kind: str = "observation"
    ) -> np.ndarray:
        """Low and high end (n, 2) of the interval that contains a new observation (or, with
        kind="mean", its mean) with probability `level`."""
        from pellucid.linear_model._inference.intervals import check_interval, normal_reach

        check_interval(level, kind)

        def ends(X: Any) -> np.ndarray:
            spread, noise = self._variances(X)
            sd = np.sqrt(spread + (noise if kind == "observation" else 0.0))
            middle = linear_scores(X, self.coef_, self.intercept_)
            return middle[:, None] + normal_reach(level) * sd[:, None] * np.array([-1.0, 1.0])

        return self._answer(ends, X)


def squared_length(rows: np.ndarray, root: np.ndarray) -> np.ndarray:
    """x' C x of each row, for C = root root': no large terms cancel."""
    return np.square(rows @ root).sum(axis=1)
