"""Ridge regression that chooses its penalty by cross-validation."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.default_scores import scored, scorer_of
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import cv_folds
from pellucid.linear_model.base import LinearPredictor, shaped
from pellucid.linear_model.ridge import Ridge
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Function,
    Ignored,
    Predicate,
    Real,
    learned,
    number_list,
    param,
    positional,
    shared,
)
from pellucid.persist.fitted_state import expect_number
from pellucid.records import Recorder, Status, is_watched


class ScorerView:
    """The estimator that a scorer sees: `predict` returns the predictions it is given."""

    def predict(self, guess: np.ndarray) -> np.ndarray:
        return guess

    def __sklearn_tags__(self) -> Any:
        return Ridge().__sklearn_tags__()


class RidgeCV(LinearPredictor):
    """Ridge regression with the penalty that predicts best: for each of `alphas`

        b, b0 minimise  sum_i w_i (y_i - b0 - x_i . b)^2 + alpha |b|^2

    and the alpha is chosen whose predictions of left-out rows are best. Leaving out one row at a
    time costs no more than one fit, because r_i / (1 - h_i) is the residual of a left-out row.

    Examples
    --------
    >>> from pellucid.linear_model import RidgeCV
    >>> model = RidgeCV(alphas=[0.01, 1.0, 100.0])
    >>> model.fit([[1.0], [2.0], [3.0], [4.0], [5.0]], [2.0, 3.0, 5.0, 8.0, 9.0]).alpha_
    np.float64(1.0)
    """

    alphas: Any = positional(
        default=(0.1, 1.0, 10.0),
        check=Real(0, None) | Array,
        description="Penalties to choose from.",
        kw_only=False,
    )
    scoring: Any = param(
        None,
        None | Predicate(lambda v: isinstance(v, str), "the name of a scorer", "str") | Function,
        "How predictions of left-out rows are scored: the name of a scorer of scikit-learn, or a "
        "function (estimator, X, y) -> number (larger is better). None is the squared error "
        "with cv=None, else R2.",
    )
    cv: Any = param(
        None,
        cv_folds.CV,
        "How rows are left out. None leaves out one row at a time; an int is a number of contiguous "
        "folds; else a splitter, or (train, test) pairs of row numbers.",
    )
    gcv_mode: str | None = param(
        None,
        Ignored(
            "there is one exact method for tall, wide and sparse tables.",
            Choice(None, "auto", "svd", "eigen"),
        ),
    )
    store_cv_results: bool = param(
        False, Boolean, "Whether to keep `cv_results_`; with cv=None only."
    )
    alpha_per_target: bool = param(
        False, Boolean, "Whether to choose a penalty for each target; with cv=None only."
    )
    standardize: bool = shared.STANDARDIZE

    alpha_: Any = learned("The chosen penalty, or one per target.")
    best_score_: Any = learned("Score of the chosen penalty, or one per target.")
    cv_results_: np.ndarray = learned(
        "Squared errors (with `scoring`: predictions) of the left-out rows, shape (n_samples, "
        "n_alphas) or (n_samples, n_targets, n_alphas); NaN for rows of weight 0. With "
        "store_cv_results only."
    )
    history_: dict[str, np.ndarray] = learned("Error of each penalty, as a dict of arrays.")

    _several_targets = True
    _target = "several"

    fit = cv_folds.fit_by_folds
    get_metadata_routing = cv_folds.route_to_splitter

    def _fit(self, problem: Problem, split: Mapping[str, Any] = {}) -> dict[str, Any]:
        return penalised_evenly(self, True, problem, partial(self._fit_columns, split))

    def _fit_columns(self, split: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge import cv_solver as search
        from pellucid.linear_model._ridge import solver as solvers
        from pellucid.linear_model._ridge.eigen import make_spectrum

        alphas, Y = self._penalties(), problem.y.reshape(problem.n, -1)
        score, together = self._score(), not (self.scoring is None or self.alpha_per_target)
        with parallel.one_blas_thread():
            if self.cv is None:
                made = make_spectrum(problem.X, Y, problem.weights, self.fit_intercept)
                solver = made.solver
                keep = bool(self.store_cv_results)
                tried = search.leave_one_out(problem, Y, alphas, made, keep, score, together)
            else:
                folds, solver = cv_folds.make_folds(self.cv, problem, split), None
                how = (self.fit_intercept, score or search.r_squared, together)
                tried = search.by_folds(problem, Y, alphas, folds, *how)
            chosen, learned = self._choice(alphas, tried.scores, problem.y.ndim == 2, Y.shape[1])
            given = (problem.X, Y, problem.weights, chosen, self.fit_intercept)
            found = solvers.ridge(*given, made=solver)
            if is_watched():
                self._record_path(problem, Y, alphas, tried.scores.mean(axis=1), solver)
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

    def _record_path(
        self, problem: Problem, Y: np.ndarray, alphas: np.ndarray, scores: np.ndarray, made: Any
    ) -> None:
        """One step per penalty, on all rows."""
        from pellucid.linear_model._ridge import solver as solvers

        recorder = Recorder("penalties", len(alphas))
        for k, (alpha, score) in enumerate(zip(alphas.tolist(), scores.tolist()), 1):
            given = (problem.X, Y, problem.weights, np.full(Y.shape[1], alpha), self.fit_intercept)
            coef, intercept, _ = solvers.ridge(*given, made=made)
            recorder.step(
                k, shaped(coef, intercept, problem.y), {"alpha": alpha}, alpha=alpha, score=score,
                sentence=f"With alpha = {alpha:.4g}, the score on left-out rows is {score:.4g}.",
            )  # fmt: skip

    def _penalties(self) -> np.ndarray:
        if self.cv is not None and (self.store_cv_results or self.alpha_per_target):
            raise ParameterError(
                "cv!=None and store_cv_results=True or alpha_per_target=True are incompatible: "
                "they need one left-out row at a time, cv=None."
            )
        return number_list("RidgeCV", "alphas", self.alphas, Real(0, None))

    def _score(self) -> Any:
        """The function that scores predictions, or None for the default one."""
        if self.scoring is None:
            return None
        scorer, named = scorer_of(self), isinstance(self.scoring, str)
        return lambda guess, y, w: scored(
            scorer, ScorerView(), _flat(guess), _flat(y), w if named else None
        )

    def _choice(
        self, alphas: np.ndarray, scores: np.ndarray, several: bool, n_targets: int
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Penalty per target, and the learned attributes; the first of equally good penalties wins."""
        each = self.alpha_per_target and several
        mean = scores.mean(axis=1)
        if np.isnan(scores if each else mean).all(axis=0).any():
            raise DataError("No penalty has a score: too few rows are left to predict a row from.")
        if each:
            best = np.nanargmax(scores, axis=0)
            chosen, score = alphas[best], scores[best, np.arange(len(best))]
            return chosen, {"alpha_": chosen, "best_score_": score}
        at = int(np.nanargmax(mean))
        chosen = np.full(n_targets, alphas[at])
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
        given[problem.user_rows()] = kept
        return given

    def _check_state(self) -> None:
        super()._check_state()
        if not isinstance(vars(self).get("alpha_"), np.ndarray):
            expect_number(self, "alpha_", 0)


def _flat(values: np.ndarray) -> np.ndarray:
    """A single column as a vector, as scorers expect."""
    return values.ravel() if values.shape[1] == 1 else values
