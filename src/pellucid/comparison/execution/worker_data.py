"""The data of a worker process: the shared table, and an evaluator that fits and scores one model on it.

Models are fitted on the user's labels, so that the names of classes in their messages can be read.
Scores and predictions use class codes. Invariant: a fit depends only on the rows, the parameters and
the seed derived from (model, fold, candidate), not on the process or on earlier fits.
"""

from __future__ import annotations

import copy
import json
import re
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.planning import fold_choice
from pellucid.comparison.planning.plan import LARGE_TABLE, Plan
from pellucid.comparison.planning.registry import words_read
from pellucid.data import Table, Text
from pellucid.data.intake import raw_table
from pellucid.data.io import shared_tables
from pellucid.errors import ConvergenceWarning, DataError
from pellucid.model_selection.copies import fit, fresh
from pellucid.model_selection.metrics import Metric, metric

MAX_FIXED_WIDTH = 60  # characters of the longest label for which labels are a fixed-width array


@dataclass(frozen=True)
class SharedTable:
    """Where workers find the table, and what they need to know about it; small when pickled."""

    folder: str
    text: tuple[str, ...]
    classes: tuple[Any, ...] | None  # labels by code; None for regression
    container: str
    seed: int
    inner: int
    search_rows: int
    split_by: str = ""  # "group", "time" or ""

    @property
    def n_classes(self) -> int:
        return len(self.classes or ())  # 0 for regression


def share_table(plan: Plan, scratch: str) -> SharedTable:
    """Write the table of a plan to a folder where the workers find it."""
    dataset, folder = plan.dataset, Path(scratch)
    split_by, values = dataset.split_by
    try:
        shared_tables.write_shared(dataset.table, folder / "table.arrow")
        np.save(folder / "y.npy", dataset.y)
        np.save(folder / "weights.npy", dataset.weights)
        if values is not None:
            np.save(folder / "split_values.npy", values)
    except OSError as error:
        raise DataError(f"cannot write to {scratch}: {error.strerror or error}.") from None
    return SharedTable(
        folder=scratch,
        text=tuple(name for name, kind in dataset.kinds.items() if kind == "text"),
        classes=dataset.classes,
        container=dataset.container,
        seed=plan.settings.seed,
        inner=plan.inner,
        search_rows=plan.search_rows,
        split_by=split_by,
    )


@dataclass(frozen=True)
class BlendedModel:
    """A model that a blend may combine, with the parameters that its search chose."""

    model: str
    estimator: Any
    params: dict[str, Any]
    dropped: tuple[str, ...]
    fit_seconds: float = 0.0


@dataclass(frozen=True)
class Predictions:
    """Predictions for some rows; columns are all classes of the table."""

    labels: np.ndarray  # class codes, or numbers
    proba: np.ndarray | None = None
    scores: np.ndarray | None = None

    def part(self, rows: Any) -> Predictions:
        """The predictions of some of the rows."""
        values = (self.proba, self.scores)
        return Predictions(self.labels[rows], *(None if s is None else s[rows] for s in values))


