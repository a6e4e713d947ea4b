"""Cross-validation: the same model in the same folds, so the scores are equal."""

from typing import Any

import numpy as np

from benchmarks.answers import Answer
from benchmarks.calls import CallWorkload
from benchmarks.samples import regression
from benchmarks.workload import OURS


def _ours(X: Any, y: Any) -> float:
    from pellucid.linear_model import Ridge
    from pellucid.model_selection import KFold, cross_val_score

    return float(np.mean(cross_val_score(Ridge(), X, y, cv=KFold(5), scoring="r2")))


def _sklearn(X: Any, y: Any) -> float:
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_score

    return float(np.mean(cross_val_score(Ridge(), X, y, cv=KFold(5), scoring="r2")))


WORKLOADS = (
    CallWorkload(
        name="ridge, 5 folds",
        estimator="model_selection.cross_val_score",
        source=regression(20_000, 50),
        answer=Answer(
            "1 - R2 in cross-validation", lambda model, sample: 1 - model.result_, relative=1e-8
        ),
        goals={"fit": 1.0},
        calls={OURS: _ours, "scikit-learn": _sklearn},
    ),
)
