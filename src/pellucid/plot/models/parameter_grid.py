"""The objective of a fitted model as a function of two of its parameters, all others as they are.

The one place that knows what the linear models minimise; `replays` draws from it, too. `loss_grid`
changes two parameters in copies of a model and asks what they predict, so it works for every model;
`Slice` computes the same for a linear model from its scores. Invariant: a fitted model never changes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data.intake import raw_table
from pellucid.errors import DataError, ParameterError, shown
from pellucid.numerics import column_scaling
from pellucid.plot.models.answers import codes_of, kind_of
from pellucid.plot.models.component_displays import term_names

Address = tuple[str, tuple[int, ...]]  # a learned attribute, and where in it


def address(model: Any, which: Any, owner: str) -> Address:
    """A parameter of a model: a term, "intercept", (term, class), or an attribute with an index."""
    if isinstance(which, tuple) and len(which) > 1 and hasattr(model, str(which[0])):
        found = which[0], tuple(int(i) for i in which[1:])
    else:
        found = _linear_address(model, which, owner)
    try:
        float(value_at(getattr(model, found[0]), found[1]))
    except (IndexError, TypeError, ValueError):
        raise ParameterError(f"{owner}: the model has no parameter {shown(which)}.") from None
    return found


def _linear_address(model: Any, which: Any, owner: str) -> Address:
    coef = np.asarray(getattr(model, "coef_", ()), dtype=float)
    if coef.ndim not in (1, 2) or not coef.size:
        raise ParameterError(
            f"{owner} needs a model with coef_, or parameters such as ('coefs_', 0, 2, 1): an attribute "
            f"and the place in it. {type(model).__name__} has no coef_."
        )
    names = term_names(model, coef.shape[-1])
    term, row = which if isinstance(which, tuple) else (which, None)
    several = coef.ndim == 2 and len(coef) > 1
    if several and row is None:
        row = model.classes_[0]
    k = int(codes_of([row], tuple(np.asarray(model.classes_).tolist()))[0]) if several else 0
    if term == "intercept":
        return "intercept_", (k,) * np.ndim(model.intercept_)
    integer = isinstance(term, int | np.integer)
    j = int(term) if integer else names.index(term) if term in names else len(names)
    if k < 0 or not 0 <= j < len(names):
        raise ParameterError(
            f"{owner}: the model has no parameter {shown(which)}. Its terms are "
            f"{', '.join(map(repr, names[:12]))} and 'intercept'."
        )
    return "coef_", (k, j) if coef.ndim == 2 else (j,)


def default_parameters(model: Any, owner: str) -> tuple[Any, Any]:
    """The coefficient and the intercept of one term, or the coefficients of the first two terms."""
    coef = np.asarray(getattr(model, "coef_", ()), dtype=float)
    if not coef.size:
        _linear_address(model, 0, owner)
    return (0, 1) if coef.shape[-1] > 1 else (0, "intercept")


def label_of(model: Any, found: Address) -> str:
    """The name of a parameter in a picture."""
    name, where = found
    if name == "intercept_":
        return "intercept" if not where or len(model.intercept_) == 1 else f"intercept {where[0]}"
    if name == "coef_":
        coef = np.asarray(model.coef_)
        term = term_names(model, coef.shape[-1])[where[-1]]
        several = coef.ndim == 2 and len(coef) > 1
        return f"coefficient of {term}" + (f" ({model.classes_[where[0]]})" if several else "")
    return f"{name}[{']['.join(map(str, where))}]"


def value_at(holder: Any, where: tuple[int, ...]) -> Any:
    for i in where:
        holder = holder[i]
    return holder


def with_value(holder: Any, where: tuple[int, ...], value: float) -> Any:
    """A copy of an array, number or list of arrays with one entry replaced."""
    if not where:
        return type(holder)(value) if isinstance(holder, float | np.floating) else np.float64(value)
    if isinstance(holder, list):
        first = with_value(holder[where[0]], where[1:], value)
        return [first if i == where[0] else part for i, part in enumerate(holder)]
    changed = np.array(holder, dtype=float)
    changed[where] = value
    return changed


def changed(model: Any, addresses: list[Address], values: Any) -> Any:
    """A copy of the model with other values of some parameters."""
    other = copy.copy(model)
    for (name, where), value in zip(addresses, values):
        setattr(other, name, with_value(getattr(other, name), where, value))
    return other


# Objectives ------------------------------------------------------------------------------------


def _saturated(t: np.ndarray) -> np.ndarray:
    """t log(t) - t, so that the deviance of a perfect prediction is 0."""
    return np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0) - t


# Loss of a row by name, of its score z and target t (-1 or 1 for classes).
LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log_loss": lambda z, t: np.logaddexp(0.0, -t * z),
    "hinge": lambda z, t: np.maximum(0.0, 1.0 - t * z),
    "squared_hinge": lambda z, t: np.maximum(0.0, 1.0 - t * z) ** 2,
    "perceptron": lambda z, t: np.maximum(0.0, -t * z),
    "squared_error": lambda z, t: (t - z) ** 2,
    "poisson": lambda z, t: np.exp(np.minimum(z, 700.0)) - t * z + _saturated(t),
}


@dataclass(frozen=True)
class Objective:
    """Mean loss of the rows plus l1 |b|_1 + l2 |b|^2 / 2; `label` names it."""

    loss: str
    label: str
    l1: float = 0.0
    l2: float = 0.0

    def penalty(self, coef: Any) -> np.ndarray:
        """The penalty of each coefficient, in the units in which it is penalised."""
        b = np.asarray(coef, dtype=float)
        return self.l1 * np.abs(b) + self.l2 * b**2 / 2


def objective_of(model: Any, n: int) -> Objective | None:
    """What a fit on n rows of the named linear models minimises, divided so that it is a mean over the
    rows; squared errors are not halved. None if it is not known."""
    name, get = type(model).__name__, model.get_params(deep=False).get
    if get("class_weight") or get("firth"):
        return None
    if name == "LogisticRegression":
        ratio = 1.0 if get("penalty") == "l1" else float(get("l1_ratio") or 0.0)
        weight = 0.0 if get("C") is None or np.isinf(get("C")) else 1 / (get("C") * n)
        return Objective("log_loss", "mean log loss", ratio * weight, (1 - ratio) * weight)
    if name in ("LinearRegression", "Ridge") and np.ndim(get("alpha", 0.0)) == 0:
        return Objective("squared_error", "mean squared error", 0.0, 2 * get("alpha", 0.0) / n)
    if name in ("Lasso", "ElasticNet"):
        ratio, weight = get("l1_ratio", 1.0), 2 * get("alpha")
        return Objective(
            "squared_error", "mean squared error", weight * ratio, weight * (1 - ratio)
        )
    if name == "Perceptron":
        return Objective("perceptron", "mean perceptron loss")
    if name in ("SGDClassifier", "SGDRegressor") and get("loss") in LOSSES:
        ratio = {"l1": 1.0, "l2": 0.0, None: 0.0}.get(get("penalty"), get("l1_ratio"))
        weight = get("alpha") if get("penalty") else 0.0
        weight *= 2 if get("loss") == "squared_error" else 1
        label = f"mean {get('loss').replace('_', ' ')}"
        return Objective(get("loss"), label, ratio * weight, (1 - ratio) * weight)
    if name == "PoissonRegressor":
        return Objective("poisson", "mean deviance / 2", 0.0, get("alpha"))
    return None


def _assumed(model: Any) -> Objective:
    """The loss that is shown for a model whose own objective is not known."""
    if kind_of(model) != "classifier":
        return Objective("squared_error", "mean squared error")
    if hasattr(model, "predict_proba"):
        return Objective("log_loss", "mean log loss")
    return Objective("hinge", "mean hinge loss")


def penalty_units(model: Any, X: np.ndarray) -> np.ndarray:
    """What coefficients are multiplied by before they are penalised; X is encoded."""
    if not model.get_params(deep=False).get("standardize"):
        return np.ones(X.shape[1])
    return column_scaling.units(X, np.ones(len(X)), model.schema_)[1]


def loss_function(model: Any, X: Any, y: np.ndarray) -> tuple[Callable[[Any], float], str]:
    """The mean loss of a model with its penalty, as a function of the model, and its name."""
    objective = (_known(model, len(y)) if hasattr(model, "get_params") else None) or _assumed(model)
    target, rows = _targets(model, y), RowLoss(objective.loss, X)
    units: Any = 1.0
    if (objective.l1 or objective.l2) and isinstance(model, Estimator):
        encoded = model._encoded(raw_table(X, type(model).__name__))
        units = penalty_units(model, encoded) if isinstance(encoded, np.ndarray) else 1.0

    def loss(m: Any) -> float:
        coef = getattr(m, "coef_", 0.0) if objective.l1 or objective.l2 else 0.0
        return rows(m, target) + float(objective.penalty(np.asarray(coef) * units).sum())

    return loss, objective.label


def _known(model: Any, n: int) -> Objective | None:
    found = objective_of(model, n)
    if found is None or found.loss != "log_loss" or hasattr(model, "predict_proba"):
        return found
    return None


def _targets(model: Any, y: np.ndarray) -> np.ndarray:
    """Class codes, or numbers."""
    if kind_of(model) != "classifier":
        return y.astype(float)
    codes = codes_of(y, tuple(np.asarray(model.classes_).tolist()))
    if (codes < 0).any():
        raise DataError("y has a class that the model does not know.")
    return codes


@dataclass(frozen=True)
class RowLoss:
    """The mean of a loss over rows X, from what a model predicts there."""

    loss: str
    X: Any

    def __call__(self, model: Any, target: np.ndarray) -> float:
        if self.loss == "log_loss":
            p = np.asarray(model.predict_proba(self.X), dtype=float)[np.arange(len(target)), target]
            return float(-np.log(np.maximum(p, 1e-300)).mean())
        if kind_of(model) == "classifier":
            scores = np.asarray(model.decision_function(self.X), dtype=float)
            scores = scores[:, None] if scores.ndim == 1 else scores
            own = [1] if scores.shape[1] == 1 else np.arange(scores.shape[1])
            signs = np.where(target[:, None] == own, 1.0, -1.0)
            return float(LOSSES[self.loss](scores, signs).sum(axis=1).mean())
        z = np.ravel(model.predict(self.X))
        if self.loss == "poisson":
            z = np.log(np.maximum(z, 1e-300))
        return float(LOSSES[self.loss](z, target).mean())


@dataclass(frozen=True, eq=False)
class Slice:
    """The objective of a linear model as a function of two parameters, and the path of a fit on them."""

    objective: Objective
    names: tuple[str, ...]
    path: np.ndarray  # (steps, 2)
    rest: np.ndarray  # scores without the two, (n,) or (n, K)
    columns: np.ndarray  # what the two parameters are multiplied by, (n, 2)
    targets: np.ndarray  # -1 or 1, numbers, or class codes of a softmax
    output: int | None  # the class whose coefficients vary, of a softmax
    penalty: float  # of the other coefficients
    units: np.ndarray  # what the two are multiplied by in the penalty; 0 for an intercept

    def values(self, pairs: np.ndarray) -> np.ndarray:
        """The objective at each row of (m, 2) parameters."""
        scores = self.columns @ pairs.T  # (n, m)
        if self.output is None:
            loss = LOSSES[self.objective.loss](
                scores + self.rest[:, None], self.targets[:, None]
            ).mean(axis=0)
        else:
            k = self.output
            others = np.logaddexp.reduce(np.delete(self.rest, k, axis=1), axis=1)
            own = scores + self.rest[:, k, None]
            hit = np.take_along_axis(self.rest, self.targets[:, None], axis=1)
            chosen = np.where(self.targets[:, None] == k, own, hit)
            loss = (np.logaddexp(own, others[:, None]) - chosen).mean(axis=0)
        return loss + self.penalty + self.objective.penalty(pairs * self.units).sum(axis=1)


def loss_grid(
    model: Any, loss: Callable[[Any], float], addresses: list[Address], x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """The loss (len(y), len(x)) where the first parameter is x and the second y."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([[loss(changed(model, addresses, (a, b))) for a in x] for b in y])
