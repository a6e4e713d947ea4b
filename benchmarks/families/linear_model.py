"""Linear regressions and logistic regression."""

from benchmarks.answers import (
    error_rate,
    penalised_log_loss,
    poisson_deviance,
    shortest_fit,
    squared_error,
)
from benchmarks.samples import Sample, classification, counts, regression
from benchmarks.workload import Workload

# lbfgs stops at a gradient of 1e-4: its objective may lie above ours, ours never above its.
_SAME = penalised_log_loss(C=1.0, relative=1e-6)


def _tenth(sample: Sample) -> dict[str, float]:
    """A tenth of the smallest penalty that leaves no column."""
    X, y = sample.X - sample.X.mean(axis=0), sample.y - sample.y.mean()
    return {"alpha": float(abs(X.T @ y).max()) / len(y) / 10}


WORKLOADS = (
    Workload(
        name="least squares",
        estimator="linear_model.LinearRegression",
        source=regression(200_000, 100),
        answer=squared_error(relative=1e-10),
        goals={"fit": 6.0, "predict": 1.0},
    ),
    Workload(
        name="least squares, wide",
        estimator="linear_model.LinearRegression",
        source=regression(300, 1200),
        answer=shortest_fit(relative=1e-10),
        goals={"fit": 1.5},
    ),
    Workload(
        name="least squares, many columns",
        estimator="linear_model.LinearRegression",
        source=regression(1000, 5000),
        answer=shortest_fit(relative=1e-10),
        goals={"fit": 1.5},
    ),
    Workload(
        name="ridge",
        estimator="linear_model.Ridge",
        source=regression(200_000, 100),
        answer=squared_error(relative=1e-10),
        goals={"fit": 2.0, "predict": 1.0},
    ),
    Workload(
        name="ridge, 5 penalties, one row left out",
        estimator="linear_model.RidgeCV",
        source=regression(50_000, 100),
        params={"alphas": (0.01, 0.1, 1.0, 10.0, 100.0)},
        answer=squared_error(relative=1e-8),
        goals={"fit": 4.0},
    ),
    Workload(
        name="Bayesian ridge",
        estimator="linear_model.BayesianRidge",
        source=regression(200_000, 100),
        answer=squared_error(relative=1e-6),
        goals={"fit": 10.0},
    ),
    Workload(
        name="lasso, tall",
        estimator="linear_model.Lasso",
        source=regression(200_000, 100),
        answer=squared_error(relative=1e-3),
        goals={"fit": 2.0, "predict": 1.0},
    ),
    Workload(
        name="lasso, wide",
        estimator="linear_model.Lasso",
        source=regression(1000, 5000),
        params=_tenth,
        answer=squared_error(relative=2e-2),
        goals={"fit": 1.5},
    ),
    Workload(
        name="lasso, 100 penalties, 5 folds",
        estimator="linear_model.LassoCV",
        source=regression(1000, 1000),
        # With its own tol of 1e-4 scikit-learn's paths are so rough that it chooses another penalty.
        params={"tol": 1e-6},
        answer=squared_error(relative=1e-3),
        goals={"fit": 20.0},
    ),
    Workload(
        name="lasso, 100 penalties, 5 folds, half of the columns matter",
        estimator="linear_model.LassoCV",
        source=regression(1000, 1000, informative=500),
        params={"tol": 1e-6},
        answer=squared_error(relative=1e-3),
        goals={"fit": 20.0},
    ),
    Workload(
        name="poisson",
        estimator="linear_model.PoissonRegressor",
        source=counts(200_000, 30),
        answer=poisson_deviance(relative=1e-9),
        goals={"fit": 2.0, "predict": 1.0},
        params={"alpha": 0.0, "solver": "newton-cholesky"},
    ),
    Workload(
        name="logistic",
        estimator="linear_model.LogisticRegression",
        source=classification(200_000, 50),
        answer=_SAME,
        goals={"fit": 3.0, "predict": 1.0},
    ),
    Workload(
        name="softmax",
        estimator="linear_model.LogisticRegression",
        source=classification(100_000, 50, classes=5),
        answer=_SAME,
        goals={"fit": 3.0, "predict": 1.0},
    ),
    Workload(
        name="logistic, small",
        estimator="linear_model.LogisticRegression",
        source=classification(500, 10, classes=3),
        answer=_SAME,
        goals={"fit": 3.0, "predict": 3.0},
    ),
    Workload(
        name="logistic, L1",
        estimator="linear_model.LogisticRegression",
        source=classification(50_000, 50),
        params={"C": 0.01, "l1_ratio": 1.0, "solver": "saga"},
        answer=error_rate(absolute=2e-3),
        goals={"fit": 5.0},
    ),
    Workload(
        name="logistic, 10 penalties, 5 folds",
        estimator="linear_model.LogisticRegressionCV",
        source=classification(10_000, 30),
        params={"scoring": "neg_log_loss"},
        answer=error_rate(absolute=2e-3),
        goals={"fit": 1.0},
    ),
    Workload(
        name="perceptron, 20 passes",
        estimator="linear_model.Perceptron",
        source=classification(200_000, 50),
        params={"max_iter": 20, "tol": None},
        answer=error_rate(absolute=5e-2),
        goals={"fit": 3.0},
    ),
    Workload(
        name="stochastic descent, log loss, 20 passes",
        estimator="linear_model.SGDClassifier",
        source=classification(200_000, 50),
        params={"loss": "log_loss", "max_iter": 20, "tol": None, "random_state": 0},
        answer=error_rate(absolute=2e-2),
        goals={"fit": 3.0},
    ),
    Workload(
        name="stochastic descent, numbers, 20 passes",
        estimator="linear_model.SGDRegressor",
        source=regression(200_000, 50),
        params={"max_iter": 20, "tol": None, "random_state": 0},
        answer=squared_error(relative=1e-2),
        goals={"fit": 3.0},
    ),
)
