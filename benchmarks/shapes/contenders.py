"""The models of the grid: their task, parameters, rivals, the largest tables that end in time.

Answers are compared on unseen rows. Models with one optimum may differ by the tolerance of a solver,
those with random draws by what the draws of as many unseen rows explain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import answers
from benchmarks.answers import Answer
from benchmarks.shapes.grid import Shape
from benchmarks.workload import Workload

_RANDOM = {"random_state": 0}


@dataclass(frozen=True)
class Contender:
    """A model of one task; `least`, `rows`, `columns`, `classes` bound the tables that are raced."""

    estimator: str
    task: str
    params: Mapping[str, Any] = field(default_factory=dict)
    least: int = 0
    rows: int = 2_000_000
    columns: int = 20_000
    classes: int = 300
    kinds: tuple[str, ...] = ("dense",)
    rivals: tuple[str, ...] = ()
    draws: bool = False  # the answer depends on random draws, ties or an early stop
    action: str = "predict"
    unseen: bool = False  # predict the unseen fifth alone: the work is rows x rows

    def takes(self, shape: Shape) -> bool:
        """Whether this model is raced on that shape."""
        return (
            self.task in shape.sources
            and shape.kind in self.kinds
            and self.least <= shape.n <= self.rows
            and (shape.encoded <= self.columns or shape.kind == "sparse")
            and shape.classes <= self.classes
        )

    def workload(self, shape: Shape, n: int) -> Workload:
        """The race of this model on that shape with n rows."""
        return Workload(
            name=f"{self.estimator.split('.')[1]} on {shape.name}",
            estimator=self.estimator,
            source=shape.sources[self.task],
            answer=self._answer(shape, n),
            goals={"fit": 1.0, **({self.action: 1.0} if self.action else {})},
            params=self.params,
            peers=("scikit-learn", *self.rivals),
            peer_pipeline=None if self._native(shape) else shape.pipeline,
            asked="X_test" if self.unseen else "X",
        )

    def _native(self, shape: Shape) -> bool:
        """Whether scikit-learn's class takes the table as it is."""
        trees = ("Tree", "Forest", "HistGradient")
        return shape.kind == "missing" and any(word in self.estimator for word in trees)

    def _answer(self, shape: Shape, n: int) -> Answer:
        unseen = max(200, n // 5)
        if self.task == "groups":
            return _GROUPS[self.estimator.split(".")[1]]
        if self.task == "counts":
            return answers.poisson_deviance(relative=1e-4)
        if self.task == "numbers":
            noise = 3.0 / math.sqrt(min(n, unseen)) if self.draws else 0.01
            return answers.unseen_squares(relative=noise)
        early = max(0.01, 0.5 / math.sqrt(unseen))  # of peers that stop before the optimum
        return answers.error_rate(absolute=1.5 / math.sqrt(unseen) if self.draws else early)


_GROUPS = {
    "KMeans": answers.inertia(relative=0.05),
    "PCA": answers.lost_variance(relative=1e-6),
    "GaussianMixture": answers.negative_log_likelihood(relative=0.05),
    "OneClassSVM": answers.region(relative=1e-3),
}
_ALL = ("dense", "sparse", "missing", "levels")
_TABLES = ("dense", "missing", "levels")
_NUMBERS = ("dense", "missing")
_BOTH = ("dense", "sparse")
_LINEAR = (*_ALL, "targets")
_INTEL = ("scikit-learn-intelex",)
_BOOSTED = {"max_iter": 50, "early_stopping": False}
_TREES = {"n_estimators": 30, **_RANDOM}

CONTENDERS = (
    Contender("linear_model.LogisticRegression", "classes", kinds=_ALL, rivals=_INTEL),
    Contender("linear_model.RidgeClassifier", "classes", kinds=_ALL),
    Contender("linear_model.Perceptron", "classes", _RANDOM, kinds=_ALL, draws=True),
    Contender("linear_model.SGDClassifier", "classes", _RANDOM, kinds=_ALL, draws=True),
    Contender("svm.LinearSVC", "classes", _RANDOM, rows=100_000, classes=50, kinds=_ALL, draws=True),
    Contender(
        "svm.SVC", "classes", rows=10_000, kinds=("dense",), rivals=_INTEL, unseen=True
    ),
    Contender(
        "neighbors.KNeighborsClassifier", "classes", rows=500_000, kinds=_BOTH, rivals=_INTEL,
        unseen=True,
    ),
    Contender("naive_bayes.GaussianNB", "classes"),
    Contender("naive_bayes.BernoulliNB", "classes"),
    Contender("naive_bayes.BernoulliNB", "words", kinds=("sparse",), columns=30_000),
    Contender("naive_bayes.MultinomialNB", "words", kinds=("sparse",), columns=30_000),
    Contender("naive_bayes.ComplementNB", "words", kinds=("sparse",), columns=30_000),
    Contender(
        "discriminant_analysis.LinearDiscriminantAnalysis", "classes", kinds=_NUMBERS, columns=3_000
    ),
    Contender("discriminant_analysis.QuadraticDiscriminantAnalysis", "classes", columns=100),
    Contender(
        "tree.DecisionTreeClassifier", "classes", _RANDOM, rows=100_000, kinds=_NUMBERS, draws=True
    ),
    Contender(
        "ensemble.RandomForestClassifier", "classes", _TREES, rows=100_000, kinds=_NUMBERS,
        draws=True, rivals=_INTEL,
    ),
    Contender(
        "ensemble.ExtraTreesClassifier", "classes", _TREES, rows=100_000, kinds=_NUMBERS,
        draws=True, rivals=_INTEL,
    ),
    Contender(
        "ensemble.BaggingClassifier", "classes", {"n_estimators": 5, **_RANDOM}, rows=20_000,
        columns=3_000, draws=True,
    ),
    Contender(
        "ensemble.AdaBoostClassifier", "classes", {"n_estimators": 10, **_RANDOM}, rows=100_000,
        columns=3_000, draws=True, classes=50,
    ),
    Contender(
        "ensemble.GradientBoostingClassifier", "classes", {"n_estimators": 20, **_RANDOM},
        rows=10_000, columns=3_000, draws=True, classes=10,
    ),
    Contender(
        "ensemble.HistGradientBoostingClassifier", "classes", _BOOSTED, kinds=_NUMBERS,
        columns=3_000, classes=50, draws=True, rivals=("LightGBM", "XGBoost"),
    ),
    Contender(
        "neural_network.MLPClassifier", "classes", {"max_iter": 5, "tol": 0.0, **_RANDOM},
        least=1_000, rows=100_000, columns=3_000, draws=True,
    ),
    Contender("linear_model.LinearRegression", "numbers", kinds=("dense", "targets"), rivals=_INTEL),
    Contender("linear_model.Ridge", "numbers", kinds=_LINEAR, rivals=_INTEL),
    Contender("linear_model.RidgeCV", "numbers", kinds=_NUMBERS, rows=100_000, columns=3_000),
    Contender("linear_model.Lasso", "numbers", kinds=_ALL, rivals=("celer",)),
    Contender("linear_model.ElasticNet", "numbers", kinds=_ALL, rivals=("celer",)),
    Contender("linear_model.LassoCV", "numbers", rows=10_000, columns=100),
    Contender("linear_model.BayesianRidge", "numbers", columns=3_000),
    Contender("linear_model.SGDRegressor", "numbers", _RANDOM, columns=3_000, draws=True),
    Contender("svm.LinearSVR", "numbers", _RANDOM, rows=20_000, columns=3_000, draws=True),
    Contender("svm.SVR", "numbers", rows=10_000, unseen=True, rivals=_INTEL),
    Contender(
        "neighbors.KNeighborsRegressor", "numbers", rows=500_000, kinds=("dense", "targets"),
        rivals=_INTEL, unseen=True,
    ),
    Contender(
        "tree.DecisionTreeRegressor", "numbers", _RANDOM, rows=100_000, draws=True,
        kinds=("dense", "missing", "targets"),
    ),
    Contender(
        "ensemble.RandomForestRegressor", "numbers", _TREES, rows=20_000, columns=3_000, draws=True,
        kinds=_NUMBERS, rivals=_INTEL,
    ),
    Contender(
        "ensemble.ExtraTreesRegressor", "numbers", _TREES, rows=100_000, columns=3_000, draws=True,
        kinds=_NUMBERS, rivals=_INTEL,
    ),
    Contender(
        "ensemble.AdaBoostRegressor", "numbers", {"n_estimators": 10, **_RANDOM}, rows=20_000,
        columns=100, draws=True,
    ),
    Contender(
        "ensemble.GradientBoostingRegressor", "numbers", {"n_estimators": 20, **_RANDOM},
        rows=10_000, columns=3_000, draws=True,
    ),
    Contender(
        "ensemble.HistGradientBoostingRegressor", "numbers", _BOOSTED, kinds=_NUMBERS,
        columns=3_000, draws=True, rivals=("LightGBM", "XGBoost"),
    ),
    Contender(
        "neural_network.MLPRegressor", "numbers", {"max_iter": 5, "tol": 0.0, **_RANDOM},
        least=1_000, rows=100_000, columns=100, draws=True,
    ),
    Contender("linear_model.PoissonRegressor", "counts", columns=3_000),
    Contender(
        "cluster.KMeans", "groups", {"n_init": 1, **_RANDOM}, columns=3_000, rivals=_INTEL
    ),
    Contender(
        "decomposition.PCA", "groups", {"n_components": 3}, action="transform", rivals=_INTEL
    ),
    Contender(
        "mixture.GaussianMixture", "groups", {"n_components": 3, **_RANDOM}, rows=100_000,
        columns=100,
    ),
    Contender("svm.OneClassSVM", "groups", {"nu": 0.1}, rows=10_000, columns=3_000, unseen=True),
)  # fmt: skip
