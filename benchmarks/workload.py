"""What is raced: data, estimator, peers, how answers are compared, and the ratio to reach.

A family of models is one file in `families/` with a tuple `WORKLOADS`. Entries name classes, they
never import them: a class that does not exist yet makes its rows "not available", not an error.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import families
from benchmarks.answers import Answer
from benchmarks.samples import Sample, Source

# Peer -> module with `twin(estimator)` and `version()`, shared with the tests.
ADAPTERS = {
    "scikit-learn": "tests.oracles.peer_sklearn",
    "statsmodels": "tests.oracles.peer_statsmodels",
    "LightGBM": "tests.oracles.peer_lightgbm",
    "XGBoost": "tests.oracles.peer_xgboost",
    "celer": "tests.oracles.peer_celer",
    "scikit-learn-intelex": "tests.oracles.peer_intelex",
}
OURS = "pellucid"


class NotAvailable(Exception):
    """A class or a peer does not exist here; the text says which."""


@dataclass(frozen=True)
class Workload:
    """One line of a family's list.

    `estimator` is `"family.Class"`. `params` are ours; the adapters translate them; a function is
    called with the sample and gives them. `goals` names the timed actions (`fit` and methods that
    take X) and the ratio peer/ours that each must reach, None for a row that is only shown.
    `in_memory` are parameters for the measurement of memory alone: fewer steps over the same arrays.
    `peer_pipeline` puts a peer's estimator behind the steps that this table needs there; `asked` is
    the part of the sample that the other actions are timed on.
    """

    name: str
    estimator: str
    source: Source
    answer: Answer
    goals: Mapping[str, float | None]
    params: Mapping[str, Any] | Callable[[Sample], Mapping[str, Any]] = field(default_factory=dict)
    peers: Sequence[str] = ("scikit-learn",)
    in_memory: Mapping[str, Any] = field(default_factory=dict)
    peer_pipeline: Callable[[Any], Any] | None = None
    asked: str = "X"

    @property
    def key(self) -> str:
        """`family/name`: unique over all families."""
        return f"{self.estimator.split('.')[0]}/{self.name}"

    def our_class(self) -> Any:
        """Our class, if it exists."""
        family, name = self.estimator.split(".")
        module = f"pellucid.{family}"
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise  # the module exists, and is broken
        except AttributeError:
            pass
        raise NotAvailable(f"pellucid.{self.estimator}")

    def ours(self, sample: Sample, **more: Any) -> Any:
        """Our estimator, unfitted."""
        params = self.params(sample) if callable(self.params) else self.params
        return self.our_class()(**{**params, **more})

    def contender(self, who: str, sample: Sample, **more: Any) -> Any:
        """The unfitted estimator of `who`: ours, or a peer's twin of it."""
        ours = self.ours(sample, **more)
        if who == OURS:
            return ours
        adapter = importlib.import_module(ADAPTERS[who])
        try:
            adapter.version()
        except ImportError:
            raise NotAvailable(who) from None
        twin = adapter.twin(ours)
        return twin if self.peer_pipeline is None else self.peer_pipeline(twin)


def fit(estimator: Any, sample: Sample) -> Any:
    """Fit on a sample; a sample without y is for unsupervised models."""
    if sample.y is None:
        return estimator.fit(sample.X)
    return estimator.fit(sample.X, sample.y)


def all_families() -> list[str]:
    """Names of the files in `families/`."""
    return sorted(module.name for module in pkgutil.iter_modules(families.__path__))


def workloads(family: str) -> tuple[Workload, ...]:
    """The entries of one family."""
    found: tuple[Workload, ...] = importlib.import_module(f"benchmarks.families.{family}").WORKLOADS
    return found


def find(key: str) -> Workload:
    """The entry with that key."""
    family = key.split("/")[0]
    return next(workload for workload in workloads(family) if workload.key == key)
