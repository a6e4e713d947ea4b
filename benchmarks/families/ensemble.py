"""Bagged trees."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="bagging, 30 trees",
        estimator="ensemble.BaggingClassifier",
        source=classification(20_000, 20),
        # The bootstrap draws differ by design.
        answer=error_rate(absolute=0.01),
        goals={"fit": 10.0, "predict": 1.0},
        params={"n_estimators": 30, "random_state": 0},
    ),
)
