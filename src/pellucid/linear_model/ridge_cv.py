"""Ridge regression that chooses its penalty by cross validation."""

from typing import Any, Self

import numpy as np

from pellucid import _sklearn, parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError, shown
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.cv_folds import CV, make_folds
from pellucid.linear_model.ridge import Ridge
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import Array, Boolean, Choice, Either, Function, Nothing, Real, Test
from pellucid.records import Status


class Said:
    """Predictions that a scorer may ask for: `predict` gives back what it is given."""

    def predict(self, guess: np.ndarray) -> np.ndarray:
        return guess

    def __sklearn_tags__(self) -> Any:
        return Ridge().__sklearn_tags__()


class RidgeCV(LinearPredictor):
    """Ridge regression with the penalty that predicts best: for each of `alphas`

        b, b0 minimise  sum_i w_i (y_i - b0 - x_i . b)^2 + alpha |b|^2

    and the alpha is chosen whose predictions of left-out rows are best. Leaving out one row at a
    time costs no more than one fit, because r_i / (1 - h_i) is the residual of a left-out row.

    Parameters
    ----------
    alphas : array of floats >= 0, default=(0.1, 1.0, 10.0)
    fit_intercept : bool, default=True
    scoring : str, callable or None
        None is the squared error (leaving rows out one by one) or R2 (folds); else a scorer of
        scikit-learn by name, or a function (estimator, X, y) -> number.
    cv : None, int, splitter, or list of (train, test) row numbers
        None leaves out one row at a time; an int is a number of contiguous folds.
    gcv_mode : without effect: there is one way, exact for tall, wide and sparse tables
    store_cv_results : bool, default=False
        Keep `cv_results_`; with cv=None only.
    alpha_per_target : bool, default=False
        One penalty for each target; with cv=None only.
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation in all rows (levels stay 0
        and 1); `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    alpha_ : the chosen penalty, or one per target
    best_score_ : its score, or one per target
    coef_, intercept_ : in the order of `terms_`, on all rows with that penalty
    cv_results_ : squared errors (or, with `scoring`, predictions) of the left-out rows, (n, alphas)
        or (n, targets, alphas); NaN for rows that do not count
    history_ : score of each alpha; status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import RidgeCV
    >>> model = RidgeCV(alphas=[0.01, 1.0, 100.0])
    >>> model.fit([[1.0], [2.0], [3.0], [4.0], [5.0]], [2.0, 3.0, 5.0, 8.0, 9.0]).alpha_
    1.0
    """

    _several_targets = True
    _target = "several"
    _min_rows = 2
    _parameters = {
        "alphas": Either(Real(0, None), Array),
        "fit_intercept": Boolean,
        "scoring": Either(
            Nothing, Test(lambda v: isinstance(v, str), "the name of a scorer"), Function
        ),
        "cv": CV,
        "gcv_mode": Choice(None, "auto", "svd", "eigen"),
        "store_cv_results": Boolean,
        "alpha_per_target": Boolean,
        "standardize": Boolean,
    }

    alpha_: Any
    best_score_: Any
    history_: dict[str, np.ndarray]
    status_: Status

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty, then find the coefficients on all rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, True, problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge import cv_solver as search
        from pellucid.linear_model._ridge import solver as solvers
        from pellucid.linear_model._ridge.eigen import make_spectrum

        alphas, Y = self._penalties(), problem.y.reshape(problem.n, -1)
        with parallel.one_blas_thread():
            if self.cv is None:
                made = make_spectrum(problem.X, Y, problem.weights, self.fit_intercept)
                solver = made.solver
                keep = bool(self.store_cv_results)
                tried = search.leave_one_out(problem, Y, alphas, made, keep, self._score())
            else:
                folds, solver = make_folds(self.cv, problem), None
                score = self._score() or search.r_squared
                tried = search.by_folds(problem, Y, alphas, folds, self.fit_intercept, score)
            chosen, learned = self._choice(alphas, tried.scores, problem.y.ndim == 2)
            given = (problem.X, Y, problem.weights, chosen, self.fit_intercept)
            found = solvers.ridge(*given, made=solver)
        if self.store_cv_results:
            learned["cv_results_"] = self._kept(tried.predictions, Y, problem)
        message = f"Solved directly for {len(alphas)} penalties; alpha = {learned['alpha_']}."
        errors = np.nan_to_num(-tried.scores.mean(axis=1), posinf=np.finfo(float).max)
        tries = np.arange(1.0, len(alphas) + 1)
        coef, intercept, _ = found
        return self._finished(coef, intercept, problem.y) | learned | {
            "means_": found[2], "status_": Status("ok", message),
            "history_": {"iteration": tries, "alpha": alphas, "objective": errors},
        }  # fmt: skip

    def _penalties(self) -> np.ndarray:
        try:
            alphas = np.asarray(self.alphas, dtype=float).ravel()
        except (TypeError, ValueError):
            alphas = np.empty(0)
        if not len(alphas) or not np.isfinite(alphas).all() or (alphas < 0).any():
            raise ParameterError(
                "The 'alphas' parameter of RidgeCV must be numbers >= 0. Got "
                f"{shown(self.alphas)} instead."
            )
        if self.cv is not None and (self.store_cv_results or self.alpha_per_target):
            raise ParameterError(
                "cv!=None and store_cv_results=True or alpha_per_target=True are incompatible: "
                "they need one left-out row at a time, cv=None."
            )
        return alphas

    def _score(self) -> Any:
        """The wanted score of predictions, or None for the usual one."""
        if self.scoring is None:
            return None
        try:
            named = isinstance(self.scoring, str)
            scorer = _sklearn.scorer(self.scoring) if named else self.scoring
        except ValueError:
            raise ParameterError(
                f"The 'scoring' parameter of RidgeCV must be the name of one of scikit-learn's "
                f"scorers, a callable or None. Got {shown(self.scoring)} instead."
            ) from None

        def score(guess: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
            given = {} if (w == 1.0).all() or callable(self.scoring) else {"sample_weight": w}
            return float(scorer(Said(), guess.ravel(), y.ravel(), **given))

        return score

    def _choice(
        self, alphas: np.ndarray, scores: np.ndarray, several: bool
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Penalty per target, and what is shown of it; the first of equally good ones."""
        each = self.alpha_per_target and several
        mean = scores.mean(axis=1)
        if np.isnan(scores if each else mean).all(axis=0).any():
            raise DataError("No penalty has a score: too few rows are left to predict a row from.")
        if each:
            best = np.nanargmax(scores, axis=0)
            chosen, score = alphas[best], scores[best, np.arange(len(best))]
            return chosen, {"alpha_": chosen, "best_score_": score}
        at = int(np.nanargmax(mean))
        chosen = np.full(scores.shape[1], alphas[at])
        return chosen, {"alpha_": float(alphas[at]), "best_score_": float(mean[at])}

    def _kept(self, predictions: Any, Y: np.ndarray, problem: Problem) -> np.ndarray:
        kept = predictions
        if self.scoring is None:
            with np.errstate(over="ignore"):
                kept = np.square(Y[:, :, None] - predictions)
        kept = kept if problem.y.ndim == 2 else kept[:, 0]
        if problem.position is None:
            return kept
        given = np.full((len(problem.position), *kept.shape[1:]), np.nan)  # rows that do not count
        given[problem.position >= 0] = kept
        return given

    def _check_state(self) -> None:
        from pellucid.persist.fitted_state import expect_number

        super()._check_state()
        if not isinstance(vars(self).get("alpha_"), np.ndarray):
            expect_number(self, "alpha_", 0)
