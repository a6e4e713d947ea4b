"""What generalised linear regressors share: fitting with offsets, prediction, D2, explanation.

Invariant: a subclass only names its family, link and penalty; everything else follows from them.
"""

from typing import Any, Self

import numpy as np

from pellucid import conformal, parallel
from pellucid.beyond_memory import lazy_for_dask
from pellucid.data import Problem
from pellucid.data.opening import large_source, on_workers, opened
from pellucid.data.targets import check_lengths, numbers, offset_values, weights_or_ones
from pellucid.errors import DataError, ParameterError, shown
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.linear_model.target_range import check_range, clip_to_range, learn_range, with_bound
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.objectives.families import Family, GLMLoss
from pellucid.numerics.objectives.links import LINKS
from pellucid.parameters import Choice, Integer, Real, learned, param, shared
from pellucid.persist.fitted_state import (
    expect_entries,
    expect_full_rank,
    expect_increasing,
    expect_texts,
)


def _one_sign(X: Any) -> bool:
    """Whether a column is positive, or negative, in every row, so that it can act as an intercept."""
    ends = [X.min(axis=0), X.max(axis=0)]
    low, high = ends if isinstance(X, np.ndarray) else [end.toarray() for end in ends]
    low, high = parallel.everywhere(low, np.minimum), parallel.largest(high)
    return bool(np.any((low > 0) | (high < 0)))


