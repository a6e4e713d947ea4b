"""The bootstrap, beside SciPy's: scikit-learn has none."""

from typing import Any

import numpy as np

from benchmarks.answers import Answer
from benchmarks.calls import CallWorkload
from benchmarks.samples import Sample, regression
from benchmarks.workload import OURS

_RESAMPLES = 2000


def _ours(X: Any, y: Any) -> float:
    from pellucid.inspection import bootstrap

    found = bootstrap(None, y, statistic=np.mean, n_resamples=_RESAMPLES, random_state=0)
    return float(found.std_error)


def _scipy(X: Any, y: Any) -> float:
    from scipy.stats import bootstrap

    found = bootstrap(
        (y,), np.mean, vectorized=False, n_resamples=_RESAMPLES, method="percentile", rng=0
    )
    return float(found.standard_error)


def _distance(model: Any, sample: Sample) -> float:
    assert sample.y is not None
    exact = sample.y.std() / len(sample.y) ** 0.5
    return abs(float(model.result_) / exact - 1)


WORKLOADS = (
    CallWorkload(
        name="bootstrap of a mean",
        estimator="inspection.bootstrap",
        source=regression(10_000, 10),
        # 2,000 resamples have a relative error of 1.6 %.
        answer=Answer("relative error of the standard error", _distance, absolute=0.06),
        goals={"fit": 1.0},
        peers=("SciPy",),
        calls={OURS: _ours, "SciPy": _scipy},
    ),
)
