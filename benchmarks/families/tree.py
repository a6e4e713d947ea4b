"""Decision trees, grown to pure leaves and to depth 5."""

from benchmarks.answers import error_rate, unseen_squares
from benchmarks.samples import classification, regression
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
    Workload(
        name="regression tree, depth 8",
        estimator="tree.DecisionTreeRegressor",
        source=regression(100_000, 100),
        answer=unseen_squares(relative=0.01),
        goals={"fit": 8.0, "predict": 1.0},
        params={"max_depth": 8},
    ),
)
