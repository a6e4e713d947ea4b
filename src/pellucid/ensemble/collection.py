"""An ensemble as a sequence of its fitted base estimators: `len(model)`, `model[0]`, iteration.

Classes take these functions over as their methods, because a further base class would make the way to
`SklearnEstimator` too long.
"""

from collections.abc import Iterator
from typing import Any


def length(model: Any) -> int:
    """Number of fitted base estimators."""
    model._check_fitted()
    return len(model.estimators_)


def item(model: Any, index: Any) -> Any:
    """A fitted base estimator, or a slice of them."""
    model._check_fitted()
    return model.estimators_[index]


def iterate(model: Any) -> Iterator[Any]:
    """The fitted base estimators."""
    model._check_fitted()
    return iter(model.estimators_)


def true(model: Any) -> bool:
    """An estimator is true in a condition, also before it is fitted."""
    return True
