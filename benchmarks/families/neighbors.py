"""Nearest neighbours: the same rows are found, so the answers are equal but for ties."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="kNN 50k x 10, k=5",
        estimator="neighbors.KNeighborsClassifier",
        source=classification(50_000, 10),
        answer=error_rate(0.001),
        goals={"fit": 1.0, "predict": 8.0},
    ),
    Workload(
        name="kNN 20k x 100, k=5",
        estimator="neighbors.KNeighborsClassifier",
        source=classification(20_000, 100),
        answer=error_rate(0.001),
        goals={"fit": 1.0, "predict": 2.0},
    ),
)
