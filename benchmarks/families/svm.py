"""Support vector machines: the same optimum within the tolerance of the solvers."""

from benchmarks.answers import error_rate, region, unseen_squares
from benchmarks.samples import classification, regression
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
    Workload(
        name="LinearSVC 100k x 50",
        estimator="svm.LinearSVC",
        source=classification(100_000, 50),
        answer=error_rate(0.002),
        goals={"fit": 3.0},
    ),
    Workload(
        name="SVR rbf 5k x 20",
        estimator="svm.SVR",
        source=regression(5_000, 20),
        answer=unseen_squares(relative=1e-3),
        goals={"fit": 2.0, "predict": 10.0},
    ),
    Workload(
        name="OneClassSVM rbf 20k x 20",
        estimator="svm.OneClassSVM",
        source=classification(20_000, 20, supervised=False),
        answer=region(relative=1e-3),
        goals={"fit": 2.0, "predict": 10.0},
        params={"nu": 0.1},
    ),
)
