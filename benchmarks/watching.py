"""What watching costs: each fit alone and inside `pellucid.watching()`, alternately in one process.

CPU time, best of k. A fit that nobody watches still passes the hooks of `records/watch.py`; their calls
are counted, and the share is that number times the time of the slowest hook, divided by the fit's time.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.samples import classification

N, N_COLUMNS = 1000, 10
MODELS: dict[str, dict[str, Any]] = {
    "linear_model.LogisticRegression": {"solver": "gd", "max_iter": 2000, "tol": 0},
    "linear_model.SGDClassifier": {"random_state": 0},
    "linear_model.Perceptron": {"random_state": 0},
    "linear_model.Lasso": {"alpha": 0.01},
    "tree.DecisionTreeClassifier": {},
    "ensemble.RandomForestClassifier": {"n_estimators": 100, "random_state": 0},
    "ensemble.GradientBoostingClassifier": {},
    "ensemble.AdaBoostClassifier": {},
    "svm.SVC": {},
    "neural_network.MLPClassifier": {"random_state": 0, "max_iter": 50},
    "cluster.KMeans": {"random_state": 0},
    "mixture.GaussianMixture": {"n_components": 3, "random_state": 0},
}


@dataclass(frozen=True)
class Cost:
    """Seconds of a fit alone and watched, its recorded steps, and the hooks that it passes."""

    name: str
    alone: float
    watched: float
    steps: int
    hooks: int
    hook_seconds: float

    @property
    def share(self) -> float:
        """Share of an unwatched fit that its hooks take."""
        return self.hooks * self.hook_seconds / self.alone


def measured(name: str, repeat: int) -> Cost:
    """The cost of watching one model."""
    import pellucid

    family, _, kind = name.partition(".")
    model = getattr(import_module(f"pellucid.{family}"), kind)(**MODELS[name])
    sample = classification(N, N_COLUMNS, 2).sample(N)
    data = (
        (sample.X, sample.y) if hasattr(model, "predict") and family != "mixture" else (sample.X,)
    )
    steps = 0

    def watched() -> None:
        nonlocal steps
        with pellucid.watching() as watch:
            model.fit(*data)
        steps = len(watch.steps)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*data)
        best = [float("inf")] * 2
        for _ in range(repeat):
            for k, job in enumerate((lambda: model.fit(*data), watched)):
                best[k] = min(best[k], seconds(job))
        hooks = hook_calls(lambda: model.fit(*data))
    return Cost(name, best[0], best[1], steps, hooks, slowest_hook())


def seconds(job: Callable[[], Any]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    job()
    return time.process_time() - start


def hook_calls(job: Callable[[], Any]) -> int:
    """How many functions of `records/watch.py` a call enters."""
    from pellucid.records import watch

    count, where = 0, watch.__file__

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename == where

    sys.setprofile(note)
    try:
        job()
    finally:
        sys.setprofile(None)
    return count


def slowest_hook(calls: int = 20_000) -> float:
    """Seconds of the slowest hook while nobody watches."""
    from pellucid.records.watch import converting, fitting, is_watched, unwatched

    owner = object()
    hooks: list[Callable[[], Any]] = [
        is_watched, unwatched, lambda: converting(dict), lambda: fitting(owner),
    ]  # fmt: skip
    return max(_each(hook, calls) for hook in hooks)


def _each(hook: Callable[[], Any], calls: int) -> float:
    return min(seconds(lambda: [hook() for _ in range(calls)]) for _ in range(3)) / calls


def table(repeat: int) -> str:
    """All models as a table."""
    head = f"{'fit of 1000 x 10':<36} alone ms  watched ms  ratio  steps  us a step  hooks  share"
    lines = [head]
    for name in MODELS:
        c = measured(name, repeat)
        each = 1e6 * (c.watched - c.alone) / max(c.steps, 1)
        lines.append(
            f"{name:<36} {1e3 * c.alone:8.1f}  {1e3 * c.watched:10.1f}  {c.watched / c.alone:5.2f}  "
            f"{c.steps:5d}  {each:9.0f}  {c.hooks:5d}  {100 * c.share:.3f} %"
        )
    return "\n".join(lines)
