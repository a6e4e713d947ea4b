"""`Estimator` and the task classes: the one template of fitting, the only validation of data.

`fit` calls `_learn`, which forgets what was learned before, turns the user's table into a
`Problem`, calls the family's `_fit(problem)` and stores the dict it returns. All of this happens on a
working copy, whose learned attributes are taken over in one step: a failure or Ctrl-C leaves the
estimator unfitted, and threads that fit it at once never mix their results. Families write `_fit` and
a few small methods on encoded arrays.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from pellucid import _sklearn, beyond_memory, conformal, default_scores, parameters
from pellucid.data import InputSpec, Problem, Schema, prepare
from pellucid.data.encode import encode_once
from pellucid.data.intake import RawTable, raw_table
from pellucid.data.opening import large_source, opened
from pellucid.data.targets import known_classes
from pellucid.errors import ConvergenceWarning, DataError, warn
from pellucid.explained_columns import explanation
from pellucid.parameters import learned, shared
from pellucid.protocol import SklearnEstimator, available_if
from pellucid.records.watch import fitting, is_watched


class Estimator(SklearnEstimator):
    """Base of every model. Subclasses set the class attributes and write `_fit`."""

    _layout: ClassVar[str] = "matrix"
    _target: ClassVar[str] = "none"
    _min_rows: ClassVar[int] = 2  # one row shows no pattern; only the baselines take it
    _takes_text: ClassVar[bool] = False
    # Whether predictions read float32 cells as they are; then no copy of a table is made for them.
    _reads_float32: ClassVar[bool] = False
    _reads_entries: ClassVar[bool] = False  # whether `_propagates_nan` holds for sparse tables, too
    # Whether predictions read codes in C order, as they stand in the user's array.
    _reads_rows: ClassVar[bool] = False
    # Why `pellucid.watching` records no steps, if it records none.
    _no_steps: ClassVar[str] = "this fit has no iterations."
    _watches_rows: ClassVar[bool] = False  # whether steps name the rows that they used
    # Whether the steps of a model that is fitted inside this one are recorded as its own.
    _records_inner_fits: ClassVar[bool] = False

    table: Any = shared.TABLE
    n_features_in_: int = learned("Number of columns of the table that the model was fitted on.")
    feature_names_in_: np.ndarray = learned("Names of the training columns, if all are strings.")
    schema_: Schema = learned("Kinds, levels and missing values of the training columns.")
    unseen_errors_: np.ndarray = learned(conformal.UNSEEN_ERRORS)
    fold_sizes_: np.ndarray = learned(conformal.FOLD_SIZES)
    fold_models_: list[Any] = learned(conformal.FOLD_MODELS)
    if TYPE_CHECKING:  # these are properties of some classes

        @property
        def _rows(self) -> str: ...
        @property
        def _substitute(self) -> str: ...
        @property
        def _shares_rows(self) -> bool: ...
        def __getattr__(self, name: str) -> Any: ...  # learned attributes are stored by `_store`
    else:
        _rows = "user"  # one of `pellucid.data.problem.ROWS`
        # What to use for a table beyond memory ({kind}: the task), "" if this model can.
        _substitute = ""
        # Whether processes that share the rows can fit it together, exchanging sums.
        _shares_rows = False

    def _coding(self) -> str:
        """How levels become columns: "onehot", or "reference" for unpenalised linear models."""
        return "onehot"

    def _input_spec(self) -> InputSpec:
        """What this estimator needs from `prepare`; ensembles pass on that of their base estimator."""
        return InputSpec(
            owner=type(self).__name__, layout=self._layout, coding=self._coding(),
            target=self._target, takes_sparse=self._takes_sparse, takes_text=self._takes_text,
            rows=self._rows, min_rows=self._min_rows, positions=self._watches_rows and is_watched(),
        )  # fmt: skip

    # Fitting ------------------------------------------------------------------------------------

    def _check_problem(self, problem: Problem) -> None:
        """Refuse a problem that this kind of model cannot learn from."""

    def _fit(self, problem: Problem) -> dict[str, Any]:
        """Learn from a problem: the learned attributes by name.

        Runs on a copy of the estimator. Families take the `options` of `_learn` as further arguments.
        """
        raise NotImplementedError

    def _learn(
        self, X: Any, y: Any = None, weights: Any = None, offset: Any = None, **options: Any
    ) -> Self:
        """Check, prepare, `_fit`, store; a failure leaves nothing fitted (or the warm start).

        X may be a path or another source; y, weights, offset may be names of its columns; `options` go
        to `_fit`. A source that does not fit into memory is fitted below the memory ceiling, a Dask
        frame by the workers of its client.
        """
        with fitting(self):
            X, done = beyond_memory.fit_elsewhere(self, X, (y, weights, offset), options)
            return self if done else self._learn_once(X, y, weights, offset, options)

    def _learn_once(
        self, X: Any, y: Any, weights: Any, offset: Any, options: dict, report: Any = None
    ) -> Self:
        warm = getattr(self, "warm_start", False)
        before = self._learned() if parameters.Boolean.accepts(warm) and warm else {}
        if not before:
            self._replace_learned({})
        work = self._working_copy()
        work._check_parameters()
        X, y, weights, offset = opened(X, y, weights, offset)
        spec = work._warm(work._input_spec(), before)
        problem, rows = prepare(X, y, weights, offset, work.table, spec)
        work._check_problem(problem)
        learned = work._fit(problem, **options)
        work._replace_learned({})
        return self._take_over(work, learned, problem, rows, report)

    def _warm(self, spec: InputSpec, before: dict[str, Any]) -> InputSpec:
        """A warm start keeps columns and classes, so that what was learned still fits."""
        schema = before.get("schema_")
        if schema is None or (schema.layout, schema.coding) != (spec.layout, spec.coding):
            self._replace_learned({})
            return spec
        return replace(spec, schema=schema, classes=before.get("classes_"))

    def _learn_more(self, X: Any, y: Any = None, weights: Any = None, classes: Any = None) -> Self:
        """One more batch for `partial_fit`: the schema and classes of the first batch hold.

        `_fit_more` must not change learned arrays in place: after a failure the old ones remain.
        """
        with fitting(self):
            return self._learn_batch(X, y, weights, classes)

    def _learn_batch(self, X: Any, y: Any, weights: Any, classes: Any) -> Self:
        work = self._working_copy()
        first = not work.__sklearn_is_fitted__()
        work._check_parameters()
        schema = None if first else work.schema_
        spec = replace(work._input_spec(), declared=True, min_rows=1, schema=schema)
        if self._target == "classes":
            spec = replace(spec, classes=known_classes(classes, None if first else work.classes_))
        X, y, weights = opened(X, y, weights)
        problem, rows = prepare(X, y, weights, None, work.table, spec)
        return self._take_over(work, work._fit_more(problem, first), problem, rows)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        """Learn from one more batch; reads what the earlier ones left on `self`."""
        raise NotImplementedError

    def _working_copy(self) -> Self:
        """A shallow copy that a fit works on, so that threads may fit one estimator at once."""
        work = object.__new__(type(self))
        work.__dict__.update(vars(self))
        return work

    def _at_step(self, state: dict[str, Any]) -> Self:
        """A copy of this fitted model as it was at a step that `pellucid.watching` recorded."""
        model = self._working_copy()
        vars(model).update(state)
        return model

    def _take_over(
        self, work: Self, learned: dict[str, Any], problem: Problem, rows: RawTable,
        report: dict[str, Any] | None = None,
    ) -> Self:  # fmt: skip
        """Complete the learned attributes on the working copy, then take them over in one step."""
        work._store(learned, problem)
        work._after_fit(rows)
        self._replace_learned(learned | work._learned(), report)
        work._warn()
        return self

    def _replace_learned(self, learned: dict[str, Any], report: Any = None) -> None:
        own = self._not_learned()
        if learned or own is not vars(self):  # else nothing changes
            self.__dict__ = own | learned | ({} if report is None else {"_fit_report": report})

    def _store(self, learned: dict[str, Any], problem: Problem) -> None:
        self.schema_ = problem.schema
        self.n_features_in_ = problem.schema.n_columns
        if problem.schema.names is not None:
            self.feature_names_in_ = np.array(problem.schema.names, dtype=object)
        if problem.classes is not None:
            self.classes_ = problem.classes
        for name, value in learned.items():  # a float of NumPy has `round`, `item`, ... too
            setattr(self, name, np.float64(value) if type(value) is float else value)

    def _warn(self) -> None:
        """One warning at most, after everything is stored: as an error it must lose nothing."""
        status = vars(self).get("status_")
        if status is not None and not status.ok:
            warn(f"{type(self).__name__}: {status}", _sklearn.as_theirs(ConvergenceWarning))

    def _after_fit(self, rows: RawTable) -> None:
        """Attributes about the user's own rows, e.g. `labels_` of a clusterer."""

    # Using --------------------------------------------------------------------------------------

    def _encoded(self, X: Any) -> Any:
        """A new table in this model's layout, columns matched by name."""
        self._check_fitted()
        return self._encode_table(raw_table(opened(X)[0], type(self).__name__))

    def _answer(self, method: Callable[[Any], Any], X: Any, direct: bool = False) -> Any:
        """The result of one of the family's methods for a new table: finite, or an error.

        With `direct`, a model that `_propagates_nan` computes first, and the cells are checked only
        if its result is not finite.
        """
        self._check_fitted()
        X, large = large_source(X)
        if large:
            return beyond_memory.answer_in_parts(X, partial(self._answer, method, direct=direct))
        rows = raw_table(opened(X)[0], type(self).__name__)
        narrow = direct and self._reads_float32
        with np.errstate(over="ignore", invalid="ignore"):
            plain = rows.dense is not None or (rows.sparse is not None and self._reads_entries)
            if direct and plain and self._propagates_nan():
                try:
                    encoded = self._encode_table(rows, finite=True, narrow=narrow)
                    return self._finite(method(encoded))
                except DataError:
                    pass  # the encoding with checks names the cell, or fills in a missing value
            return self._finite(method(self._encode_table(rows, narrow=narrow)))

    def _propagates_nan(self) -> bool:
        """Whether a NaN or infinite cell always shows in the prediction, so that none is looked for."""
        return False

    def _finite(self, answer: Any) -> Any:
        if isinstance(answer, tuple):
            return tuple(map(self._finite, answer))
        return default_scores.finite(answer, type(self).__name__)

    def _encode_table(
        self, rows: RawTable, quiet: bool = False, finite: bool = False, narrow: bool = False
    ) -> Any:
        who, sparse, view = type(self).__name__, self._takes_sparse, self._reads_rows
        return encode_once(self.schema_, rows, sparse, who, finite, quiet, view, narrow)

    @property
    def terms_(self) -> tuple[str, ...]:
        """Names of the columns after encoding; a categorical column may become several."""
        self._check_fitted()
        return self.schema_.terms

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one safe file; read it with `pellucid.load`."""
        from pellucid import persist

        self._check_fitted()
        persist.save(self, path)

    fit_report_ = property(beyond_memory.fit_report)
    predict_to = available_if("predict", "This model does not predict.")(beyond_memory.predict_to)

    def _repr_html_(self) -> str:
        from pellucid.card import card

        return card(self)

    # Explaining ---------------------------------------------------------------------------------

    @available_if("_explain", "This model does not explain its predictions.")
    def explain(self, X: Any) -> Any:
        """Explain each prediction by contributions of the user's own columns.

        `base + contributions.sum(axis=1) == prediction` for every row and class.
        """
        # `_explain(encoded rows)` gives base (K,), contributions (n, terms, K), prediction (n, K),
        # scale and method (K = 1 for regression and two classes), or a record of `Prototypes`.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._explanation(self._explain(self._encoded(X)))

    _explanation = explanation


class Classifier(Estimator, task=True):
    """Predicts labels: the class of the highest probability if the family writes `_proba`, which
    also gives it `predict_proba`; otherwise the class of the highest of `_scores`.

    `_proba(encoded rows)` gives (n, K) probabilities; `_scores(encoded rows)` gives (n, K) scores,
    or (n,) for two classes. Ties go to the first class.
    """

    _kind = "classifier"
    _target = "classes"
    classes_: np.ndarray = learned(shared.CLASSES)
    adaptive_errors_: np.ndarray = learned(conformal.ADAPTIVE_ERRORS)
    calibration_: np.ndarray = learned(conformal.CALIBRATION)
    threshold_: float = learned(conformal.THRESHOLD)
    # Whether the model learns from a single class; only the baseline does.
    _one_class: ClassVar[bool] = False

    def _check_problem(self, problem: Problem) -> None:
        classes = problem.classes
        if classes is not None and getattr(self, "warm_start", False):
            classes = classes[np.unique(problem.y)]  # those of an earlier table do not count
        if classes is not None and len(classes) < 2 and not self._one_class:
            raise DataError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the "
                f"data contains only one class: {classes.tolist()[0]!r}."
            )

    predict_set = conformal.predict_set

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their labels y; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def _codes(self, X: Any) -> np.ndarray:
        """Class codes for encoded rows."""
        if hasattr(self, "_proba"):
            return self._finite(self._proba(X)).argmax(axis=1)
        scores = self._finite(self._scores(X))
        return (scores > 0).astype(np.int32) if scores.ndim == 1 else scores.argmax(axis=1)

    @beyond_memory.lazy_for_dask
    def predict(self, X: Any) -> np.ndarray:
        """The predicted label of each row; lazy for a Dask frame."""
        above = conformal.above_threshold(self, X)
        codes = self._answer(self._codes, X, direct=True) if above is None else above
        return self.classes_[codes]

    @available_if("_proba", "This model has no probabilities.")
    @beyond_memory.lazy_for_dask
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of `classes_`; lazy for a Dask frame."""
        return self._answer(self._proba, X, direct=True)

    @available_if("_proba", "This model has no probabilities.")
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._log_proba(self._encoded(X))

    def _log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities; families that compute them directly override this."""
        with np.errstate(divide="ignore"):
            return np.log(self._finite(self._proba(X)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows (by weight) whose label is predicted."""
        return default_scores.accuracy(self, X, y, sample_weight)


