"""Decision trees, grown to pure leaves and to depth 5."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

# Ties between columns are broken differently, so single trees differ by about a percent.
_SAME = error_rate(absolute=0.01)

WORKLOADS = (
    Workload(
        name="tree, full",
        estimator="tree.DecisionTreeClassifier",
        source=classification(100_000, 20, classes=3),
        answer=_SAME,
        goals={"fit": 8.0, "predict": 1.0},
    ),
    Workload(
        name="tree, depth 5",
        estimator="tree.DecisionTreeClassifier",
        source=classification(100_000, 20, classes=3),
        answer=_SAME,
        goals={"fit": 8.0, "predict": 1.0},
        params={"max_depth": 5},
    ),
)
