"""Cross-validation of any estimator: scores by fold, and predictions of rows not trained on."""

import time
from typing import Any

import numpy as np

from pellucid.data.targets import as_vector
from pellucid.errors import DataError, ParameterError, PellucidWarning, shown, warn
from pellucid.model_selection.copies import fresh
from pellucid.model_selection.given_folds import folds_of
from pellucid.model_selection.rows import is_classifier, n_rows, taken
from pellucid.model_selection.scorers import Scorer, scorers

SMALLEST = float(np.finfo(float).min)
_NO_EFFECT = "no effect: folds are fitted one after the other, and each fit uses all threads."
PARAMETERS = {
    "estimator": "any object with fit and predict; it is copied and never changed.",
    "X": "any table that the estimator accepts.",
    "y": "the target; None for models without one.",
    "groups": "the group of each row, for splitters that need it.",
    "scoring": "the name of a metric, a function (model, X, y), or None for `estimator.score`; "
    "cross_validate also takes a list or dict of them.",
    "cv": "a number of folds, a splitter, or pairs of row numbers. None is 5. A number gives stratified "
    "folds for classifiers and plain folds for others, in the order of the rows.",
    "n_jobs": _NO_EFFECT,
    "verbose": _NO_EFFECT,
    "pre_dispatch": _NO_EFFECT,
    "params": "further arguments of fit; arrays with a value per row are cut to the training rows.",
    "error_score": 'the score of a fold whose fit fails, with a warning; "raise" raises the error.',
    "sample_weight": "weights of the rows, used in fitting and in scoring.",
    "random_state": "seed or generator of the random numbers; None draws others each time.",
    "arrays": "tables or arrays with the same number of rows.",
    "space": "the values to try, by parameter.",
    "name": "the name of a metric or of a scorer of scikit-learn.",
}


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    sample_weight: Any = None,
) -> dict[str, Any]:
    """Fit a copy of `estimator` on each fold's training rows, and score it on the test rows.

    Parameters
    ----------
    return_train_score, return_estimator, return_indices : whether to add the scores on the training
        rows, the fitted models, or the row numbers.

    Returns
    -------
    dict
        Arrays with a value per fold: fit_time, score_time (seconds) and test_score, or test_NAME for
        several metrics.

    Examples
    --------
    >>> from pellucid.data import datasets
    >>> from pellucid.model_selection import cross_validate
    >>> from pellucid.naive_bayes import GaussianNB
    >>> iris = datasets.load("iris")
    >>> cross_validate(GaussianNB(), iris.X, iris.y)["test_score"].round(3)
    array([0.933, 0.967, 0.933, 0.933, 1.   ])
    """
    chosen = scorers(scoring)
    splits = folds_of(cv, X, y, groups, classes=is_classifier(estimator))
    rows: list[dict[str, Any]] = []
    models: list[Any] = []
    errors: list[Exception] = []
    fold = _Fold(estimator, X, y, params or {}, sample_weight, chosen, return_train_score)
    for train, test in splits:
        try:
            model, row = fold.run(train, test)
        except Exception as error:
            if error_score == "raise":
                raise
            errors.append(error)
            model, row = None, fold.failed(float(error_score))
        models.append(model)
        rows.append(row)
    _report_failures(errors, len(splits))
    found: dict[str, Any] = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    if return_estimator:
        found["estimator"] = models
    if return_indices:
        found["indices"] = {
            "train": [train for train, _ in splits],
            "test": [test for _, test in splits],
        }
    return found


def _report_failures(errors: list[Exception], n: int) -> None:
    if errors and len(errors) == n:
        raise errors[0]
    if errors:
        warn(
            f"{len(errors)} of {n} fits failed; their scores are error_score. The first error: "
            f"{type(errors[0]).__name__}: {errors[0]}",
            PellucidWarning,
        )


