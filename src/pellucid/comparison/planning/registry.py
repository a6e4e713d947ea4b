"""The models of a comparison: class, search space, simplicity and cost of each.

A model joins by adding its entry to `ENTRIES`. Candidates are ordered from simple to flexible, because
a tie in a search goes to the earlier one (for classifiers first to the one with the lower log loss).

`rank` is the order of simplicity. It decides between models that are equally good:

    0  ignores the columns (majority, mean)
    1  one coefficient, or one set of counts, per column
    2  a single tree
    3  a curved boundary, or the nearest rows
    4  kernels
    5  many trees
    6  neural networks
    7  a blend of other models

`cost` is the approximate relative time of one fit; cheap models run first.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any

from pellucid.errors import ParameterError
from pellucid.model_selection.grids import Geometric, candidates

EFFORTS = ("quick", "normal", "thorough")
PORTFOLIO = {"quick": 2, "normal": 6, "thorough": 12}  # settings of a portfolio that are tried
QUICK_RATE = 0.1  # with this learning rate, quick effort needs half the rounds
# A search of normal effort uses twice the learning rate of the portfolio, to save time; the refit has
# the same step as without that.
COARSER = {"quick": 1, "normal": 2, "thorough": 1}
FINER = {"quick": 1, "normal": 4, "thorough": 4}  # how much smaller the steps of a refit are
FREQUENT = 300  # words of a text column that a model with dense input uses


@dataclass(frozen=True)
class Range:
    """A geometric range with a number of values for each effort."""

    low: float
    high: float
    counts: tuple[int, int, int] = (3, 7, 13)
    whole: bool = False

    def axis(self, effort: str) -> Geometric:
        return Geometric(self.low, self.high, self.counts[EFFORTS.index(effort)], self.whole)


@dataclass(frozen=True)
class Choices:
    """A list of values for each effort."""

    quick: tuple[Any, ...]
    normal: tuple[Any, ...]
    thorough: tuple[Any, ...]

    def axis(self, effort: str) -> tuple[Any, ...]:
        return getattr(self, effort)


@dataclass(frozen=True)
class Entry:
    """One model of the registry."""

    task: str  # "classification" or "regression"
    id: str
    path: str  # "linear_model.LogisticRegression"
    rank: int
    cost: float
    title: str  # its usual name
    description: str  # how it works, in a few words
    params: dict[str, Any] = field(default_factory=dict)
    space: Mapping[str, Range | Choices] = field(default_factory=dict)
    # Settings that complement each other, the most useful first, instead of a space; quick effort
    # tries the first two in larger steps, normal effort the first six.
    portfolio: tuple[dict[str, Any], ...] = ()
    rounds: str = ""  # the parameter that early stopping on the inner folds chooses
    most_rounds: int = 1000
    patience: int = 20  # rounds without improvement that end a fit on an inner fold
    # The parameter of the step size. A search uses large steps, which are cheaper. A fit with the
    # chosen number of rounds uses smaller steps and more of them, so that random trees average out.
    step: str = ""
    # Parameters that a search uses instead, to be cheaper: they change no ranking of candidates.
    searching: Mapping[str, Any] = field(default_factory=dict)
    steps_per_row: int = 0  # of the solver in a search, if `max_iter` counts steps; 0: as in a fit
    only: str = ""  # "", "text", "counts", "positive" or "skewed": what the data must be
    max_rows: int | None = None  # above this a fit takes too long
    in_units: tuple[str, ...] = ()  # parameters searched in standard deviations of the target
    # Scales them if not in proportion.
    rescale: Callable[[dict[str, Any], float], dict[str, Any]] | None = None
    greedy: bool = False  # seeks the best split, so it would memorise rare levels
    blends: bool = False  # combines the other models

    @property
    def module(self) -> str:
        return f"pellucid.{self.path.rpartition('.')[0]}"

    @property
    def class_name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def weighted(self) -> bool:
        """Whether rows can have weights."""
        return "sample_weight" in signature(self.make().fit).parameters

    def axes(self, effort: str) -> dict[str, Any]:
        """The search space as grids and lists, for a target of standard deviation 1."""
        return {name: axis.axis(effort) for name, axis in self.space.items()}

    def values(self, effort: str) -> dict[str, list[Any]]:
        """The search space as lists of values."""
        if self.portfolio:
            tried = self.candidates(effort)
            names = dict.fromkeys(name for params in tried for name in params)
            return {n: list(dict.fromkeys(p[n] for p in tried if n in p)) for n in names}
        axes = self.axes(effort).items()
        return {name: a.values() if hasattr(a, "values") else list(a) for name, a in axes}

    def candidates(self, effort: str, unit: float = 1.0) -> list[dict[str, Any]]:
        """All candidates, simple ones first; `unit` is the standard deviation of the target."""
        if self.portfolio:
            tried = list(self.portfolio[: PORTFOLIO[effort]])
            if effort == "quick":
                return [params | {"learning_rate": QUICK_RATE} for params in tried]
            rate = COARSER[effort]
            return [params | {"learning_rate": rate * params["learning_rate"]} for params in tried]
        found = candidates(self.axes(effort))
        if unit == 1.0:
            return found
        if self.rescale is not None:
            return [self.rescale(params, unit) for params in found]
        return [
            params | {name: float(f"{params[name] * unit:.6g}") for name in self.in_units}
            for params in found
        ]

    def refitted(self, params: Mapping[str, Any], rounds: int, effort: str) -> dict[str, Any]:
        """The number of rounds, and the step size, of a fit after a search that chose `rounds`."""
        if not self.step:
            return {self.rounds: rounds}
        finer = FINER[effort]
        return {self.rounds: finer * rounds, self.step: params[self.step] / finer}

    def coarser(self, params: Mapping[str, Any], effort: str) -> dict[str, Any]:
        """Parameters of a refit, with the larger steps of a search: for fits that only describe."""
        if not {self.step, self.rounds} <= params.keys() or params.get("early_stopping"):
            return dict(params)  # without steps, or with those of the search
        rounds, step = params[self.rounds] // FINER[effort], params[self.step] * FINER[effort]
        return {**params, self.rounds: max(1, rounds), self.step: step}

    def model_class(self) -> type:
        return getattr(importlib.import_module(self.module), self.class_name)

    def make(self) -> Any:
        """The unfitted model with its fixed parameters."""
        return self.model_class()(**self.params)


_c, _r = partial(Entry, "classification"), partial(Entry, "regression")


def _blended(params: dict[str, Any], unit: float) -> dict[str, Any]:
    """alpha and l1_ratio with the same effect as for a target of standard deviation 1.

    The penalty on |b| is proportional to the unit, the penalty on b^2 does not depend on it.
    """
    share = params["l1_ratio"] * unit
    whole = share + 1 - params["l1_ratio"]
    return {"l1_ratio": share / whole, "alpha": params["alpha"] * whole}


def _margins(params: dict[str, Any], unit: float) -> dict[str, Any]:
    """C and epsilon in units of the target, and `tol`, which the models make smaller by themselves."""
    found = {name: float(f"{params[name] * unit:.6g}") for name in ("C", "epsilon")}
    return params | found | {"tol": float(f"{params['tol'] * max(unit, 1.0):.6g}")}


_C = Range(0.001, 1000, (4, 7, 13))
_MARGIN = Range(0.001, 10, (3, 5, 9))  # for standardised columns; larger C is slow and gains little
_ALPHA = Range(1000, 0.001, (4, 7, 13))
# Wide tables with rare levels need more than scikit-learn's 100 iterations.
_PATIENT = {"max_iter": 1000}
_SCALED = {"standardize": True}  # distances, margins, steps and penalties depend on the scale
_NEIGHBOURS = Range(65, 1, (3, 7, 9), whole=True)
_LEAVES = Range(40, 1, (3, 5, 7), whole=True)
_MANY = Choices((50,), (100,), (300,))
_TREE: dict[str, Range | Choices] = {
    "min_samples_leaf": _LEAVES,
    "ccp_alpha": Choices((0.0,), (0.01, 0.0), (0.03, 0.01, 0.0)),
}
_FOREST = {
    "min_samples_leaf": Choices((1,), (5, 1), (10, 3, 1)),
    "max_features": Choices(("sqrt",), ("sqrt", 0.5), ("sqrt", 0.3, 0.7)),
    "n_estimators": _MANY,
}
# With few columns per split, a regression often misses the one or two columns that matter most.
_FOREST_OF_NUMBERS = {**_FOREST, "max_features": Choices((0.5,), ("sqrt", 0.5), ("sqrt", 0.3, 0.7))}


def _boost(
    rate: float, leaves: int, leaf: int, columns: float, rows: float, l2: float
) -> dict[str, Any]:
    return {
        "learning_rate": rate, "max_leaf_nodes": leaves, "min_samples_leaf": leaf,
        "max_features": columns, "subsample": rows, "l2_regularization": l2,
    }  # fmt: skip


# Ordered greedily on 13 tables of up to 1,000 rows: each adds most to the best of those before it. Leaves
# of one row with few columns at a node gain 2 % there over leaves of ten, and lose nothing on 4,000 rows.
# The first and the fourth look at half of the columns and more: tables with few columns need that.
_BOOST = (
    _boost(0.05, 16, 1, 0.5, 0.7, 1.0), _boost(0.05, 4, 1, 0.3, 0.7, 1.0),
    _boost(0.05, 31, 1, 0.25, 0.8, 3.0), _boost(0.05, 63, 2, 0.6, 0.7, 5.0),
    _boost(0.05, 16, 2, 0.2, 0.6, 5.0), _boost(0.05, 8, 1, 0.3, 0.7, 1.0),
    _boost(0.05, 4, 1, 0.6, 0.8, 0.0), _boost(0.05, 31, 1, 0.3, 0.5, 3.0),
    _boost(0.05, 31, 10, 0.5, 0.8, 1.0), _boost(0.05, 8, 30, 0.8, 0.5, 10.0),
    _boost(0.03, 63, 3, 0.6, 0.6, 10.0), _boost(0.05, 128, 5, 0.4, 0.8, 3.0),
)  # fmt: skip
_FEWER_TREES = {"n_estimators": 40}
_FEW_TREES = {"n_estimators": 20}  # of a model without candidates: only a blend uses them
# float32 is twice as fast and as accurate as float64. Steps of 0.003 and three penalties of one layer,
# instead of steps of 0.001 and six candidates, take 0.4 of the time; on eight tables of up to 700 rows,
# two samples each, the error is 5 % lower on average (from 22 % lower to 5 % higher).
_NETWORK = {**_SCALED, "dtype": "float32", "learning_rate_init": 0.003}
_FIXED_ROUNDS = {"early_stopping": False}  # the inner folds choose their number
_ADABOOST = {
    "learning_rate": Choices((1.0,), (0.3, 1.0), (0.3, 0.55, 1.0)),
    "n_estimators": Choices((50,), (50,), (300,)),
}
_BAGGING = {"n_estimators": Choices((50,), (100,), (200,))}
_SVM_RBF: dict[str, Range | Choices] = {"C": Range(0.1, 100, (3, 4, 7)), "gamma": Choices(("scale",), (0.01, "scale"), (0.001, 0.01, 0.1, "scale"))}  # fmt: skip
_TUBE = {"epsilon": Choices((0.1,), (0.1,), (0.1, 0.03))}
# A large C may take hundreds of steps per row, and its score hardly changes after the first twenty: on 15
# tables, all searches choose the same candidate with fifteen.
_STEPS = 20
_TOLERANCE = Choices((0.001,), (0.001,), (0.001,))  # a target in dollars needs no tenth of a cent
_MLP: dict[str, Range | Choices] = {
    "alpha": Choices((0.01,), (1.0, 0.03, 0.001), (1.0, 0.1, 0.01, 0.001, 0.0001)),
    "hidden_layer_sizes": Choices(((32,),), ((64,),), ((16,), (64,), (64, 32))),
}
_MLP_OF_NUMBERS = _MLP | {
    "hidden_layer_sizes": Choices(((64,),), ((64,),), ((16,), (64,), (64, 32)))
}
_BOUNDED = {**_SCALED, "bound_predictions": True}  # an extrapolated row must not dominate the score

ENTRIES = (
    _c("majority", "dummy.DummyClassifier", 0, 0.01, "Majority class", "always the most frequent class"),
    _c("naive_bayes", "naive_bayes.MixedNB", 1, 0.05, "Naive Bayes", "columns independent within each class"),
    _c("multinomial_nb", "naive_bayes.MultinomialNB", 1, 0.05, "Multinomial naive Bayes", "word counts, independent within each class", only="text", space={"alpha": Range(10, 0.01, (3, 4, 7))}),
    _c("lda", "discriminant_analysis.LinearDiscriminantAnalysis", 1, 0.1, "Linear discriminant analysis", "Gaussian classes, shared covariance", params={"solver": "lsqr"}, space={"shrinkage": Choices(("auto", None), ("auto", None, 0.1, 0.5), ("auto", None, 0.03, 0.1, 0.3, 0.9))}),
    _c("qda", "discriminant_analysis.QuadraticDiscriminantAnalysis", 3, 0.1, "Quadratic discriminant analysis", "Gaussian classes, one covariance per class", space={"reg_param": Choices((0.1, 0.0), (0.5, 0.1, 0.01, 0.0), (0.9, 0.5, 0.1, 0.03, 0.01, 0.001, 0.0))}),
    _c("ridge_classifier", "linear_model.RidgeClassifier", 1, 0.1, "Ridge classifier", "L2-penalised least squares on class labels", params=_SCALED, space={"alpha": _ALPHA}),
    _c("perceptron", "linear_model.Perceptron", 1, 0.3, "Perceptron", "linear boundary, corrected at each mistake", params=_SCALED, space={"average": Choices((True, False), (True, False), (True, False))}),
    _c("sgd", "linear_model.SGDClassifier", 1, 0.4, "Logistic regression by SGD", "log-odds linear, fitted row by row", params={**_SCALED, "loss": "log_loss"}, space={"alpha": Range(0.1, 0.0001, (3, 4, 7))}),
    _c("logistic", "linear_model.LogisticRegression", 1, 0.3, "Logistic regression", "log-odds linear in the columns, L2 penalty", params={**_PATIENT, **_SCALED}, space={"C": _C}),
    _c("logistic_l1", "linear_model.LogisticRegression", 1, 1.5, "L1-penalised logistic regression", "log-odds linear in a few selected columns", params={**_PATIENT, **_SCALED, "l1_ratio": 1.0, "solver": "saga"}, space={"C": Range(0.01, 100, (3, 5, 9))}),
    _c("knn", "neighbors.KNeighborsClassifier", 3, 0.5, "k-nearest neighbours", "vote of the most similar training rows", params=_SCALED, space={"n_neighbors": _NEIGHBOURS}, max_rows=200_000),
    _c("tree", "tree.DecisionTreeClassifier", 2, 0.2, "Decision tree", "one tree of yes/no splits, pruned", space=_TREE, greedy=True),
    _c("svm_linear", "svm.LinearSVC", 1, 0.8, "Linear support vector machine", "linear boundary with the widest margin", params=_SCALED, space={"C": _MARGIN}),
    _c("svm_rbf", "svm.SVC", 4, 2.0, "Support vector machine (RBF kernel)", "curved boundary with the widest margin", params=_SCALED, space=_SVM_RBF, max_rows=20_000, steps_per_row=_STEPS),
    _c("adaboost", "ensemble.AdaBoostClassifier", 5, 3.0, "AdaBoost", "small trees, misclassified rows weighted up", space=_ADABOOST, greedy=True),
    _c("bagging", "ensemble.BaggingClassifier", 5, 3.0, "Bagged trees", "full trees on bootstrap samples, averaged", space=_BAGGING, greedy=True, searching=_FEW_TREES),
    _c("extra_trees", "ensemble.ExtraTreesClassifier", 5, 3.0, "Extremely randomised trees", "full trees with random thresholds, averaged", space=_FOREST, searching=_FEWER_TREES),
    _c("forest", "ensemble.RandomForestClassifier", 5, 4.0, "Random forest", "trees on random rows and columns, averaged", space=_FOREST, greedy=True, searching=_FEWER_TREES),
    _c("gradient_boosting", "ensemble.HistGradientBoostingClassifier", 5, 5.0, "Gradient boosting", "small trees, each correcting the last", params=_FIXED_ROUNDS, portfolio=_BOOST, rounds="max_iter", step="learning_rate"),
    _c("mlp", "neural_network.MLPClassifier", 6, 8.0, "Neural network", "one or two hidden layers", params=_NETWORK, space=_MLP, rounds="max_iter", most_rounds=200, patience=10),
    _c("blend", "ensemble.BlendClassifier", 7, 9.0, "Blend", "weighted mean of the other models", blends=True),
    _r("mean", "dummy.DummyRegressor", 0, 0.01, "Mean", "always the mean of the target"),
    _r("ols", "linear_model.LinearRegression", 1, 0.05, "Linear regression", "least squares without a penalty"),
    _r("ridge", "linear_model.Ridge", 1, 0.1, "Ridge regression", "least squares with an L2 penalty", params=_SCALED, space={"alpha": _ALPHA}),
    _r("ridge_log", "linear_model.LogTargetRidge", 1, 0.15, "Ridge regression of the log target", "log target linear in columns, L2 penalty", only="skewed", params=_BOUNDED, space={"alpha": _ALPHA}),
    _r("lasso", "linear_model.Lasso", 1, 0.3, "Lasso", "least squares, L1 penalty selects columns", params=_SCALED, space={"alpha": Range(1, 0.001, (4, 7, 13))}, in_units=("alpha",)),
    _r("elastic_net", "linear_model.ElasticNet", 1, 0.4, "Elastic net", "least squares with L1 and L2 penalties", params=_SCALED, space={"l1_ratio": Choices((0.5,), (0.5,), (0.2, 0.5, 0.8)), "alpha": Range(10, 0.001, (4, 7, 9))}, in_units=("l1_ratio", "alpha"), rescale=_blended),
    _r("bayesian_ridge", "linear_model.BayesianRidge", 1, 0.2, "Bayesian ridge regression", "ridge, penalty estimated from the data", params=_SCALED),
    _r("sgd", "linear_model.SGDRegressor", 1, 0.4, "Linear regression by SGD", "least squares, fitted row by row", params=_SCALED, space={"eta0": Choices((0.001, 0.01), (0.0001, 0.001, 0.01), (0.0001, 0.001, 0.01)), "alpha": Choices((0.0001,), (0.01, 0.0001), (0.1, 0.01, 0.001, 0.0001))}),
    _r("poisson", "linear_model.PoissonRegressor", 1, 0.3, "Poisson regression", "log of the mean count linear in the columns", only="counts", params=_BOUNDED, space={"alpha": Range(10, 0.001, (3, 5, 9))}),
    _r("gamma", "linear_model.GammaRegressor", 1, 0.3, "Gamma regression", "log of the mean linear, relative errors", only="positive", params=_BOUNDED, space={"alpha": Range(10, 0.001, (3, 5, 9))}),
    _r("knn", "neighbors.KNeighborsRegressor", 3, 0.5, "k-nearest neighbours", "mean of the most similar training rows", params=_SCALED, space={"n_neighbors": _NEIGHBOURS}, max_rows=200_000),
    _r("tree", "tree.DecisionTreeRegressor", 2, 0.2, "Decision tree", "one tree of yes/no splits", space={"min_samples_leaf": _LEAVES}, greedy=True),
    _r("svm_linear", "svm.LinearSVR", 1, 0.8, "Linear support vector regression", "linear, ignores errors below a threshold", params=_SCALED, space={"C": _MARGIN, **_TUBE, "tol": _TOLERANCE}, in_units=("C", "epsilon", "tol"), rescale=_margins),
    _r("svm_rbf", "svm.SVR", 4, 2.0, "Support vector regression (RBF kernel)", "curve that ignores errors below a threshold", params=_SCALED, space={**_SVM_RBF, **_TUBE, "tol": _TOLERANCE}, max_rows=20_000, in_units=("C", "epsilon", "tol"), rescale=_margins, steps_per_row=_STEPS),
    _r("adaboost", "ensemble.AdaBoostRegressor", 5, 3.0, "AdaBoost", "small trees, upweighting large errors", space=_ADABOOST, greedy=True),
    _r("bagging", "ensemble.BaggingRegressor", 5, 3.0, "Bagged trees", "full trees on bootstrap samples, averaged", space=_BAGGING, greedy=True, searching=_FEW_TREES),
    _r("extra_trees", "ensemble.ExtraTreesRegressor", 5, 3.0, "Extremely randomised trees", "full trees with random thresholds, averaged", space=_FOREST_OF_NUMBERS, searching=_FEWER_TREES),
    _r("forest", "ensemble.RandomForestRegressor", 5, 4.0, "Random forest", "trees on random rows and columns, averaged", space=_FOREST_OF_NUMBERS, greedy=True, searching=_FEWER_TREES),
    _r("gradient_boosting", "ensemble.HistGradientBoostingRegressor", 5, 5.0, "Gradient boosting", "small trees, each correcting the last", params=_FIXED_ROUNDS, portfolio=_BOOST, rounds="max_iter", step="learning_rate"),
    _r("mlp", "neural_network.MLPRegressor", 6, 8.0, "Neural network", "one or two hidden layers", params=_NETWORK, space=_MLP_OF_NUMBERS, rounds="max_iter", most_rounds=200, patience=10),
    _r("blend", "ensemble.BlendRegressor", 7, 9.0, "Blend", "weighted mean of the other models", blends=True),
)  # fmt: skip

# Other names of the models, with the ids they have here; where the tasks differ, both.
ALIASES = {
    "xgboost": ("gradient_boosting",), "xgb": ("gradient_boosting",), "gbm": ("gradient_boosting",),
    "lightgbm": ("gradient_boosting",), "lgbm": ("gradient_boosting",), "gbt": ("gradient_boosting",),
    "catboost": ("gradient_boosting",), "boosting": ("gradient_boosting",), "gb": ("gradient_boosting",),
    "histgradientboosting": ("gradient_boosting",), "hgb": ("gradient_boosting",),
    "rf": ("forest",), "randomforest": ("forest",), "extratrees": ("extra_trees",), "et": ("extra_trees",),
    "cart": ("tree",), "dt": ("tree",), "decisiontree": ("tree",), "baggedtrees": ("bagging",),
    "svm": ("svm_rbf",), "svc": ("svm_rbf",), "svr": ("svm_rbf",), "rbf": ("svm_rbf",),
    "linearsvc": ("svm_linear",), "linearsvr": ("svm_linear",), "linearsvm": ("svm_linear",),
    "lr": ("logistic", "ols"), "logreg": ("logistic",), "logisticregression": ("logistic",),
    "logit": ("logistic",), "glm": ("logistic", "poisson"), "linear": ("logistic", "ols"),
    "linearregression": ("ols",), "lm": ("ols",), "leastsquares": ("ols",), "enet": ("elastic_net",),
    "ridgeregression": ("ridge",), "loglinear": ("ridge_log",), "lognormal": ("ridge_log",),
    "nb": ("naive_bayes",), "gaussiannb": ("naive_bayes",), "bayes": ("naive_bayes",),
    "neighbors": ("knn",), "kneighbors": ("knn",), "nearestneighbors": ("knn",), "nearestneighbours": ("knn",),
    "nn": ("mlp",), "ann": ("mlp",), "neuralnetwork": ("mlp",), "network": ("mlp",), "neuralnet": ("mlp",),
    "ensemble": ("blend",), "stacking": ("blend",), "voting": ("blend",), "dummy": ("majority", "mean"), "baseline": ("majority", "mean"), "lineardiscriminantanalysis": ("lda",),
}  # fmt: skip

BASELINES = {"classification": "majority", "regression": "mean"}


def words_read(Model: type) -> float:
    """How many words of a text column a class uses: none, the most frequent ones, or all.

    Models with sparse input, or that count words by class, can use thousands of words.
    """
    if not getattr(Model, "_takes_text", False):
        return 0
    sparse = getattr(Model, "_takes_sparse", False) or getattr(Model, "_layout", "") == "codes"
    return float("inf") if sparse else FREQUENT


def entries(task: str) -> Iterator[Entry]:
    """The models of a task, cheap ones first."""
    own = [e for e in ENTRIES if e.task == task]
    return iter(sorted(own, key=lambda e: (e.cost, e.id)))


def chosen(task: str, only: tuple[str, ...], without: tuple[str, ...]) -> list[Entry]:
    """The models that the user chose; the baseline is always among them."""
    known = {entry.id: entry for entry in entries(task)}
    for name in (*only, *without):
        if name not in known:
            raise ParameterError(_unknown(name, task, known))
    baseline = BASELINES[task]
    wanted = set(only or known) - set(without) | {baseline}
    return [entry for entry in known.values() if entry.id in wanted]


def _unknown(name: str, task: str, known: dict[str, Entry]) -> str:
    other = [e.task for e in ENTRIES if e.id == name and e.task != task]
    if other:
        return f"model {name!r} is for {other[0]}, but the task is {task}."
    return (
        f"unknown model {name!r}.{_meant(name, known)} Models for {task}: "
        f"{', '.join(sorted(known))}."
    )


def _meant(name: str, known: dict[str, Entry]) -> str:
    """` Did you mean ...?` for a name from another library, or a typo."""
    from pellucid.data.io.source import did_you_mean

    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    short = re.sub(r"(classifier|regressor)$", "", plain)
    classes = {e.class_name.lower(): (e.id,) for e in reversed(known.values())}
    for word in (plain, short):
        found = [id for id in (classes | ALIASES).get(word, ()) if id in known]
        if found:
            return f" Did you mean {found[0]!r}?"
    return did_you_mean(name, known)