class Evaluator:
    """Fits, predictions and scores of one model on the shared table."""

    def __init__(
        self, shared: SharedTable, name: str, model: Any, dropped: tuple[str, ...], foreign: bool
    ) -> None:
        folder = Path(shared.folder)
        self.shared, self.name, self.model, self.foreign = shared, name, model, foreign
        table = shared_tables.open_shared(folder / "table.arrow")
        self.table = shared_tables.without(table, dropped)
        self.y = np.load(folder / "y.npy")
        self.weights = np.load(folder / "weights.npy")
        path = folder / "split_values.npy"
        self.split_values = np.load(path) if path.exists() else None
        self.text = [name for name in shared.text if name not in dropped]
        self.labels = None if shared.classes is None else label_array(shared.classes)
        self.calibration: list[float] | None = None  # of a classifier without probabilities
        self.rounds_chosen = False  # whether to reach the last round is no news
        self.targets: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # of rows that are used again

    def rows(self, rows: np.ndarray) -> Any:
        """Some rows of the table, in the container that the model reads."""
        part = shared_tables.take(self.table, rows)
        return shared_tables.native(part, self.shared.container) if self.foreign else part

    def rows_again(self, rows: np.ndarray) -> Any:
        """As `rows`, for many fits: what our models compute from the rows alone is computed once."""
        if self.foreign:
            return self.rows(rows)
        self.targets[id(rows)] = rows, self.target(rows)
        return replace(raw_table(self.rows(rows)), memo={})

    def inner_splits(
        self, rows: np.ndarray, fold: str, ranking: str
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds within some training rows, or a sample of many; the same for every model."""
        rows = self.sampled(rows, fold)
        seed = parallel.stream(parallel.seed_sequence(self.shared.seed), "inner", fold)
        word = int(seed.integers(2**31))
        groups = None if self.split_values is None else self.split_values[rows]
        classes = bool(self.shared.n_classes)
        kind = fold_choice.kind_of(self.shared.split_by, classes)
        found = fold_choice.inner_splits(
            kind, self.shared.inner, self.y[rows], groups, ranking, word, classes
        )
        return [(rows[a], rows[b]) for a, b in found]

    def sampled(self, rows: np.ndarray, fold: str) -> np.ndarray:
        """The rows on which a search runs; a sample has the same share of every class."""
        most = self.shared.search_rows
        if len(rows) <= max(most, LARGE_TABLE):
            return rows
        rng = parallel.stream(parallel.seed_sequence(self.shared.seed), "sample", fold)
        order = rng.permutation(rows)
        codes = self.y[order] if self.shared.n_classes else np.zeros(len(order))
        order = order[np.argsort(codes, kind="stable")]
        places = np.floor((np.arange(most) + 0.5) * len(order) / most).astype(np.int64)
        return np.sort(order[places])

    def unfitted(self, params: dict[str, Any], *task: Any) -> Any:
        """The unfitted model with its parameters, and a seed that `task` determines."""
        known = self.model.get_params(deep=self.foreign)
        free = sorted(name for name, value in known.items() if value is None)
        unseeded = [name for name in free if re.search(r"(^|__)random_state$", name)]
        more = dict(params)
        if unseeded:
            key = json.dumps(params, sort_keys=True, default=str)
            seed = parallel.seed_sequence(self.shared.seed)
            words = [str(part) for part in task]
            rng = parallel.stream(seed, "model", self.name, key, *words)
            more |= {name: int(rng.integers(2**31)) for name in unseeded}
        if self.text and "table" in known and known["table"] is None:
            # How the model reads text: all words, the most frequent ones, or none (the baseline).
            most = words_read(type(self.model))
            kinds = dict.fromkeys(self.text, "text" if most else "categorical")
            few = Text(max_words=int(most)) if 0 < most < np.inf else None
            more["table"] = Table(kinds=kinds, text=few)
        if self.foreign:  # scikit-learn's clone would take long to import
            return copy.deepcopy(self.model).set_params(**more)
        return fresh(self.model, more)

    def fit(self, model: Any, X: Any, rows: np.ndarray) -> Any:
        """Fit a model on X, the given rows of the table."""
        with parallel.one_blas_thread(), warnings.catch_warnings():
            if self.rounds_chosen:
                warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = fit(model, X, self.target(rows), self.weights[rows])
        if self.calibration is not None:
            fitted.calibration_ = np.array(self.calibration)
        return fitted

    def fit_stopping(
        self, model: Any, X: Any, rows: np.ndarray, X_val: Any, validation: np.ndarray
    ) -> Any:
        """Fit a model that stops early on validation rows, without those of unknown classes."""
        if self.shared.n_classes:
            known = np.isin(self.y[validation], self.y[rows])
            if not known.all():
                validation, X_val = validation[known], self.rows(validation[known])
        w, w_val = self.weights[rows], self.weights[validation]
        if (w == 1.0).all() and (w_val == 1.0).all():
            w = w_val = None
        with parallel.one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it may reach the last round
            return model.fit(
                X, self.target(rows), w,
                X_val=X_val, y_val=self.target(validation), sample_weight_val=w_val,
            )  # fmt: skip

    def add(self, model: Any, additions: dict[str, Any]) -> None:
        """Set what a comparison adds to a model of Pellucid; a threshold is for its own second class."""
        for name, value in {} if self.foreign else additions.items():
            if name == "threshold_" and self.codes(model.classes_)[1] == 0:
                value = 1.0 - value
            setattr(model, name, np.float64(value) if name == "threshold_" else value)

    def target(self, rows: np.ndarray) -> np.ndarray:
        """The labels or numbers of some rows."""
        if id(rows) in self.targets:
            return self.targets[id(rows)][1]
        codes: np.ndarray = self.y[rows]
        return codes if self.labels is None else self.labels[codes]

    def codes(self, labels: Any) -> np.ndarray:
        """Class codes of a model's labels."""
        assert self.shared.classes is not None
        where = {name: code for code, name in enumerate(self.shared.classes)}
        return np.array([where[label] for label in np.asarray(labels).tolist()], dtype=int)

    def predict(self, model: Any, X: Any) -> Predictions:
        """Labels with probabilities or scores; a class without training rows has probability 0."""
        K = self.shared.n_classes
        if not K:
            return Predictions(np.asarray(model.predict(X)).astype(float))
        classes = self.codes(model.classes_)
        if hasattr(model, "predict_proba"):
            values = np.asarray(model.predict_proba(X))
            # Our models predict the most probable class (of equals the first): one call is enough.
            most = classes[values.argmax(axis=1)]
            labels = self.codes(model.predict(X)) if self.foreign else most
            return Predictions(labels, _to_all_classes(values, classes, K, 0.0))
        labels = self.codes(model.predict(X))
        if hasattr(model, "decision_function"):
            values = np.asarray(model.decision_function(X), dtype=float)
            if values.ndim == 1:
                values = np.column_stack([-values, values])
            return Predictions(labels, None, _to_all_classes(values, classes, K, -np.inf))
        return Predictions(labels)

    def own_values(self, rows: np.ndarray, predictions: Predictions) -> np.ndarray | None:
        """Predicted numbers, or the probability of each row's own class; None without probabilities."""
        if not self.shared.n_classes:
            return predictions.labels
        found = predictions.proba
        return None if found is None else found[np.arange(len(rows)), self.y[rows]]

    def score(
        self, names: tuple[str, ...], model: Any, X: Any, rows: np.ndarray, predictions: Predictions
    ) -> dict[str, float]:
        """Metrics by name; NaN where a metric is undefined."""
        y, w, K = self.y[rows], self.weights[rows], self.shared.n_classes
        out = {}
        for name in names:
            found = metric(name)
            if found.needs == "model":
                coded = CodedClassifier(self, model) if K else model
                out[name] = float(found.compute(coded, X, y, w))
            elif found.needs == "numbers":
                out[name] = found.compute(y, predictions.labels, w)
            else:
                out[name] = score_predictions(found, y, w, predictions, K)
        return out


class BlendEvaluator(Evaluator):
    """Fits, predictions and scores of a blend of some models, each with its own columns and seed."""

    def __init__(
        self, shared: SharedTable, name: str, model: Any, blended: tuple[BlendedModel, ...]
    ) -> None:
        super().__init__(shared, name, model, (), foreign=False)
        self.blended, self.rounds_chosen = blended, True

    def unfitted(self, params: dict[str, Any], *task: Any) -> Any:
        """The blend of the models in params["weights"]; each is the one that a fit alone would give."""
        weights = params["weights"]
        parts, columns, sigmoids = [], {}, {}
        for one in self.blended:
            if one.model not in weights:
                continue
            own = Evaluator(self.shared, one.model, one.estimator, one.dropped, foreign=False)
            params = dict(one.params)
            sigmoid = params.pop("calibration", None)
            parts.append((one.model, own.unfitted(params, *task)))
            if sigmoid is not None:
                sigmoids[one.model] = sigmoid
            if one.dropped:
                columns[one.model] = list(own.table.column_names)
        shares = [float(weights[name]) for name, _ in parts]
        more = {"estimators": parts, "weights": shares, "columns": columns or None}
        if sigmoids:
            more["calibration"] = sigmoids
        return super().unfitted(more, *task)


class CodedClassifier:
    """A fitted classifier with class codes as labels, for scikit-learn scorers.

    The positive class of two then has code 1, whatever its label.
    """

    def __init__(self, evaluator: Evaluator, model: Any) -> None:
        self._evaluator, self._model = evaluator, model
        self.classes_ = np.arange(evaluator.shared.n_classes)

    def __sklearn_tags__(self) -> Any:
        from pellucid.dummy import DummyClassifier

        return DummyClassifier().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Class codes."""
        return self._evaluator.predict(self._model, X).labels

    def __getattr__(self, name: str) -> Any:
        if name not in ("predict_proba", "decision_function") or not hasattr(self._model, name):
            raise AttributeError(name)
        return getattr(self, f"_{name}")

    def _predict_proba(self, X: Any) -> np.ndarray | None:
        return self._evaluator.predict(self._model, X).proba

    def _decision_function(self, X: Any) -> np.ndarray:
        values = np.asarray(self._model.decision_function(X), dtype=float)
        classes = self._evaluator.codes(self._model.classes_)
        if values.ndim == 1:
            return values if classes[-1] == 1 else -values
        return _to_all_classes(values, classes, len(self.classes_), -np.inf)


def label_array(labels: tuple[Any, ...]) -> np.ndarray:
    """Labels as an array of numbers, booleans or strings."""
    if not all(isinstance(label, str) for label in labels):
        return np.array(labels)
    short = max(map(len, labels)) <= MAX_FIXED_WIDTH  # fixed-width strings are sorted much faster
    return np.array(labels, dtype=str if short else object)


def _to_all_classes(values: np.ndarray, classes: np.ndarray, K: int, empty: float) -> np.ndarray:
    out = np.full((len(values), K), empty)
    out[:, classes] = values
    return out


def score_predictions(
    found: Metric, y: np.ndarray, w: np.ndarray, predictions: Predictions, n_classes: int
) -> float:
    """A classification metric computed from predictions alone."""
    classes = np.arange(n_classes)
    if found.needs == "labels":
        return found.compute(y, predictions.labels, w, classes)
    values = predictions.proba
    if found.needs == "scores" and values is None:
        values = predictions.scores
    return float("nan") if values is None else found.compute(y, values, w, classes)
