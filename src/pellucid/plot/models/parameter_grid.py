"""The loss of a fitted model as a function of two of its parameters, all others as they are.

Invariant: the loss is computed from what a copy of the model predicts after its two parameters were
changed, so it is that of the real model; the fitted model itself never changes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, shown
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


def loss_function(model: Any, X: Any, y: np.ndarray) -> tuple[Callable[[Any], float], str]:
    """The mean loss of a model with its penalty, as a function of the model, and its name."""
    n = len(y)
    if kind_of(model) == "classifier":
        classes = tuple(np.asarray(model.classes_).tolist())
        codes = codes_of(y, classes)
        if (codes < 0).any():
            raise DataError("y has a class that the model does not know.")
        if hasattr(model, "predict_proba"):
            return lambda m: _log_loss(m, X, codes) + _penalty(m, n), "mean log loss"
        edge = 0.0 if type(model).__name__ == "Perceptron" else 1.0
        return lambda m: _hinge(m, X, codes, edge), "mean hinge loss"
    target = y.astype(float)
    if type(model).__name__ == "PoissonRegressor":
        return lambda m: _poisson(m, X, target) + _penalty(m, n), "mean Poisson loss"
    return lambda m: _squares(m, X, target) + _penalty(m, n), "mean squared error"


def _log_loss(model: Any, X: Any, codes: np.ndarray) -> float:
    p = np.asarray(model.predict_proba(X), dtype=float)[np.arange(len(codes)), codes]
    return float(-np.log(np.maximum(p, 1e-300)).mean())


def _hinge(model: Any, X: Any, codes: np.ndarray, edge: float) -> float:
    scores = np.asarray(model.decision_function(X), dtype=float)
    if scores.ndim == 1:
        return float(np.maximum(0.0, edge - np.where(codes == 1, scores, -scores)).mean())
    own = np.where(np.arange(scores.shape[1]) == codes[:, None], scores, -scores)
    return float(np.maximum(0.0, edge - own).sum(axis=1).mean())


def _squares(model: Any, X: Any, target: np.ndarray) -> float:
    return float(np.square(target - np.ravel(model.predict(X))).mean())


def _poisson(model: Any, X: Any, target: np.ndarray) -> float:
    mean = np.maximum(np.ravel(model.predict(X)), 1e-300)
    return float((mean - target * np.log(mean)).mean())


def _penalty(model: Any, n: int) -> float:
    """The penalty of the named linear models divided by the number of rows; 0 for all others."""
    name, w = type(model).__name__, np.asarray(getattr(model, "coef_", 0.0), dtype=float)
    squares, lengths = float(np.square(w).sum()), float(np.abs(w).sum())
    if name == "LogisticRegression" and model.C is not None:
        share = _l1_share(model)
        return (share * lengths + (1 - share) * squares / 2) / (model.C * n)
    if name == "Ridge":
        return float(model.alpha) * squares / n
    if name in ("Lasso", "ElasticNet"):
        share = getattr(model, "l1_ratio", 1.0)
        return 2 * model.alpha * (share * lengths + (1 - share) * squares / 2)
    return model.alpha * squares / 2 if name == "PoissonRegressor" else 0.0


def _l1_share(model: Any) -> float:
    if getattr(model, "penalty", "l2") == "l1":
        return 1.0
    return float(getattr(model, "l1_ratio", None) or 0.0)


def loss_grid(
    model: Any,
    loss: Callable[[Any], float],
    addresses: list[Address],
    x: np.ndarray,
    y: np.ndarray,
) -> np.ndarray:
    """The loss (len(y), len(x)) where the first parameter is x and the second y."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([[loss(changed(model, addresses, (a, b))) for a in x] for b in y])
