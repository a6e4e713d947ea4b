"""Logistic regression that chooses its penalty by cross validation."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import _sklearn, parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.data.output import opened
from pellucid.data.targets import labels, weights_or_ones
from pellucid.errors import DataError, ParameterError, shown
from pellucid.linear_model._logistic.base import L1_SOLVERS, SOLVERS, LogisticModel
from pellucid.linear_model.cv_folds import CV
from pellucid.linear_model.linear_classifier import column_means
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    ClassWeight,
    Either,
    Function,
    Integer,
    Jobs,
    Nothing,
    RandomState,
    Real,
    Test,
    Verbose,
)
from pellucid.persist.fitted_state import expect_array
from pellucid.records import Status


class LogisticRegressionCV(LogisticModel):
    """Logistic regression with the penalty that predicts best: for each of `Cs` and `l1_ratios`

        sum_i w_i loss(y_i, b0 + B x_i) + (r |B|_1 + (1 - r) |B|^2 / 2) / C

    is minimised on the training part of every fold, and the pair (C, r) is chosen whose scores on
    the left-out parts have the highest mean; then all rows are fitted with it. Fits of a fold go
    from strong to weak penalties, each starting where the last ended.

    Parameters
    ----------
    Cs : int or array of floats > 0, default=10
        The values, or their number: then they lie evenly between 1e-4 and 1e4 in logarithms.
    l1_ratios : array of floats in [0, 1], default=(0.0,)
        Shares of the absolute values in the penalty.
    fit_intercept : bool, default=True
    cv : None, int, splitter, or list of (train, test) row numbers
        Number of folds (None: 5) in which every class has its share, in the order of the rows.
    dual : False
    scoring : str, callable or None, default="neg_log_loss"
        "neg_log_loss", "accuracy" (also None), another scorer of scikit-learn by name, or a
        function (estimator, X, y) -> number.
    solver : {"auto", "newton", "lbfgs", "cd"}, default="auto"
        As in `LogisticRegression`.
    tol : float, default=1e-4
    max_iter : int, default=100
    class_weight : dict {label: weight}, "balanced" or None
    n_jobs : int or None
        Number of threads for the folds; results do not depend on it.
    verbose : without effect
    refit : bool, default=True
        False: the mean over the folds of each fold's own best coefficients.
    intercept_scaling : float, default=1.0, without effect
    random_state : without effect, no solver draws
    use_legacy_attributes : False
        Attributes are arrays and numbers; scikit-learn's dicts are not offered.
    table : Table, optional

    Attributes
    ----------
    C_, l1_ratio_ : the chosen penalty
    coef_ : (1, p), or (classes, p), in the order of `terms_`; intercept_
    Cs_, l1_ratios_ : what was tried
    scores_ : (folds, l1_ratios, Cs)
    coefs_paths_ : (folds, l1_ratios, Cs, classes, p + 1); p without an intercept, 1 for two classes
    n_iter_ : (folds, l1_ratios, Cs)
    history_ : mean score of each C and l1_ratio; status_ : how the last fit ended
    separating_ : positions in `terms_` of columns that separate classes, where C_ is infinite
    classes_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.data.datasets import load
    >>> from pellucid.linear_model import LogisticRegressionCV
    >>> iris = load("iris")
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0]).fit(iris.X, iris.y)
    >>> model.C_, model.scores_.shape
    (100.0, (5, 1, 3))
    """

    # scikit-learn 1.9 warns unless these have the values that it announces; few Cs are quick.
    _check_params = {
        "Cs": 3, "l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False,
        "cv": 3,
    }  # fmt: skip
    _exempt = {"score_is_the_share_of_right_answers": "`score` is what `scoring` names, as there"}
    _parameters = {
        "Cs": Either(Integer(1), Array),
        "l1_ratios": Array,
        "fit_intercept": Boolean,
        "cv": CV,
        "dual": Choice(False),
        "scoring": Either(
            Nothing, Test(lambda v: isinstance(v, str), "the name of a scorer"), Function
        ),
        "solver": Choice(*(name for name in SOLVERS if name not in ("gd", "sgd"))),
        "tol": Real(0, None),
        "max_iter": Integer(1),
        "class_weight": ClassWeight,
        "n_jobs": Jobs,
        "verbose": Verbose,
        "refit": Boolean,
        "intercept_scaling": Real(0, None),
        "random_state": RandomState,
        "use_legacy_attributes": Choice(False),
    }

    C_: float
    l1_ratio_: float
    scores_: np.ndarray

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        scoring: Any = "neg_log_loss",
        solver: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
        table: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty, then find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._logistic import path
        from pellucid.linear_model._logistic.solver import Setting

        assert problem.classes is not None
        Cs, ratios = self._grid()
        terms = problem.schema.terms
        setting = Setting(0.0, self.fit_intercept, self.tol, self.max_iter, terms=terms)
        search = path.Search(Cs, ratios, setting, self.solver)
        factors = class_factors(self.class_weight, problem)
        with parallel.using(self.n_jobs), parallel.one_blas_thread():
            folds = path.class_folds(self.cv, problem)
            tried = path.cross_validate(
                problem, factors, folds, search, self._score_of(problem.classes)
            )
            mean = np.moveaxis(tried.scores, 2, 1).mean(axis=0)  # (Cs, l1_ratios)
            if not np.isfinite(mean).all():
                raise DataError("Some penalties have no finite score: use another scoring, or cv.")
            j, r = np.unravel_index(int(np.argmax(mean)), mean.shape)
            w = problem.weights * factors[problem.y]
            found = path.fit_chosen(problem, w, float(Cs[j]), float(ratios[r]), search)
        chosen = {"C_": float(Cs[j]), "l1_ratio_": float(ratios[r])}
        x, own = found.x, _means_of_folds(tried, Cs, ratios)
        if not self.refit:
            x, chosen = own
        return chosen | {
            "coef_": np.ascontiguousarray(x[:, :-1]), "intercept_": x[:, -1].copy(),
            "means_": column_means(problem.X, w), "Cs_": Cs, "l1_ratios_": ratios,
            "scores_": tried.scores, "n_iter_": tried.n_iter,
            "coefs_paths_": tried.coefs if self.fit_intercept else tried.coefs[..., :-1].copy(),
            "history_": _score_table(mean, Cs, ratios), "status_": _told(found),
            "separating_": list(getattr(found, "separating", ())),
        }  # fmt: skip

    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        number = Integer(1).accepts(self.Cs)
        Cs = np.logspace(-4, 4, self.Cs) if number else _numbers(self.Cs)
        if Cs is None or not len(Cs) or not (Cs > 0).all():
            raise ParameterError(
                "The 'Cs' parameter of LogisticRegressionCV must be a number of values, or values "
                f"above 0. Got {shown(self.Cs)} instead."
            )
        ratios = _numbers(self.l1_ratios)
        if ratios is None or not len(ratios) or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ParameterError(
                "The 'l1_ratios' parameter of LogisticRegressionCV must hold numbers in [0, 1]. Got "
                f"{shown(self.l1_ratios)} instead."
            )
        if ratios.any() and self.solver not in L1_SOLVERS:
            raise ParameterError(
                f"solver={self.solver!r} cannot have an L1 penalty: use one of {list(L1_SOLVERS)}, "
                "or l1_ratios=(0.0,)."
            )
        return Cs, ratios

    def _score_of(self, classes: np.ndarray) -> Any:
        """(scores, y codes, weights) -> number."""
        from pellucid.linear_model._logistic.path import SCORES, Said

        if (self.scoring is None or isinstance(self.scoring, str)) and self.scoring in SCORES:
            return SCORES[self.scoring]
        scorer, said = self._scorer(), Said(classes, self.__sklearn_tags__())

        def score(Z: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
            given = {} if (w == 1.0).all() or callable(self.scoring) else {"sample_weight": w}
            return float(scorer(said, Z, classes[y], **given))

        return score

    def _scorer(self) -> Any:
        if callable(self.scoring):
            return self.scoring
        try:
            return _sklearn.scorer(self.scoring)
        except ValueError:
            raise ParameterError(
                "The 'scoring' parameter of LogisticRegressionCV must be the name of one of "
                f"scikit-learn's scorers, a callable or None. Got {self.scoring!r} instead."
            ) from None

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The score that `scoring` names, of these rows."""
        from pellucid.linear_model._logistic.path import SCORES

        X, y, sample_weight = opened(X, y, sample_weight)
        if callable(self.scoring) or self.scoring not in SCORES:
            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            return float(self._scorer()(self, X, y, **given))
        scores = self.decision_function(X)
        codes, found = labels(y, type(self).__name__)
        strange = ~np.isin(found, self.classes_)
        if strange.any():
            raise DataError(
                f"y holds label {found[strange].tolist()[0]!r}, which was not in training."
            )
        known = np.searchsorted(self.classes_, found[codes])
        w = weights_or_ones(sample_weight, len(known))
        return SCORES[self.scoring](scores.reshape(len(known), -1), known, w)

    def _check_state(self) -> None:
        super()._check_state()
        expect_array(self, "Cs_", None)
        expect_array(self, "l1_ratios_", None)
        expect_array(self, "scores_", None, len(self.l1_ratios_), len(self.Cs_))
        width = self.coef_.shape[1] + int(self.fit_intercept)
        expect_array(self, "coefs_paths_", *self.scores_.shape, len(self.coef_), width)


def _told(found: Any) -> Status:
    """The status of the last fit, with what to do about it here."""
    if not getattr(found, "separating", ()):
        return found.status
    return replace(found.status, suggestion="Leave np.inf out of Cs.")


def _numbers(values: Any) -> np.ndarray | None:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 1 else None


def _means_of_folds(tried: Any, Cs: np.ndarray, ratios: np.ndarray) -> tuple[np.ndarray, dict]:
    """Mean coefficients, C and l1_ratio of the best of each fold."""
    by_fold = np.moveaxis(tried.scores, 2, 1).reshape(len(tried.scores), -1)
    j, r = np.unravel_index(by_fold.argmax(axis=1), (len(Cs), len(ratios)))
    x = tried.coefs[np.arange(len(j)), r, j].mean(axis=0)
    return x, {"C_": float(Cs[j].mean()), "l1_ratio_": float(ratios[r].mean())}


def _score_table(mean: np.ndarray, Cs: np.ndarray, ratios: np.ndarray) -> dict[str, np.ndarray]:
    n = mean.size
    return {
        "iteration": np.arange(n, dtype=float),
        "objective": -mean.ravel(),
        "C": np.repeat(Cs, len(ratios)),
        "l1_ratio": np.tile(ratios, len(Cs)),
    }
