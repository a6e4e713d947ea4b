"""Predictions of boosted regressors, through the inverse of the link of their loss."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import default_scores
from pellucid.base import Regressor
from pellucid.beyond_memory import lazy_for_dask
from pellucid.data import Problem
from pellucid.ensemble.boosting import base
from pellucid.errors import DataError

LOGARITHMIC = ("poisson", "gamma")  # losses with the log link


class BoostingRegressor(Regressor):
    """Family of boosting regressors.

    `predict` and `score` are written again because they accept an offset.
    """

    def _quantile(self) -> float | None:
        """Quantile of the losses that have one."""
        raise NotImplementedError

    def _objective(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting import losses

        return losses.regression(self.loss, self._quantile())

    def _check_target(self, problem: Problem) -> None:
        """Refuse values of y outside the domain of the loss."""
        if self.loss not in LOGARITHMIC:
            return
        y, count = problem.y, self.loss == "poisson"
        bad = np.flatnonzero(y < 0 if count else y <= 0)
        if len(bad):
            raise DataError(
                f"loss={self.loss!r} needs y {'>= 0' if count else '> 0'}, but {len(bad)} row(s) have "
                f"other values, the first one {y[bad[0]]:g}. Correct them, or use another loss."
            )

    def _check_problem(self, problem: Problem) -> None:
        self._check_target(problem)
        if self.loss in LOGARITHMIC and not np.any(problem.y > 0):
            raise DataError("Every y is 0, so the logarithm of the mean is not finite.")

    def _validation_score(self, raw: np.ndarray, rows: Problem) -> float:
        """R2 of rows with these raw predictions."""
        raw = raw[:, 0] if rows.offset is None else raw[:, 0] + rows.offset
        predicted = self._inverse_link(raw)
        share = rows.weights / rows.weights.sum()
        # R2 does not depend on the unit of y: numbers near 1 do not overflow.
        e = -int(np.frexp(max(np.abs(rows.y).max(), np.abs(predicted).max()))[1])
        y, predicted = np.ldexp(rows.y, e), np.ldexp(predicted, e)
        spread = float(share @ (y - share @ y) ** 2)
        return 1 - float(share @ (y - predicted) ** 2) / spread if spread > 0 else 0.0

    def _inverse_link(self, raw: np.ndarray) -> np.ndarray:
        return np.exp(raw) if self.loss in LOGARITHMIC else raw

    def linear_predictor(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """baseline_ + sum of the trees + offset: the logarithm of the prediction for losses with
        the log link, otherwise the prediction itself."""
        return self._answer(lambda X: base.raw_predictions(self, X, offset)[:, 0], X)

    def _predict(self, X: np.ndarray, offset: Any = None) -> np.ndarray:
        return self._inverse_link(base.raw_predictions(self, X, offset)[:, 0])

    @lazy_for_dask
    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """The predicted number of each row."""
        return self._answer(lambda X: self._predict(X, offset), X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Coefficient of determination R2."""
        return default_scores.r2(self, X, y, sample_weight, offset)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Predictions after every round."""
        for raw in base.staged_raw_predictions(self, X, offset):
            yield self._inverse_link(raw[:, 0])

    explain = base.explain

    def _explain(self, X: np.ndarray, method: str = "path") -> dict[str, Any]:
        scale = "link" if self.loss in LOGARITHMIC else "response"
        return base.explanation_parts(self, X, method, scale)
