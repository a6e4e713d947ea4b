"""celer as a rival: lasso and elastic net by a working set of columns.

Where equality ends, and why: one optimum, but its `tol` bounds the duality gap relative to the
squared norm of y, and its elastic net wants `l1_ratio` above 0.
"""

from __future__ import annotations

import importlib
from typing import Any

NAME = "celer"
_SHARED = ("alpha", "l1_ratio", "fit_intercept", "max_iter", "tol", "eps", "n_alphas", "cv")


def twin(estimator: Any) -> Any:
    """celer's unfitted estimator that does what `estimator` (ours, unfitted) does."""
    name = type(estimator).__name__
    kind = getattr(importlib.import_module("celer"), name, None)
    if kind is None:
        raise ValueError(f"celer has no {name}")
    ours = estimator.get_params(deep=False)
    known = kind().get_params()
    return kind(**{key: ours[key] for key in _SHARED if key in ours and key in known})


def version() -> str:
    """The version that answers."""
    return str(importlib.import_module("celer").__version__)
