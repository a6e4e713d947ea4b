"""`python -m benchmarks coverage [--tables a,b] [--seeds K]`: do 90 % intervals and sets cover 90 %?

A comparison of a few cheap models on half of a table; the intervals or sets of the model that it
recommends are counted on the other half, which it has not seen, for K ways to split. Sets are shown
three times: never empty (the default), adaptive, and with empty sets, which alone can reach the
level where the most probable class is right more often. `plain` is the recommended model without
those of its folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import reference_tables

LEVEL = 0.9
DEFAULT = (
    "isl_carseats", "boston", "concrete", "airfoil", "abalone",
    "german_credit", "vehicle", "car_evaluation", "pima_diabetes", "wine_quality",
)  # fmt: skip
MODELS = {True: ("ridge", "extra_trees"), False: ("logistic", "extra_trees")}


def measured(path: Path, target: str, drop: tuple[str, ...], seed: int) -> dict[str, float]:
    """Share of the unseen half that is covered, and the mean size, by kind of interval or set."""
    import pandas as pd

    import pellucid

    frame = pd.read_csv(path).drop(columns=list(drop)).dropna(subset=[target])
    order = np.random.default_rng(seed).permutation(len(frame))
    half = frame.iloc[order[: len(frame) // 2]], frame.iloc[order[len(frame) // 2 :]]
    numeric = frame[target].dtype.kind == "f" or frame[target].nunique() > 12
    result = pellucid.compare(
        half[0], target, task="regression" if numeric else "classification", effort="quick",
        models=MODELS[numeric], test_size=0, seed=seed, jobs=1, intervals="cv+",
    )  # fmt: skip
    model, new = result.best_, half[1]
    X, y = new[list(model.feature_names_in_)], new[target].to_numpy()
    asks: dict[str, Any] = {"cv+": {}}
    if not numeric:
        asks |= {"adaptive": {"kind": "adaptive"}, "with empty": {"allow_empty": True}}
    out = {}
    for name, options in (*asks.items(), ("plain", {})):
        if name == "plain":
            model.fold_models_ = []
        if numeric:
            ends = model.predict_interval(X, LEVEL)
            inside, size = (ends[:, 0] <= y) & (y <= ends[:, 1]), np.ptp(ends, axis=1) / y.std()
        else:
            sets = model.predict_set(X, LEVEL, **options)
            inside, size = (sets & (model.classes_ == y[:, None])).any(axis=1), sets.sum(axis=1)
        out[name] = float(inside.mean())
        out[f"{name} size"] = float(size.mean())
    if not numeric:
        out["accuracy"] = float((model.predict(X) == y).mean())
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each table; 0 also without the folder, which is said."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage")
    parser.add_argument("--tables", default=",".join(DEFAULT))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    for name, path, target, drop in reference_tables(options.tables):
        found = [measured(path, target, drop, seed) for seed in range(options.seeds)]
        means = {key: np.mean([one[key] for one in found]) for key in found[0]}
        shown = [f"{key} {100 * v:.1f} %" for key, v in means.items() if "size" not in key]
        sizes = [f"{key[:-5]} {v:.2f}" for key, v in means.items() if "size" in key]
        print(f"{name:<16}{', '.join(shown)}; mean size {', '.join(sizes)}", flush=True)
    return 0
