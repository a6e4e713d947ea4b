"""Small classes that stand for Pellucid's own in the tests of model files.

`registered` puts them on the lists of `names.py`, as if they were the module `pellucid.toys`.
"""

import contextlib
import dataclasses
import sys
from typing import Any
from unittest import mock

from pellucid import names
from pellucid.errors import ModelFileError


class Toy:
    """An estimator with parameters of any type."""

    def __init__(self, alpha=1.0, options=None, *, child=None):
        self.alpha = alpha
        self.options = options
        self.child = child

    def get_params(self, deep=True):
        return {"alpha": self.alpha, "options": self.options, "child": self.child}

    def _check_state(self):
        if getattr(self, "width_", 0) != len(getattr(self, "values_", ())):
            raise ModelFileError("its Toy has values_ of another width than it says")


@dataclasses.dataclass(frozen=True)
class Pair:
    """A record that checks itself."""

    left: Any
    right: Any = None
    count: int = 0

    def __post_init__(self):
        if self.count < 0:
            raise ValueError("count must not be negative")


class Options:
    """A record that is no dataclass."""

    def __init__(self, mode="fast"):
        self.mode = mode

    def get_params(self, deep=True):
        return {"mode": self.mode}


class Unlisted(Toy):
    """Not on any list."""

    def fit(self, X):
        return self


PARTS = {"Pair": "pellucid.toys.Pair", "Options": "pellucid.toys.Options"}


@contextlib.contextmanager
def registered():
    """Within this context Toy, Pair and Options belong to Pellucid."""
    with (
        mock.patch.dict(names.ESTIMATORS, {"pellucid.toys": ("Toy",)}),
        mock.patch.dict(names.PARTS, PARTS),
        mock.patch.dict(sys.modules, {"pellucid.toys": sys.modules[__name__]}),
    ):
        yield
