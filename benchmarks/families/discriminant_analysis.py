"""Discriminant analysis: products of the columns, class by class."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

_SAME = error_rate(absolute=1e-4)

WORKLOADS = (
    Workload(
        name="linear",
        estimator="discriminant_analysis.LinearDiscriminantAnalysis",
        source=classification(100_000, 50, classes=5),
        answer=_SAME,
        goals={"fit": 5.0, "predict": 1.0},
    ),
    Workload(
        name="quadratic",
        estimator="discriminant_analysis.QuadraticDiscriminantAnalysis",
        source=classification(100_000, 50, classes=5),
        answer=_SAME,
        goals={"fit": 4.0, "predict": 8.0},
    ),
)