class GLMRegressor(LinearPredictor):
    """A regressor whose mean is a function (inverse link) of x . coef_ + intercept_ + offset."""

    alpha: float = param(
        1.0,
        Real(0, None),
        "Strength of the penalty. 0 gives maximum likelihood, for which `summary` has standard "
        "errors.",
        before="fit_intercept",
    )
    solver: str = param(
        "auto",
        Choice("auto", "newton", "newton-cholesky", "lbfgs", "gd"),
        "All but 'gd' find the same optimum: by Newton's method, or by L-BFGS for more than 1000 "
        "columns. 'gd' is plain gradient descent from 0, which is easy to watch.",
    )
    max_iter: int = param(100, Integer(1), "Largest number of iterations of the solver.")
    tol: float = param(
        1e-4,
        Real(0, None),
        "L-BFGS stops when no component of the gradient of the mean objective exceeds tol, 'gd' when "
        "the coefficients move less than tol. Newton's method always solves to full precision.",
    )
    warm_start: bool = shared.WARM_START
    verbose: int = shared.VERBOSE
    step: float | None = shared.STEP.replace(
        description="Step size of the solver 'gd' along the gradient of the mean objective. None "
        "takes half of 1 / curvature at the start."
    )
    standardize: bool = shared.STANDARDIZE

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns on the scale of the link, shape (n_terms,), in the order "
        "of `terms_`."
    )
    intercept_: float = learned("Intercept on the scale of the link.")
    n_iter_: int = learned(shared.N_ITER)
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    inference_: dict[str, Any] = learned(
        "Statistics from which `summary` and `predict_interval` are computed; for alpha=0 only."
    )

    _scale = "link"
    _shares_rows = property(
        lambda self: self.solver != "gd" and not self.standardize and self.l1_ratio == 0
    )
    l1_ratio = 0.0
    _no_steps = "it is solved directly. Use solver='gd' to watch gradient descent."
    bound_predictions = False

    def _family(self) -> Family:
        raise NotImplementedError

    def _link(self) -> str:
        return "log"

    def _loss(self) -> GLMLoss:
        return GLMLoss(self._family(), LINKS[self._link()])

    def _coding(self) -> str:
        return "reference" if self.alpha == 0 else "onehot"

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> Self:
        """Find the coefficients.

        `offset` is added to x . coef_ + intercept_ of every row; `exposure` (log link only)
        multiplies its mean: exposure = exp(offset). Both can be names of columns, here and in
        prediction.
        """
        if on_workers(X) is not None:
            if exposure is not None:
                raise ParameterError(
                    "exposure cannot be given with a Dask frame: make a column with its logarithm and "
                    "name it as offset."
                )
            return self._learn(X, y, weights=sample_weight, offset=offset)
        if isinstance(offset, str) or isinstance(exposure, str):
            X, large = large_source(X, y, sample_weight, offset, exposure)
            if large and exposure is None:
                return self._learn(X, y, weights=sample_weight, offset=offset)
            if large:
                X, exposure = X.without(exposure)
        X, shift = self._opened(X, offset, exposure)
        return self._learn(X, y, weights=sample_weight, offset=shift)

    def _opened(self, X: Any, offset: Any, exposure: Any) -> tuple[Any, Any]:
        """The table without the columns that are named, and the offset of the linear predictors."""
        if isinstance(offset, str) or isinstance(exposure, str):
            X, offset, exposure = opened(X, offset, exposure)
        if exposure is None:
            return X, offset
        if offset is not None:
            raise ParameterError("Give offset or exposure, not both: exposure = exp(offset).")
        if self._link() != "log":
            raise ParameterError(f"exposure needs the log link, not {self._link()!r}; use offset.")
        shape = getattr(X, "shape", None)
        n = shape[0] if shape else len(X) if isinstance(X, list | tuple) else None
        values = offset_values(exposure, n, "exposure")
        bad = np.flatnonzero(~(values > 0))
        if len(bad):
            raise DataError(
                f"exposure must be positive, but {len(bad)} row(s) are not (the first, row {bad[0]}, "
                f"has {values[bad[0]]:g}). Leave out rows without exposure."
            )
        return X, np.log(values)

    def _check_problem(self, problem: Problem) -> None:
        family, y = self._family(), problem.y
        low, high = family.y_range
        bad = np.flatnonzero((y < low) | (y > high) | (family.positive & (y <= low)))
        if len(bad):
            wanted = f"{'>' if family.positive else '>='} {low:g}"
            wanted += "" if np.isinf(high) else f" and <= {high:g}"
            raise DataError(
                f"Some value(s) of y are out of the valid range of {type(self).__name__}: y must be "
                f"{wanted} for the {family.name} family, but {len(bad)} row(s) are not (the first, "
                f"row {problem.user_rows()[bad[0]]}, has {y[bad[0]]:g}). "
                "Correct them, or use another family."
            )
        least, most = float(parallel.everywhere(y.min(), min)), float(parallel.largest(y.max()))
        equal, never = least == most, self._link() == "log" and not most > 0
        edge = never or (equal and least in family.y_range)
        if edge and (self.fit_intercept or (self.alpha == 0 and _one_sign(problem.X))):
            found = f"Every y is {least:g}" if equal else "No y is positive"
            raise DataError(
                f"{found}, so the best mean lies on the boundary of the {self._link()} link, and no "
                "finite coefficients fit. Add rows with other values of y."
            )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._glm.solver import fit_columns

        learned = penalised_evenly(
            self, self.alpha > 0, problem, lambda seen: fit_columns(self, seen)
        )
        return learned | learn_range(self, problem.y, problem.offset)

    def _check_state(self) -> None:
        """Refuse arrays that do not belong to the columns or to each other (model files)."""
        super()._check_state()
        check_range(self)
        if "inference_" in vars(self):
            p = len(self.coef_)
            kept = expect_entries(
                self, "inference_", rank=(), total=(), rows=(), deviance=(), pearson=(),
                null_deviance=(), log_likelihood=(), log_likelihood_precision=(), known=(),
                aliased=(None,), centre=(p,), root=(p + 1, None), endless=(p + 1, None),
            )  # fmt: skip
            expect_texts(self, "inference_", "family", "link")
            expect_increasing(self, kept["aliased"], p + 1)
            m = len(kept["aliased"])
            expect_entries(self, "inference_", null=(p + 1, m), slack=(m,))
            expect_full_rank(self, kept["null"][kept["aliased"]])

    # Using --------------------------------------------------------------------------------------

    def linear_predictor(self, X: Any, *, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """x . coef_ + intercept_ + offset: the link of the predicted mean."""
        X, shift = self._opened(X, offset, exposure)
        return self._answer(lambda X: self._eta(X, shift), X, direct=True)

    def _eta(self, X: Any, shift: Any = None) -> np.ndarray:
        eta = linear_scores(X, self.coef_, self.intercept_)
        return eta if shift is None else eta + offset_values(shift, len(eta))

    def _predict(self, X: Any) -> np.ndarray:
        return clip_to_range(self, LINKS[self._link()].inverse(self._eta(X)))

    @lazy_for_dask
    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """The predicted mean of each row."""
        X, shift = self._opened(X, offset, exposure)
        eta = self.linear_predictor(X, offset=shift)
        shift = None if shift is None else offset_values(shift, len(eta))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._finite(clip_to_range(self, LINKS[self._link()].inverse(eta), shift))

    def predict_interval(
        self, X: Any, level: float = 0.95, *, kind: str = "observation", offset: Any = None,
        exposure: Any = None, trials: int = 1, weights: str = "frequency",
    ) -> np.ndarray:  # fmt: skip
        """Low and high end (n, 2) of the interval that covers a new observation (or, with
        kind="mean", its mean) in a share `level` of samples.

        `trials` is the number of trials of a new binomial share; `weights` is as in `summary`. An end
        is infinite where the linear predictor of an inverse link can be 0. Theory needs alpha=0; a
        penalised model that a comparison saved uses its out-of-fold errors instead.
        """
        from pellucid.linear_model._inference.intervals import check_interval, glm_ends

        self._check_fitted()
        check_interval(level, kind)
        if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 1:
            raise ParameterError(f"trials must be an integer >= 1. Got {shown(trials)} instead.")
        # Errors say nothing of a mean, another exposure, other trials or the meaning of weights.
        plain = kind == "observation" and offset is None and exposure is None
        plain = plain and trials == 1 and weights == "frequency"
        if plain and "inference_" not in vars(self) and conformal.has_errors(self):
            return conformal.interval(self, X, level)
        X, shift = self._opened(X, offset, exposure)
        encoded = self._encoded(X)
        with np.errstate(over="ignore", invalid="ignore"):
            eta = self._finite(self._eta(encoded, shift))
            return glm_ends(self, encoded, eta, level, kind, trials, weights)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """D2: the share of the deviance of a constant model (with the same offset) that is explained."""
        X, shift = self._opened(X, offset, exposure)
        X, y, sample_weight = opened(X, y, sample_weight)
        mu = self.predict(X, offset=shift)
        y = numbers(y, type(self).__name__, several=False)
        check_lengths(len(mu), len(y))
        w = weights_or_ones(sample_weight, len(y))
        family = self._family()
        mean = np.full_like(mu, w @ y / w.sum())
        if shift is not None:
            from pellucid.linear_model._glm.information import constant_means

            mean = constant_means(self._loss(), y, w, offset_values(shift, len(mu)))
        with np.errstate(divide="ignore", invalid="ignore"):
            own = float(w @ family.half_deviance(y, mu))
            null = float(w @ family.half_deviance(y, mean))
        return 1 - own / null if null > 0 else float(own == 0)

    def explain(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The linear predictor as base plus one part per column; an offset is a separate part."""
        X, shift = self._opened(X, offset, exposure)
        found = super().explain(X)
        if shift is not None:
            shift = offset_values(shift, len(found.prediction))
            found = found.with_offset(shift)
        return with_bound(self, found, shift)

    def summary(
        self,
        *,
        errors: str = "classical",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        exposure: Any = None,
        groups: Any = None,
        weights: str = "frequency",
        level: float = 0.95,
    ) -> Any:
        """Estimates with standard errors, tests and confidence intervals, deviance, AIC.

        `errors`: "classical", "HC0" to "HC3" (any variances) or "clustered" (rows of one of the
        `groups` depend on each other); all but the first need the rows of the fit again.
        `weights="frequency"` counts a weight k as k rows, `"precision"` each row once (as R does);
        weights that are not whole count each row once.
        """
        from pellucid.linear_model._inference.estimates import glm
        from pellucid.linear_model._inference.summary_table import Request, summarise

        self._check_fitted()
        X, shift = self._opened(X, offset, exposure)
        request = Request(errors, X, y, sample_weight, shift, groups, weights, level)
        return summarise(self, request, glm)
