"""Decision trees: full and shallow, exact and binned, squared and absolute errors, several targets."""

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
        name="tree, histograms, depth 5",
        estimator="tree.DecisionTreeClassifier",
        source=classification(100_000, 20, classes=3),
        answer=_SAME,
        goals={"fit": 8.0, "predict": 1.0},
        params={"max_depth": 5, "splitter": "hist"},
    ),
    Workload(
        name="regression tree, depth 8",
        estimator="tree.DecisionTreeRegressor",
        source=regression(100_000, 100),
        answer=unseen_squares(relative=0.01),
        goals={"fit": 8.0, "predict": 1.0},
        params={"max_depth": 8},
    ),
    Workload(
        name="absolute errors, depth 6",
        estimator="tree.DecisionTreeRegressor",
        source=regression(20_000, 10),
        answer=unseen_squares(relative=0.02),
        goals={"fit": 3.0, "predict": 1.0},
        params={"max_depth": 6, "criterion": "absolute_error"},
    ),
    Workload(
        name="regression tree, 5 targets",
        estimator="tree.DecisionTreeRegressor",
        source=regression(20_000, 20, targets=5),
        answer=unseen_squares(relative=0.01),
        goals={"fit": 3.0, "predict": 1.0},
        params={"min_samples_leaf": 10},
    ),
)
