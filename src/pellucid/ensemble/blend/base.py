"""Blends: what the classifier and the regressor share, from the folds to checking files.

1. Split the rows into folds; predict each fold by every base estimator fitted to the others.
2. Pick base estimators greedily by the loss of the mean of these predictions (`selection`).
3. Fit those that were picked to all rows. A prediction is their mean, weighted by their picks.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.ensemble import collection
from pellucid.ensemble.blend import base_models, selection
from pellucid.errors import DataError, ParameterError
from pellucid.numerics.random_folds import random_folds
from pellucid.parameters import (
    Array,
    EstimatorInstance,
    Integer,
    Predicate,
    learned,
    param,
    positional,
    shared,
)
from pellucid.records import Explanation, Recorder, unwatched

MIN_ROWS = 4  # distinct rows: with fewer, a fold leaves too few to train on


def _named(value: Any) -> bool:
    pairs = isinstance(value, list | tuple) and len(value) and all(
        isinstance(one, list | tuple) and len(one) == 2 for one in value
    )  # fmt: skip
    names = [name for name, _ in value] if pairs else []
    return (
        bool(names)
        and all(isinstance(name, str) and name and "__" not in name for name in names)
        and len(set(names)) == len(names)
        and all(EstimatorInstance.accepts(one) for _, one in value)
    )


NAMED = Predicate(
    _named,
    "a list of (name, estimator) with different names without '__'",
    "list of (str, estimator)",
)
CALIBRATION = Predicate(lambda v: isinstance(v, dict), "a dict {name: numbers}")
COLUMNS = Predicate(lambda v: isinstance(v, dict), "a dict {name: columns}")


class Blend(Estimator):
    """Family of blends; `estimators_` holds the fitted base estimators that were picked."""

    _layout = "codes"
    _rows = "canonical"
    _takes_sparse = False
    _substitute = "HistGradientBoosting{kind}"
    _loss: selection.Loss

    estimators: Any = positional(
        default=None,
        check=NAMED | None,
        description="Base estimators with their names, of Pellucid or with scikit-learn's interface. "
        "None blends a decision tree, extremely randomised trees and gradient boosting.",
        kw_only=False,
    )
    n_folds: int = param(
        5, Integer(2), "Number of folds of the predictions by which base estimators are picked."
    )
    max_picks: int = param(30, Integer(1), "Largest number of picks.")
    weights: Any = param(
        None,
        Array | None,
        "Weights of the base estimators; they are divided by their sum. None picks by "
        "cross-validation.",
    )
    columns: Any = param(
        None,
        COLUMNS | None,
        "Names (or numbers) of the columns that a base estimator uses, by its name. The others use "
        "all columns.",
    )
    calibration: Any = param(
        None,
        CALIBRATION | None,
        "For classifiers without probabilities, by name: slope, then the bias of each class, of "
        "softmax(slope x scores + biases). The others without probabilities have one vote.",
    )
    random_state: Any = shared.RANDOM_STATE

    estimators_: list[Any] = learned(
        "The base estimators with a positive weight, fitted to all rows."
    )
    estimators_features_: list[np.ndarray] = learned(
        "Numbers of the columns that each of `estimators_` uses."
    )
    names_: list[str] = learned("The names of `estimators_`.")
    weights_: np.ndarray = learned("The weights of `estimators_`; they add up to 1.")
    picks_: np.ndarray = learned(
        "Positions in `estimators` in the order of the picks; empty if `weights` were given."
    )
    losses_: np.ndarray = learned(
        "Loss of the mean of the out-of-fold predictions after each pick: log loss, or root mean "
        "squared error."
    )

    __len__, __getitem__ = collection.length, collection.item
    __iter__, __bool__ = collection.iterate, collection.true
    _no_steps = "the weights were given, or there were too few rows to pick by cross-validation."

    def _default(self) -> list[tuple[str, Any]]:
        """Base estimators for `estimators=None`."""
        raise NotImplementedError

    def _values(self, base: Any, problem: Problem, columns: np.ndarray) -> np.ndarray:
        """(n,) what the loss compares with y: a prediction, or the probability of the own class."""
        raise NotImplementedError

    def _predictions(self, i: int, X: np.ndarray) -> np.ndarray:
        """(n, K) predictions of a fitted base estimator."""
        raise NotImplementedError

    def _named_bases(self) -> list[tuple[str, Any]]:
        return self._default() if self.estimators is None else list(self.estimators)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of base estimators as `name__parameter`."""
        out = super().get_params(deep)
        for name, base in (self.estimators or ()) if deep and _named(self.estimators) else ():
            out[name] = base
            out.update({f"{name}__{k}": v for k, v in base.get_params().items()})
        return out

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name; a base estimator by its name, its parameters as `name__parameter`."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        known = dict(self.estimators) if _named(self.estimators) else {}
        for key in [key for key in params if key.partition("__")[0] in known]:
            name, _, rest = key.partition("__")
            if rest:
                known[name].set_params(**{rest: params.pop(key)})
            else:
                known[name] = params.pop(key)
                self.estimators = list(known.items())
        return super().set_params(**params)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        bases, seed = self._named_bases(), parallel.seed_sequence(self.random_state)
        for name, base in bases:
            if base_models.kind_of(base) != self._kind:
                raise ParameterError(
                    f"{type(self).__name__} needs {self._kind}s, but {name!r} is {base!r}."
                )
        columns = [self._columns_of(name, problem) for name, _ in bases]
        with unwatched():  # the base estimators are steps of this fit
            picks, losses, weights = self._pick(problem, bases, columns, seed)
            chosen = np.flatnonzero(weights)

            def fit_one(k: int) -> Any:
                base = base_models.seeded(bases[k][1], seed, int(k))
                fitted = base_models.fit(base, problem, columns[k])
                sigmoid = (self.calibration or {}).get(bases[k][0])
                return fitted if sigmoid is None else _calibrated(fitted, sigmoid)

            fitted = parallel.map(fit_one, chosen.tolist())
        found = {
            "estimators_": fitted,
            "estimators_features_": [columns[k] for k in chosen],
            "names_": [bases[k][0] for k in chosen],
            "weights_": weights[chosen],
            "picks_": picks, "losses_": losses,
        }  # fmt: skip
        self._record(found, chosen)
        return found

    def _pick(
        self, problem: Problem, bases: list[tuple[str, Any]], columns: list[np.ndarray],
        seed: np.random.SeedSequence,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
        """Picks, the loss after each, and the weights of all base estimators."""
        M, nothing = len(bases), (np.empty(0, dtype=np.int64), np.empty(0))
        if self.weights is not None:
            return *nothing, self._given_weights(M)
        if problem.n < MIN_ROWS:
            return *nothing, np.full(M, 1 / M)
        fold = _folds(problem, min(self.n_folds, problem.n), seed)
        K = int(fold.max()) + 1
        values = np.zeros((M, problem.n))

        def predict(task: int) -> None:
            m, k = divmod(task, K)
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            base = base_models.seeded(bases[m][1], seed, M + task)
            fitted = base_models.fit(base, problem.take(train), columns[m])
            values[m, test] = self._values(fitted, problem.take(test), columns[m])

        parallel.map(predict, range(M * K))
        y, loss = np.asarray(problem.y), type(self)._loss
        picks, losses = selection.select(values, y, problem.weights, loss, self.max_picks)
        return picks, losses, selection.weights_of(picks, M)

    def _given_weights(self, n_bases: int) -> np.ndarray:
        try:
            given = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape != (n_bases,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise ParameterError(
                f"The 'weights' parameter of {type(self).__name__} must be {n_bases} numbers of at "
                f"least 0, one for each estimator, and not all 0. Got {self.weights!r} instead."
            )
        return given / given.sum()

    def _columns_of(self, name: str, problem: Problem) -> np.ndarray:
        schema = problem.schema
        wanted = (self.columns or {}).get(name)
        if wanted is None:
            return np.arange(schema.n_columns)
        known = {column: j for j, column in enumerate(schema.columns)}
        places = [known.get(one) if isinstance(one, str) else one for one in wanted]
        inside = [type(j) is int and 0 <= j < schema.n_columns for j in places]
        if not places or not all(inside) or len(set(places)) < len(places):
            raise ParameterError(
                f"columns of {name!r} must be columns of X. Got {wanted!r} instead."
            )
        return np.sort(np.array(places, dtype=np.int64))

    def _record(self, found: dict[str, Any], chosen: np.ndarray) -> None:
        """The blend after each pick."""
        picks, losses = found["picks_"], found["losses_"]
        recorder = Recorder(type(self).__name__, len(picks))
        for k in range(1, len(picks) + 1):
            weights = selection.weights_of(picks[:k], int(chosen.max()) + 1)[chosen]
            own = np.flatnonzero(weights)
            state = {
                "estimators_": [found["estimators_"][i] for i in own],
                "estimators_features_": [found["estimators_features_"][i] for i in own],
                "names_": [found["names_"][i] for i in own],
                "weights_": weights[own], "picks_": picks[:k], "losses_": losses[:k],
            }  # fmt: skip
            name = found["names_"][int(np.searchsorted(chosen, picks[k - 1]))]
            event = {"pick": k, "name": name, "loss": float(losses[k - 1])}
            recorder.step(k, state, event, _sentence, objective=float(losses[k - 1]))

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """(n, K) weighted mean of the predictions, added up in the order of the base estimators."""
        found = parallel.map(lambda i: self._predictions(i, X), range(len(self.estimators_)))
        total = np.zeros_like(found[0])
        for weight, own in zip(self.weights_, found):
            total += weight * own
        return total

    def explain(self, X: Any) -> Explanation:
        """Explain each prediction by the weighted sum of the base estimators' contributions.

        Classifiers are explained on the scale of the probability. If a base estimator does not explain
        its predictions by columns, its part is in a column of its own.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            encoded = self._encoded(X)
            two = len(vars(self).get("classes_", ())) == 2
            own = slice(1, None) if two else slice(None)
            base, parts, total = 0.0, 0.0, 0.0  # type: Any, Any, Any
            for i, (weight, model) in enumerate(zip(self.weights_, self.estimators_)):
                prediction = self._predictions(i, encoded)[:, own]
                columns = self.estimators_features_[i]
                start, found = base_models.contributions(
                    model, encoded, self.schema_, columns, prediction
                )
                base, parts = base + weight * start, parts + weight * found
                total = total + weight * prediction
            self._finite((total, parts))
        names = (*self.schema_.columns, base_models.NOT_EXPLAINED)
        d = len(names) if parts[:, -1].any() else len(names) - 1
        classes = tuple(self.classes_.tolist()) if "classes_" in vars(self) else None
        return Explanation(
            base=base, contributions=parts[:, :d], prediction=total, columns=names[:d],
            classes=classes, scale="response" if classes is None else "probability",
            method="weighted sum of the base estimators' contributions",
        )  # fmt: skip

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        weights, n = self.weights_, len(self.estimators_)
        good = isinstance(weights, np.ndarray) and weights.shape == (n,) and n > 0
        if not good or weights.dtype != np.float64 or not (weights > 0).all():
            raise DataError("the weights do not match the base estimators")
        if abs(weights.sum() - 1) > 1e-9 or len(self.names_) != n:
            raise DataError("the weights or names do not match the base estimators")
        if len(self.estimators_features_) != n:
            raise DataError("the base estimators and their columns do not match")
        for base, own in zip(self.estimators_, self.estimators_features_):
            self._check_base(base, own)

    def _check_base(self, base: Any, columns: Any) -> None:
        inside = isinstance(columns, np.ndarray) and columns.ndim == 1 and columns.dtype.kind == "i"
        if not inside or not columns.size or not 0 <= columns.min() <= columns.max() < (
            self.n_features_in_
        ):  # fmt: skip
            raise DataError("the columns of a base estimator do not match the table")
        if not isinstance(base, Estimator) or base._kind != self._kind:
            raise DataError("a classifier blends classifiers, and a regressor regressors")
        if base.schema_.n_columns != len(columns):
            raise DataError("the columns of a base estimator do not match the table")
        if self._kind == "classifier" and not np.isin(base.classes_, self.classes_).all():
            raise DataError("the classes of a base estimator are not classes of the blend")


def _calibrated(base: Any, sigmoid: Any) -> Any:
    found = np.asarray(sigmoid, dtype=np.float64)
    if found.shape != (len(base.classes_) + 1,) or not np.isfinite(found).all() or found[0] < 0:
        raise ParameterError(
            f"calibration of {type(base).__name__} must be a slope of at least 0 and "
            f"{len(base.classes_)} numbers. Got {sigmoid!r} instead."
        )
    base.calibration_ = found
    return base


def _folds(problem: Problem, n_folds: int, seed: np.random.SeedSequence) -> np.ndarray:
    """The fold of each row, stratified by class."""
    codes = problem.y if problem.classes is not None else np.zeros(problem.n, dtype=np.int64)
    return random_folds(codes, n_folds, parallel.stream(seed, "blend folds"))


def _sentence(event: Any, numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    loss = number(event["loss"], 4)
    return f"Pick {event['pick']} is {event['name']}; the out-of-fold loss is {loss}."
