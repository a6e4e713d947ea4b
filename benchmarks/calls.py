"""Functions in a race: `fit` of the contender calls the function and keeps what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.samples import Sample
from benchmarks.workload import Workload


class Call:
    """An estimator whose `fit` calls a function of X and y; its value is `result_`."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def fit(self, X: Any, y: Any = None) -> Call:
        """Call the function."""
        self.result_ = self.function(X, y)
        return self


@dataclass(frozen=True)
class CallWorkload(Workload):
    """A workload whose contenders are functions; `calls` has one of X and y for each of them."""

    calls: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)

    def contender(self, who: str, sample: Sample, **more: Any) -> Call:
        """The function of `who`."""
        return Call(self.calls[who])
