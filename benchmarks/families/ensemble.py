"""Bagged, random and boosted trees."""

from benchmarks.answers import error_rate, unseen_log_loss, unseen_squares
from benchmarks.samples import classification, regression
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
    Workload(
        name="forest, 100 trees",
        estimator="ensemble.RandomForestClassifier",
        source=classification(100_000, 20, 3),
        answer=error_rate(absolute=0.01),
        goals={"fit": 7.0, "predict": 3.0},
        params={"n_estimators": 100, "random_state": 0, "n_jobs": 2},
    ),
    Workload(
        name="forest, 100 trees, small table",
        estimator="ensemble.RandomForestClassifier",
        source=classification(500, 10, 3),
        answer=error_rate(absolute=0.05),
        goals={"fit": 6.0, "predict": 1.0},
        params={"n_estimators": 100, "random_state": 0},
    ),
    Workload(
        name="extra trees, 100 trees",
        estimator="ensemble.ExtraTreesClassifier",
        source=classification(100_000, 20, 3),
        answer=error_rate(absolute=0.01),
        goals={"fit": 1.0, "predict": 1.0},
        params={"n_estimators": 100, "random_state": 0, "n_jobs": 2},
    ),
    Workload(
        name="AdaBoost, 50 stumps",
        estimator="ensemble.AdaBoostClassifier",
        source=classification(100_000, 20),
        answer=error_rate(absolute=0.005),
        goals={"fit": 20.0, "predict": 1.0},
        params={"n_estimators": 50, "random_state": 0},
    ),
    Workload(
        name="boosting, 100 rounds",
        estimator="ensemble.HistGradientBoostingClassifier",
        source=classification(100_000, 20, 3),
        answer=unseen_log_loss(relative=0.02),
        goals={"fit": 1.0, "predict": 1.0},
        params={"max_iter": 100, "early_stopping": False},
        peers=("scikit-learn", "LightGBM", "XGBoost"),
    ),
    Workload(
        name="boosting, 100 rounds, small table",
        estimator="ensemble.HistGradientBoostingClassifier",
        source=classification(500, 10, 3),
        answer=error_rate(absolute=0.05),
        goals={"fit": 1.0, "predict": 1.0},
        params={"max_iter": 100, "early_stopping": False},
        peers=("scikit-learn", "LightGBM", "XGBoost"),
    ),
    Workload(
        name="AdaBoost.R2, 50 trees of depth 3",
        estimator="ensemble.AdaBoostRegressor",
        source=regression(20_000, 20),
        # The peer draws its rows by weight, ours gives the weights to the trees.
        answer=unseen_squares(relative=0.1),
        goals={"fit": 8.0, "predict": 1.0},
        params={"n_estimators": 50, "random_state": 0},
    ),
)
