"""Logistic regression that chooses its penalty by cross-validation."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.data.opening import opened
from pellucid.data.targets import labels, weights_or_ones
from pellucid.default_scores import scored, scorer_of
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._logistic.base import (
    DUAL,
    INTERCEPT_SCALING,
    L1_SOLVERS,
    PENALTY,
    SOLVERS,
    LogisticModel,
)
from pellucid.linear_model.base import column_means
from pellucid.linear_model.cv_folds import CV, fit_by_folds, route_to_splitter
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Function,
    Integer,
    Predicate,
    Real,
    changed,
    learned,
    number_list,
    param,
    shared,
)
from pellucid.persist.fitted_state import expect_array
from pellucid.records import converting, unwatched


class LogisticRegressionCV(LogisticModel):
    """Logistic regression with a penalty chosen by cross-validation. For each C of `Cs` and each r
    of `l1_ratios`, the coefficients that minimise

        sum_i w_i loss(y_i, b0 + B x_i) + (r |B|_1 + (1 - r) |B|^2 / 2) / C

    are found on the training part of every fold. The pair (C, r) with the highest mean score on the
    left-out parts is chosen, and all rows are fitted with it. The fits of a fold go from strong to
    weak penalties; each starts from the coefficients of the one before.

    Examples
    --------
    >>> from pellucid.data.datasets import load
    >>> from pellucid.linear_model import LogisticRegressionCV
    >>> iris = load("iris")
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0]).fit(iris.X, iris.y)
    >>> model.C_, model.scores_.shape
    (np.float64(100.0), (5, 1, 3))
    """

    Cs: Any = param(
        10,
        Integer(1) | Array,
        "Values of C to try, or their number: that many values are spaced evenly on a log scale "
        "between 1e-4 and 1e4.",
    )
    l1_ratios: Any = param((0.0,), Array, "Shares of the L1 penalty to try, numbers in [0, 1].")
    fit_intercept: bool = changed(after="l1_ratios")
    cv: Any = param(
        None,
        CV,
        "Number of stratified folds in the order of the rows (None: 5), a splitter, or a list of "
        "(train, test) row numbers.",
    )
    dual: bool = DUAL
    penalty: Any = PENALTY.replace(
        check=Choice("l1", "l2", "elasticnet", "deprecated"),
        description="Older name for the kind of penalty, kept for code that was written for "
        "scikit-learn: 'l1' is l1_ratios=(1,), 'l2' is l1_ratios=(0,), 'elasticnet' uses l1_ratios. "
        "'deprecated' means that it is not given.",
        kw_only=True,
    )
    scoring: Any = param(
        None,
        None | Predicate(lambda v: isinstance(v, str), "the name of a scorer") | Function,
        "Score of the folds, the higher the better: 'accuracy' (also None), 'neg_log_loss', the name "
        "of another scorer of scikit-learn, or a function (estimator, X, y) -> number.",
    )
    solver: str = param(
        "auto",
        Choice(*(name for name in SOLVERS if name not in ("gd", "sgd"))),
        "'auto' uses Newton's method, L-BFGS if there are both many coefficients and many rows, or "
        "coordinate descent ('cd') within Newton steps if an l1_ratio is above 0. Other names of "
        "scikit-learn's solvers are accepted and find the same optimum.",
    )
    tol: float = param(
        1e-4,
        Real(0, None),
        "'lbfgs' stops when the expected relative decrease of the objective is below tol / 1e6. "
        "The other solvers do not use tol.",
    )
    max_iter: int = param(100, Integer(1), "Largest number of iterations of each fit.")
    class_weight: Any = shared.CLASS_WEIGHT
    n_jobs: int | None = shared.N_JOBS
    verbose: int = shared.VERBOSE
    refit: bool = param(
        True,
        Boolean,
        "Whether to fit all rows with the chosen penalty. False takes the mean over the folds of "
        "each fold's own best coefficients.",
    )
    intercept_scaling: float = INTERCEPT_SCALING.replace(default=1.0)
    random_state: Any = shared.NO_RANDOM_STATE
    use_legacy_attributes: bool = param(
        False,
        Choice(False),
        "Only False is accepted: attributes are arrays and numbers, not scikit-learn's dicts.",
    )

    C_: float = learned("The chosen C; a mean over the folds if `refit` is False.")
    l1_ratio_: float = learned("The chosen l1_ratio; a mean over the folds if `refit` is False.")
    Cs_: np.ndarray = learned("The values of C that were tried.")
    l1_ratios_: np.ndarray = learned("The values of l1_ratio that were tried.")
    scores_: np.ndarray = learned("Scores of the folds, shape (n_folds, n_l1_ratios, n_Cs).")
    coefs_paths_: np.ndarray = learned(
        "Coefficients of every fit, shape (n_folds, n_l1_ratios, n_Cs, n_classes, n_terms + 1), the "
        "intercept last if there is one; n_classes is 1 for two classes."
    )
    n_iter_: np.ndarray = learned(
        "Number of iterations of every fit, shape (n_folds, n_l1_ratios, n_Cs)."
    )
    history_: dict[str, np.ndarray] = learned(
        "Results of the search as a dict of arrays: 'iteration', 'objective' (minus the mean score over "
        "the folds), 'C' and 'l1_ratio'."
    )

    # scikit-learn 1.9 warns unless these have its future defaults; few Cs keep the checks fast.
    _check_params = {
        "Cs": 3, "l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False,
        "cv": 3,
    }  # fmt: skip
    _exempt = {
        "score_is_the_share_of_right_answers": "as in scikit-learn, `score` is the scorer of `scoring`"
    }

    def _meaning_of(self, penalty: str | None) -> dict[str, Any]:
        return {"l1_ratios": {"l1": (1.0,), "l2": (0.0,)}.get(str(penalty), self.l1_ratios)}

    fit = fit_by_folds
    get_metadata_routing = route_to_splitter

    def _fit(self, problem: Problem, split: Mapping[str, Any] = {}) -> dict[str, Any]:
        from pellucid.linear_model._logistic import path
        from pellucid.linear_model._logistic.preparation import Setting

        assert problem.classes is not None
        Cs, ratios = self._grid()
        terms = problem.schema.terms
        setting = Setting(0.0, self.fit_intercept, self.tol, self.max_iter, terms=terms)
        search = path.Search(Cs, ratios, setting, self.solver)
        factors = class_factors(self.class_weight, problem)
        with parallel.using(self.n_jobs), parallel.one_blas_thread():
            folds = path.stratified_folds(self.cv, problem, split)
            with unwatched():
                result = path.cross_validate(
                    problem, factors, folds, search, self._score_of(problem.classes)
                )
            mean = np.moveaxis(result.scores, 2, 1).mean(axis=0)  # (Cs, l1_ratios)
            if not np.isfinite(mean).all():
                raise DataError(
                    "The mean score of some penalties is not finite. Use another scoring or cv."
                )
            j, r = np.unravel_index(int(np.argmax(mean)), mean.shape)
            w = problem.weights * factors[problem.y]
            with converting(lambda state: _coefficients(state["x"])):
                found = path.fit_chosen(problem, w, float(Cs[j]), float(ratios[r]), search)
        chosen = {"C_": float(Cs[j]), "l1_ratio_": float(ratios[r])}
        x, status = found.x, found.status
        if found.separating:
            status = replace(status, suggestion="Leave np.inf out of Cs.")
        if not self.refit:
            x, chosen = _means_of_folds(result, Cs, ratios)
        return chosen | {
            **_coefficients(x),
            "means_": column_means(problem.X, w), "Cs_": Cs, "l1_ratios_": ratios,
            "scores_": result.scores, "n_iter_": result.n_iter,
            "coefs_paths_": result.coefs if self.fit_intercept else result.coefs[..., :-1].copy(),
            "history_": _score_table(mean, Cs, ratios), "status_": status,
            "separating_": list(found.separating),
        }  # fmt: skip

    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        number = Integer(1).accepts(self.Cs)
        owner, positive = type(self).__name__, Real(0, None, "right")
        Cs = np.logspace(-4, 4, self.Cs) if number else number_list(owner, "Cs", self.Cs, positive)
        ratios = number_list(owner, "l1_ratios", self.l1_ratios, Real(0, 1, "both"))
        if ratios.any() and self.solver not in L1_SOLVERS:
            raise ParameterError(
                f"solver={self.solver!r} does not support an L1 penalty. Use one of "
                f"{list(L1_SOLVERS)}, or l1_ratios=(0.0,)."
            )
        return Cs, ratios

    def _score_of(self, classes: np.ndarray) -> Any:
        """The score of a fold, a function (scores of the classes, class codes, weights) -> number."""
        from pellucid.linear_model._logistic.path import SCORES, ScoresClassifier

        if (self.scoring is None or isinstance(self.scoring, str)) and self.scoring in SCORES:
            return SCORES[self.scoring]
        scorer, named = scorer_of(self), isinstance(self.scoring, str)
        view = ScoresClassifier(classes, self.__sklearn_tags__())
        return lambda Z, y, w: scored(scorer, view, Z, classes[y], w if named else None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score of these rows by the scorer of `scoring`.

        Overrides the accuracy of other classifiers, as scikit-learn does.
        """
        from pellucid.linear_model._logistic.path import SCORES

        X, y, sample_weight = opened(X, y, sample_weight)
        if callable(self.scoring) or self.scoring not in SCORES:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return float(scorer_of(self)(self, X, y, **weights))
        scores = self.decision_function(X)
        codes, found = labels(y, type(self).__name__)
        unknown = ~np.isin(found, self.classes_)
        if unknown.any():
            raise DataError(
                f"y contains the label {found[unknown].tolist()[0]!r}, which was not in the training "
                "data."
            )
        known = np.searchsorted(self.classes_, found[codes])
        w = weights_or_ones(sample_weight, len(known))
        return SCORES[self.scoring](scores.reshape(len(known), -1), known, w)

    def _check_state(self) -> None:
        """Check the results of the search in addition to the coefficients (model files)."""
        super()._check_state()
        expect_array(self, "Cs_", None)
        expect_array(self, "l1_ratios_", None)
        expect_array(self, "scores_", None, len(self.l1_ratios_), len(self.Cs_))
        width = self.coef_.shape[1] + int(self.fit_intercept)
        expect_array(self, "coefs_paths_", *self.scores_.shape, len(self.coef_), width)


def _coefficients(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"coef_": np.ascontiguousarray(x[:, :-1]), "intercept_": x[:, -1].copy()}


def _means_of_folds(result: Any, Cs: np.ndarray, ratios: np.ndarray) -> tuple[np.ndarray, dict]:
    """The means over the folds of each fold's own best coefficients, C and l1_ratio."""
    by_fold = np.moveaxis(result.scores, 2, 1).reshape(len(result.scores), -1)
    j, r = np.unravel_index(by_fold.argmax(axis=1), (len(Cs), len(ratios)))
    x = result.coefs[np.arange(len(j)), r, j].mean(axis=0)
    return x, {"C_": float(Cs[j].mean()), "l1_ratio_": float(ratios[r].mean())}


def _score_table(mean: np.ndarray, Cs: np.ndarray, ratios: np.ndarray) -> dict[str, np.ndarray]:
    n = mean.size
    return {
        "iteration": np.arange(n, dtype=float),
        "objective": -mean.ravel(),
        "C": np.repeat(Cs, len(ratios)),
        "l1_ratio": np.tile(ratios, len(Cs)),
    }
