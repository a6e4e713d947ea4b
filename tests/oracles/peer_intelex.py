"""scikit-learn-intelex as a rival: Intel's versions of scikit-learn's classes, by the same names.

Where equality ends, and why: as with scikit-learn. What it cannot compute itself (sparse tables,
some parameters) it passes on to scikit-learn, so that its time is scikit-learn's then.
"""

from __future__ import annotations

import importlib
from typing import Any

from tests.oracles import peer_sklearn

NAME = "scikit-learn-intelex"


def twin(estimator: Any) -> Any:
    """The unfitted estimator of intelex that does what `estimator` (ours, unfitted) does."""
    theirs = peer_sklearn.twin(estimator)
    family, name = type(estimator).__module__.split(".")[1], type(estimator).__name__
    kind = getattr(importlib.import_module(f"sklearnex.{family}"), name, None)
    if kind is None:
        raise ValueError(f"scikit-learn-intelex has no {name}")
    return kind(**theirs.get_params(deep=False))


def version() -> str:
    """The version that answers."""
    importlib.import_module("sklearnex")
    return importlib.import_module("importlib.metadata").version("scikit-learn-intelex")
