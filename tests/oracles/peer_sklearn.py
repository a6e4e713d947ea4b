"""scikit-learn as an oracle: the estimator that does the same work as one of ours.

Names and parameters are scikit-learn's own, so most of the translation is to leave out what only
we have. A parameter of ours that scikit-learn lacks must stand at its default; anything else would
compare different work, and is an error.

Where equality ends, and why:

- LinearRegression: equal to rounding. Rank-deficient tables: both give the least norm, but the
  rank is decided by different thresholds, so compare predictions there.
- LogisticRegression: one optimum, but lbfgs stops at a gradient of `tol` (1e-4), so its objective
  lies slightly above ours; compare objectives one-sidedly, or coefficients with `tol=1e-12`.
- DecisionTree*: scikit-learn stores float32 features and breaks ties between columns at random;
  we use float64 and take the lowest column. Equal splits need untied, float32-exact data.
- KMeans: draws differ by design. With `init` given as centres and `n_init=1` both walk the same
  path, up to rounding and to how empty clusters are refilled.
- PoissonRegressor: as LogisticRegression.
- PCA: equal to rounding up to the sign of a component.
- BaggingClassifier: draws differ by design; compare accuracy.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

NAME = "scikit-learn"

# Our value of a parameter -> theirs, where the words differ: {class: {parameter: {ours: theirs}}}.
_WORDS: dict[str, dict[str, dict[Any, Any]]] = {
    "DecisionTreeClassifier": {"splitter": {"hist": "best", "auto": "best"}},
    "DecisionTreeRegressor": {"splitter": {"hist": "best", "auto": "best"}},
    "LogisticRegression": {"solver": {"auto": "lbfgs"}},
    "LogisticRegressionCV": {"solver": {"auto": "lbfgs"}},
    "PoissonRegressor": {"solver": {"auto": "lbfgs"}},
}


def twin(estimator: Any) -> Any:
    """The unfitted scikit-learn estimator that does what `estimator` (ours, unfitted) does."""
    family = type(estimator).__module__.split(".")[1]
    name = type(estimator).__name__
    theirs = getattr(importlib.import_module(f"sklearn.{family}"), name)
    known = set(inspect.signature(theirs).parameters)
    defaults = {k: p.default for k, p in inspect.signature(type(estimator)).parameters.items()}
    kept: dict[str, Any] = {}
    for parameter, value in estimator.get_params(deep=False).items():
        if parameter in known:
            kept[parameter] = _translate(name, parameter, value)
        elif not _same(value, defaults[parameter]):
            raise ValueError(f"scikit-learn's {name} has no {parameter!r}, which is {value!r} here")
    return theirs(**kept)


def fitted(estimator: Any, X: Any, y: Any = None, **options: Any) -> Any:
    """The fitted twin."""
    return twin(estimator).fit(X, y, **options)


def _translate(name: str, parameter: str, value: Any) -> Any:
    if hasattr(value, "get_params") and type(value).__module__.startswith("pellucid."):
        return twin(value)
    words = _WORDS.get(name, {}).get(parameter, {})
    return words.get(value, value) if isinstance(value, str) else value


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, str | int | float | bool) and a == b)


def version() -> str:
    """The version that answers."""
    return str(importlib.import_module("sklearn").__version__)
