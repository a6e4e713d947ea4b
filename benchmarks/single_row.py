"""One row at a time, as a service asks: a compiled predictor beside the peer's `predict`.

The goal is seconds a row; both sides must name the same class.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

from benchmarks.race import Row, alternate
from benchmarks.samples import classification
from benchmarks.workload import OURS

GOAL = 20e-6
MODELS = ("linear_model.LogisticRegression", "tree.DecisionTreeClassifier")


def race(name: str, repeat: int) -> Row:
    """Our compiled model and scikit-learn's model alternately, on one row."""
    row = Row(f"single_row/{name}", "1 x 10", "predict", "scikit-learn", answer="label")
    try:
        ours, theirs = (_fitted(package, name) for package in ("pellucid", "sklearn"))
    except ImportError as reason:
        return replace(row, status=f"not available: {reason}")
    import pellucid

    one, table = pellucid.compile(ours), _sample().X[:1]
    cells = table[0].tolist()
    if one.predict(cells) != theirs.predict(table)[0]:
        return replace(row, status=f"mismatch: {one.predict(cells)}, {theirs.predict(table)[0]}")
    jobs = {OURS: lambda: one.predict(cells), "peer": lambda: theirs.predict(table)}
    best = alternate(jobs, repeat)
    return replace(row, ours_seconds=best[OURS], peer_seconds=best["peer"], goal_seconds=GOAL)


def _sample() -> Any:
    return classification(500, 10, 3).sample(500)


def _fitted(package: str, name: str) -> Any:
    family, _, model = name.partition(".")
    sample = _sample()
    return getattr(import_module(f"{package}.{family}"), model)().fit(sample.X, sample.y)
