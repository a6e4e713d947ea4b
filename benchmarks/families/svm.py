"""Support vector machines: the same optimum within the tolerance of the solvers."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="SVC rbf 10k x 20",
        estimator="svm.SVC",
        source=classification(10_000, 20),
        answer=error_rate(0.005),
        goals={"fit": 2.0, "predict": 20.0},
    ),
    Workload(
        name="SVC rbf 30k x 20",
        estimator="svm.SVC",
        source=classification(30_000, 20),
        answer=error_rate(0.005),
        goals={"fit": 3.0, "predict": 20.0},
    ),
)
