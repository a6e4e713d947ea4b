"""Boosting of numbers: losses by name, predictions through the link, offsets, stages."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import default_scores
from pellucid.data import Problem
from pellucid.ensemble.boosting.base import Boosting
from pellucid.errors import DataError, ParameterError


class NumberBoosting(Boosting):
    """Family of boosting regressors; a subclass names its loss."""

    def _loss_name(self) -> tuple[str, float | None]:
        """Name of the loss, and its quantile if it has one."""
        raise NotImplementedError

    def _logarithmic(self) -> bool:
        return self._loss_name()[0] in ("poisson", "gamma")

    def _objective(self) -> Any:
        from pellucid.ensemble.boosting import losses

        name, q = self._loss_name()
        if name == "absolute_error":
            return losses.absolute()
        if name in ("quantile", "huber"):
            assert q is not None
            return losses.quantile(q) if name == "quantile" else losses.huber(q)
        fixed = {"squared_error": losses.SQUARED, "poisson": losses.POISSON, "gamma": losses.GAMMA}
        return fixed[name]

    def _check_target(self, problem: Problem) -> None:
        name, y = self._loss_name()[0], problem.y
        if not self._logarithmic():
            return
        bad = np.flatnonzero(y < 0 if name == "poisson" else y <= 0)
        if len(bad):
            raise DataError(
                f"loss={name!r} needs y {'>= 0' if name == 'poisson' else '> 0'}, but {len(bad)} "
                f"row(s) are not (the first has {y[bad[0]]:g}). Correct them, or use another loss."
            )

    def _check_problem(self, problem: Problem) -> None:
        self._check_target(problem)
        if self._logarithmic() and not np.any(problem.y > 0):
            raise DataError("Every y is 0: the logarithm of their mean is not finite.")

    def _check_signs(self, settings: Any) -> None:
        if settings.signs is not None and self._objective().renew is not None:
            raise ParameterError(
                f"monotonic_cst does not work with loss={self._loss_name()[0]!r}: leaves that hold "
                "quantiles need not keep their order. Use another loss."
            )

    def _inverse(self, eta: np.ndarray) -> np.ndarray:
        return np.exp(eta) if self._logarithmic() else eta

    def linear_predictor(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """baseline_ + sum of the trees + offset: the logarithm of the prediction for losses with
        the log link, else the prediction itself."""
        return self._answer(lambda X: self._raw(X, offset)[:, 0], X)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self._inverse(self._raw(X)[:, 0])

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """The predicted number of each row."""
        return self._answer(lambda X: self._inverse(self._raw(X, offset)[:, 0]), X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Coefficient of determination R2."""
        return default_scores.r2(self, X, y, sample_weight, offset)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Predictions after every round."""
        for raw in self._stages(X, offset):
            yield self._inverse(raw[:, 0])

    def _own_score(self, raw: np.ndarray, rows: Problem) -> float:
        """R2 of rows with these raw predictions."""
        said = self._inverse(raw[:, 0] if rows.offset is None else raw[:, 0] + rows.offset)
        share = rows.weights / rows.weights.sum()
        e = -int(np.frexp(max(np.abs(rows.y).max(), np.abs(said).max()))[1])  # R2 knows no units
        y, said = np.ldexp(rows.y, e), np.ldexp(said, e)
        spread = float(share @ (y - share @ y) ** 2)
        return 1 - float(share @ (y - said) ** 2) / spread if spread > 0 else 0.0

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        return self._parts(X, "link" if self._logarithmic() else "response")

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_boosted(1)