class Regressor(Estimator, task=True):
    """Predicts numbers from `_predict`."""

    _kind = "regressor"
    predict_interval = conformal.predict_interval
    _target = "numbers"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and their targets y; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def _predict(self, X: Any) -> np.ndarray:
        """Predictions for encoded rows."""
        raise NotImplementedError

    @beyond_memory.lazy_for_dask
    def predict(self, X: Any) -> np.ndarray:
        """The predicted number of each row; lazy for a Dask frame."""
        return self._answer(self._predict, X, direct=True)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R2 (mean over targets)."""
        return default_scores.r2(self, X, y, sample_weight)


class Clusterer(Estimator):
    """Finds groups; `labels_` are the groups of the rows it was given."""

    _kind = "clusterer"
    labels_: np.ndarray = learned("Cluster of each training row; -1 for a row that was left out.")

    def _assign(self, X: Any) -> np.ndarray:
        """Group of each encoded row (int32)."""
        raise NotImplementedError

    def _after_fit(self, rows: RawTable) -> None:
        usable = ~rows.infinite_rows()  # such a row has weight 0, else it were an error
        self.labels_ = np.full(rows.n_rows, -1, dtype=np.int32)
        encoded = self._encode_table(rows if usable.all() else rows.take(usable), quiet=True)
        self.labels_[usable] = self._assign(encoded)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then the group of each row."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.fit(X, y, **given).labels_