class _Fold:
    """Fits and scores one fold after the other."""

    def __init__(
        self, estimator: Any, X: Any, y: Any, params: Any, weight: Any, chosen: Any, train: bool
    ) -> None:
        self.estimator, self.X, self.y, self.params = estimator, X, y, params
        self.weight = None if weight is None else as_vector(weight, "sample_weight")
        self.chosen: dict[str, Scorer] = chosen
        self.train = train

    def run(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, dict[str, Any]]:
        begin = time.perf_counter()
        model = fit_rows(self.estimator, self.X, self.y, train, self.params, self.weight)
        middle = time.perf_counter()
        scores = self._scores(model, test, "test")
        row = {"fit_time": middle - begin, "score_time": time.perf_counter() - middle, **scores}
        return model, row | (self._scores(model, train, "train") if self.train else {})

    def _scores(self, model: Any, rows: np.ndarray, part: str) -> dict[str, float]:
        X, y = taken(self.X, rows), None if self.y is None else taken(self.y, rows)
        w = None if self.weight is None else self.weight[rows]
        return {f"{part}_{name}": s.compute(model, X, y, w) for name, s in self.chosen.items()}

    def failed(self, value: float) -> dict[str, float]:
        parts = ["test", *(["train"] if self.train else [])]
        scores = {f"{part}_{name}": value for part in parts for name in self.chosen}
        return {"fit_time": np.nan, "score_time": np.nan, **scores}


def fit_rows(
    estimator: Any, X: Any, y: Any, rows: np.ndarray, params: Any = None, weight: Any = None
) -> Any:
    """A copy of the estimator, fitted on some rows."""
    n = n_rows(X)
    extra = {
        name: taken(value, rows) if hasattr(value, "__len__") and n_rows(value) == n else value
        for name, value in (params or {}).items()
    }
    if weight is not None:
        extra["sample_weight"] = weight[rows]
    target = () if y is None else (taken(y, rows),)
    return fresh(estimator, {}).fit(taken(X, rows), *target, **extra)


def cross_val_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    error_score: Any = np.nan,
    sample_weight: Any = None,
) -> np.ndarray:
    """The score of each fold: `cross_validate(...)["test_score"]` for one metric.

    >>> from pellucid.data import datasets
    >>> from pellucid.linear_model import LinearRegression
    >>> from pellucid.model_selection import KFold, cross_val_score
    >>> tips = datasets.load("tips")
    >>> folds = KFold(5, shuffle=True, random_state=0)
    >>> cross_val_score(LinearRegression(), tips.X, tips.y, cv=folds, scoring="rmse").round(2)
    array([0.95, 1.05, 1.19, 1.16, 1.04])
    """
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ParameterError("cross_val_score takes one metric; cross_validate takes several.")
    found = cross_validate(
        estimator,
        X,
        y,
        groups=groups,
        scoring=scoring,
        cv=cv,
        params=params,
        error_score=error_score,
        sample_weight=sample_weight,
    )
    return found["test_score"]


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    cv: Any = None,
    n_jobs: Any = None,
    verbose: int = 0,
    params: dict[str, Any] | None = None,
    pre_dispatch: Any = "2*n_jobs",
    method: str = "predict",
    sample_weight: Any = None,
) -> np.ndarray:
    """A prediction for each row, from the model that was not trained on it.

    `method` is the method to call, such as "predict_proba"; its columns are all classes of y in sorted
    order. Use the predictions for pictures. For a score, use `cross_validate`: the mean over folds and
    the value over all rows can differ.
    """
    n = n_rows(X)
    splits = folds_of(cv, X, y, groups, classes=is_classifier(estimator))
    tested = np.concatenate([test for _, test in splits])
    if len(tested) != n or len(np.unique(tested)) != n:
        raise DataError("cross_val_predict needs folds that test every row exactly once.")
    weight = None if sample_weight is None else as_vector(sample_weight, "sample_weight")
    classes = None if method == "predict" or y is None else np.unique(as_vector(y))
    parts = []
    for train, test in splits:
        model = fit_rows(estimator, X, y, train, params, weight)
        if not hasattr(model, method):
            raise ParameterError(f"{type(model).__name__} has no method {shown(method)}.")
        values = np.asarray(getattr(model, method)(taken(X, test)))
        parts.append(_aligned(values, model, classes, method))
    return np.concatenate(parts)[np.argsort(tested, kind="stable")]


def _aligned(values: np.ndarray, model: Any, classes: Any, method: str) -> np.ndarray:
    """The columns of all classes; one that training lacked has probability 0, or the lowest score."""
    if classes is None or not hasattr(model, "classes_") or len(model.classes_) == len(classes):
        return values
    if values.ndim == 1:
        raise DataError(f"A training set has only two of {len(classes)} classes: use fewer folds.")
    warn("A training set lacks a class: its column has the lowest value there.", PellucidWarning)
    filled = 0.0 if method == "predict_proba" else SMALLEST
    out = np.full((len(values), len(classes)), filled)
    out[:, np.searchsorted(classes, model.classes_)] = values
    return out
