"""What generalised linear regressors share: fitting with offsets, prediction, D2, explanation.

Invariant: a subclass only names its family, link and penalty; everything else follows from them.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.data.opening import opened
from pellucid.data.targets import check_lengths, numbers, offset_values, weights_or_ones
from pellucid.errors import DataError, ParameterError, shown
from pellucid.linear_model.base import additive_parts, check_coefficients
from pellucid.linear_model.linear_classifier import column_means
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.linear_model.target_range import check_range, keep, learn_range, with_bound
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.objectives.families import Family, GLMLoss
from pellucid.numerics.objectives.links import LINKS
from pellucid.parameters import Boolean, Choice, Either, Integer, Nothing, Real, Verbose
from pellucid.records import Status

SOLVERS = ("auto", "newton", "newton-cholesky", "lbfgs", "gd")
PARAMETERS = {
    "alpha": Real(0, None),
    "fit_intercept": Boolean,
    "solver": Choice(*SOLVERS),
    "max_iter": Integer(1),
    "tol": Real(0, None, "neither"),
    "warm_start": Boolean,
    "verbose": Verbose,
    "step": Either(Nothing, Real(0, None, "neither")),
    "standardize": Boolean,
}
NET_EPOCHS = 1000  # of coordinate descent, for normal errors and absolute values

FACTS = ("rank", "total", "rows", "deviance", "pearson", "null_deviance", "log_likelihood")


def check_facts(kept: Any, p: int) -> None:
    """Refuse what a forged model file put in place of the facts for `summary()`."""
    right = isinstance(kept, dict) and all(isinstance(kept.get(k), int | float) for k in FACTS)
    names = ("aliased", "root", "endless", "centre", "null", "slack")
    aliased, *wide = (np.asarray(kept.get(name) if right else None) for name in names)
    m = len(aliased) if right and aliased.ndim == 1 else -1
    right = right and [array.shape for array in wide[2:]] == [(p,), (p + 1, m), (m,)]
    right = right and all(part.ndim == 2 and len(part) == p + 1 for part in wide[:2])
    if not right or np.any((aliased < 0) | (aliased >= p + 1)):
        raise DataError("the facts for inference belong to other columns")


def _one_sign(X: Any) -> bool:
    """Whether a column is positive, or negative, in every row: it can stand for an intercept."""
    ends = [X.min(axis=0), X.max(axis=0)]
    low, high = ends if isinstance(X, np.ndarray) else [end.toarray() for end in ends]
    return bool(np.any((low > 0) | (high < 0)))


class GLMRegressor(Regressor):
    """A regressor whose mean is a function (inverse link) of x . coef_ + intercept_ + offset."""

    alpha: float
    fit_intercept: bool
    solver: str
    tol: float
    max_iter: int
    warm_start: bool
    step: float | None
    standardize: bool
    l1_ratio: float = 0.0
    bound_predictions: bool = False
    coef_: np.ndarray
    intercept_: float
    means_: np.ndarray
    n_iter_: int
    history_: dict[str, np.ndarray]
    status_: Status

    def _family(self) -> Family:
        raise NotImplementedError

    def _link(self) -> str:
        raise NotImplementedError

    def _loss(self) -> GLMLoss:
        return GLMLoss(self._family(), LINKS[self._link()])

    def _coding(self) -> str:
        return "reference" if self.alpha == 0 else "onehot"

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> Self:
        """Find the coefficients.

        `offset` is added to every row's x . coef_ + intercept_; `exposure` (log link) multiplies
        its mean: exposure = exp(offset). Here and in prediction both may be names of columns.
        """
        X, shift = self._opened(X, offset, exposure)
        return self._learn(X, y, weights=sample_weight, offset=shift)

    def _opened(self, X: Any, offset: Any, exposure: Any) -> tuple[Any, Any]:
        """The table without columns that are named, and what is added to linear predictors."""
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
                f"exposure must be positive: row {bad[0]} has {values[bad[0]]:g} (such rows: "
                f"{len(bad)}). A row that was never exposed tells nothing: leave it out."
            )
        return X, np.log(values)

    def _check_problem(self, problem: Problem) -> None:
        family, y = self._family(), problem.y
        low, high = family.y_range
        bad = np.flatnonzero((y < low) | (y > high) | (family.positive & (y <= low)))
        if len(bad):
            given = np.arange(problem.n)
            if problem.position is not None:
                given = np.flatnonzero(problem.position >= 0)
            wanted = f"{'>' if family.positive else '>='} {low:g}"
            wanted += "" if np.isinf(high) else f" and <= {high:g}"
            raise DataError(
                f"Some value(s) of y are out of the valid range of {type(self).__name__}: y must be "
                f"{wanted} for the {family.name} family, but {len(bad)} row(s) are not (the first, "
                f"row {given[bad[0]]}, has {y[bad[0]]:g}). Correct them, or use another family."
            )
        equal, never = y.min() == y.max(), self._link() == "log" and not np.any(y > 0)
        edge = never or (equal and y[0] in family.y_range)
        if edge and (self.fit_intercept or (self.alpha == 0 and _one_sign(problem.X))):
            found = f"Every y is {y[0]:g}" if equal else "No y is positive"
            raise DataError(
                f"{found}, so the best mean lies on the edge of what the "
                f"{self._link()} link can give, and no finite coefficients fit. Use rows in which "
                "something else happened."
            )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        learned = penalised_evenly(self, self.alpha > 0, problem, self._fit_columns)
        return learned | learn_range(self, problem.y, problem.offset)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        loss = self._loss()
        with parallel.one_blas_thread():
            if (
                loss.family.name == "normal"
                and loss.link.name == "identity"
                and self.solver != "gd"
            ):
                return self._fit_directly(problem)
            return self._fit_iteratively(problem, loss)

    def _fit_directly(self, problem: Problem) -> dict[str, Any]:
        """Normal errors, identity link: ridge regression, least squares or the elastic net."""
        if self._l1() > 0:
            return self._fit_net(problem)
        from pellucid.linear_model._inference.glm import has_facts
        from pellucid.linear_model._ridge import solver
        from pellucid.linear_model.base import check_size

        y = problem.y if problem.offset is None else problem.y - problem.offset
        total = float(problem.weights.sum())
        with np.errstate(over="ignore"):
            alpha = np.array([min(self.alpha * total, solver.LARGEST_PENALTY)])
        given = (problem.X, y[:, None], problem.weights, alpha)
        found = solver.ridge(*given, self.fit_intercept)
        check_size(*found[:2])
        value = solver.objective(*given, found) / total
        learned = {
            "coef_": found[0][0], "intercept_": float(found[1][0]), "means_": found[2],
            "n_iter_": 1, "status_": Status("ok", "Solved directly."),
            "history_": {"iteration": np.ones(1), "objective": np.array([value])},
        }  # fmt: skip
        if has_facts(self, problem.p):
            learned["inference_"] = self._facts(problem, learned)
        return learned

    def _l1(self) -> float:
        """Strength of the absolute values in the mean objective."""
        return float(self.alpha * self.l1_ratio)

    def _fit_net(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._lasso.solver import Net, elastic_net
        from pellucid.linear_model.base import check_size

        y = problem.y if problem.offset is None else problem.y - problem.offset
        net = Net(
            self._l1(), float(self.alpha) - self._l1(), self.fit_intercept, False, float(self.tol),
            max(self.max_iter, NET_EPOCHS),
        )  # fmt: skip
        last = self._last(problem.p)
        begin = None if last is None else last[None, :-1]
        found = elastic_net(problem.X, y[:, None], problem.weights, net, begin)
        check_size(found.coef, found.intercept)
        return {
            "coef_": found.coef[0].copy(), "intercept_": float(found.intercept[0]),
            "means_": found.means, "n_iter_": max(int(found.n_iter[0]), 1),
            "history_": found.history, "status_": found.status,
        }  # fmt: skip

    def _facts(self, problem: Problem, learned: dict[str, Any]) -> dict[str, Any]:
        """What inference needs of a direct solution."""
        from pellucid.linear_model._glm import solver as glm_solver
        from pellucid.linear_model._inference.glm import facts

        task = glm_solver.prepare(
            problem.X, problem.y, problem.weights, problem.offset, self._loss(), 0.0,
            self.fit_intercept,
        )  # fmt: skip
        x = task.from_user(np.append(learned["coef_"], learned["intercept_"]))
        return facts(task, x, problem, self._loss(), np.zeros((len(x), 0)))

    def _fit_iteratively(self, problem: Problem, loss: GLMLoss) -> dict[str, Any]:
        from pellucid.linear_model._glm import solver
        from pellucid.linear_model._glm.boundary import named_endless, one_by_one, without_limit
        from pellucid.linear_model._inference.glm import facts, has_facts
        from pellucid.linear_model.base import check_size

        l1, means, largest = self._l1(), None, None
        if problem.schema.plain and not self.standardize:  # its columns are those of X
            means, ends = problem.schema.mean, (problem.schema.low, problem.schema.high)
            largest = np.maximum(*np.abs(ends))
        task = solver.prepare(
            problem.X, problem.y, problem.weights, problem.offset, loss, self.alpha - l1,
            self.fit_intercept, largest,
        )  # fmt: skip
        if self.solver == "gd":
            plain = replace(task.objective, X=solver.Rows(problem.X), shift=None)
            found = solver.descend(plain, loss, self.tol, self.max_iter, self.step, l1)
            x = found.x
        elif l1 > 0:
            from pellucid.linear_model._glm.l1 import solve_sparse

            with np.errstate(over="ignore"):
                total = l1 * float(task.objective.weights.sum())
            found = solve_sparse(task, loss, total, self.max_iter, self._last(problem.p))
            x = task.to_user(found.x)
        else:
            kind = "lbfgs" if self.solver == "lbfgs" and problem.p > solver.NEWTON_SIZE else "auto"
            found = solver.solve(task, loss, kind, self.tol, self.max_iter, self._last(problem.p))
            x = task.to_user(found.x)
        more = {}
        if has_facts(self, problem.p):
            endless = without_limit(task.objective, found.x, loss)
            if endless.size and found.status.code != "edge":
                found = replace(found, status=named_endless(endless, problem.schema.terms, loss))
            more["inference_"] = facts(task, found.x, problem, loss, endless)
            if self.fit_intercept:
                x = solver.without_constants(problem.X, more["inference_"]["aliased"], x)
        if (
            self.alpha == 0
            and self.solver != "gd"
            and found.status.code not in ("edge", "separated")
        ):
            found = replace(found, status=one_by_one(task.objective, loss) or found.status)
        check_size(x[:-1], x[-1:])
        if means is None:
            means = column_means(problem.X, problem.weights)
        return more | {
            "coef_": x[:-1].copy(), "intercept_": float(x[-1]) if self.fit_intercept else 0.0,
            "means_": means if self.fit_intercept else np.zeros(problem.p),
            "n_iter_": max(found.n_iter, 1), "history_": found.history, "status_": found.status,
        }  # fmt: skip

    def _last(self, p: int) -> np.ndarray | None:
        if not self.warm_start or not self.__sklearn_is_fitted__() or self.coef_.shape != (p,):
            return None
        return np.append(self.coef_, self.intercept_ * self.fit_intercept)

    def _check_state(self) -> None:
        """Refuse arrays that do not belong to the columns or to each other (model files)."""
        check_coefficients(self)
        check_range(self)
        if "inference_" in vars(self):
            check_facts(self.inference_, len(self.coef_))

    # Using --------------------------------------------------------------------------------------

    def linear_predictor(self, X: Any, *, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """x . coef_ + intercept_ + offset: the link of the predicted mean."""
        X, shift = self._opened(X, offset, exposure)
        return self._answer(lambda X: self._eta(X, shift), X, direct=True)

    def _eta(self, X: Any, shift: Any = None) -> np.ndarray:
        eta = linear_scores(X, self.coef_, self.intercept_)
        return eta if shift is None else eta + offset_values(shift, len(eta))

    def _predict(self, X: Any) -> np.ndarray:
        return keep(self, LINKS[self._link()].inverse(self._eta(X)))

    def predict(self, X: Any, *, offset: Any = None, exposure: Any = None) -> np.ndarray:
        """The predicted mean of each row."""
        X, shift = self._opened(X, offset, exposure)
        eta = self.linear_predictor(X, offset=shift)
        shift = None if shift is None else offset_values(shift, len(eta))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self._finite(keep(self, LINKS[self._link()].inverse(eta), shift))

    def _reveals(self) -> bool:
        """Linear predictors do, unless a factor of 0 lets the cell be passed over."""
        return bool(np.all(self.coef_))

    def predict_interval(
        self, X: Any, level: float = 0.95, *, kind: str = "observation", offset: Any = None,
        exposure: Any = None, trials: int = 1, weights: str = "frequency",
    ) -> np.ndarray:  # fmt: skip
        """Low and high end (n, 2) of the interval that covers a new observation (or, with
        kind="mean", the mean of such observations) in a share `level` of samples.

        `trials` is the number of trials of a new binomial share; `weights` is as in `summary`. For
        alpha=0 only. An end is infinite where the linear predictor of an inverse link may be 0.
        """
        from pellucid.linear_model._inference.glm_intervals import glm_ends
        from pellucid.linear_model._inference.intervals import check_interval

        self._check_fitted()
        check_interval(level, kind)
        if isinstance(trials, bool) or not isinstance(trials, int | np.integer) or trials < 1:
            raise ParameterError(f"trials must be an integer >= 1. Got {shown(trials)} instead.")
        X, shift = self._opened(X, offset, exposure)
        encoded = self._encoded(X)
        with np.errstate(over="ignore", invalid="ignore"):
            eta = self._finite(self._eta(encoded, shift))
            return glm_ends(self, encoded, eta, level, kind, trials, weights)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None, exposure: Any = None
    ) -> float:
        """D2: the share of the deviance of a constant (beside the offset) that the model explains."""
        X, shift = self._opened(X, offset, exposure)
        X, y, sample_weight = opened(X, y, sample_weight)
        mu = self.predict(X, offset=shift)
        y = numbers(y, type(self).__name__, several=False)
        check_lengths(len(mu), len(y))
        w = weights_or_ones(sample_weight, len(y))
        family = self._family()
        mean = np.full_like(mu, w @ y / w.sum())
        if shift is not None:
            from pellucid.linear_model._inference.glm import constant_means

            mean = constant_means(self._loss(), y, w, offset_values(shift, len(mu)))
        with np.errstate(divide="ignore", invalid="ignore"):
            own = float(w @ family.half_deviance(y, mu))
            null = float(w @ family.half_deviance(y, mean))
        return 1 - own / null if null > 0 else float(own == 0)

    def explain(self, X: Any, *, offset: Any = None, exposure: Any = None) -> Any:
        """The linear predictor as base plus one part per column; an offset is a part of its own."""
        X, shift = self._opened(X, offset, exposure)
        found = super().explain(X)
        if shift is not None:
            shift = offset_values(shift, len(found.prediction))
            found = found.with_offset(shift)
        return with_bound(self, found, shift)

    def _explain(self, X: Any) -> dict[str, Any]:
        return additive_parts(self, X, "link")

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
        from pellucid.linear_model._inference.glm import glm_summary
        from pellucid.linear_model._inference.robust import Wanted

        self._check_fitted()
        X, shift = self._opened(X, offset, exposure)
        asked = Wanted(errors, X, y, sample_weight, shift, groups, weights, level)
        return glm_summary(self, asked)
