"""The models that take part: class, search space, simplicity and cost of each.

A family joins by adding its lines to `ENTRIES`; a line is asleep until its class stands in
`names.py`. Candidates go from simple to flexible, because ties in a search go to the earlier one
(of classifiers with equal scores, or an order of rows as good as the best, first to the lower log loss).

The published order of simplicity, `rank`, decides between models that the data cannot tell apart:

    0  does not look at the columns (majority, mean)
    1  one weight, or one set of counts, per column
    2  one tree: a short list of questions
    3  a curved boundary, or the nearest rows, without a summary
    4  kernels
    5  many trees
    6  networks

`cost` is a rough relative time of one fit; cheap models run first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from pellucid.errors import ParameterError
from pellucid.model_selection.grids import Geometric, candidates
from pellucid.names import ESTIMATORS

EFFORTS = ("quick", "normal", "thorough")
ALSO_CALLED = {  # names that people know from elsewhere
    **dict.fromkeys(("xgboost", "xgb", "lightgbm", "lgbm", "catboost", "gbm", "hgb", "boosting"),
                    ("gradient_boosting",)),
    **dict.fromkeys(("random_forest", "randomforest", "rf"), ("forest",)),
    **dict.fromkeys(("svm", "svc", "svr", "rbf"), ("svm_rbf",)),
    **dict.fromkeys(("decision_tree", "cart", "dt"), ("tree",)),
    **dict.fromkeys(("logistic_regression", "logit", "lr", "glm"), ("logistic", "ols")),
    **dict.fromkeys(("linear_regression", "linear"), ("ols", "logistic")),
    **dict.fromkeys(("neural_network", "nn", "ann"), ("mlp",)),
    **dict.fromkeys(("nearest_neighbors", "nearest_neighbours", "kneighbors"), ("knn",)),
    **dict.fromkeys(("nb", "gaussian_nb", "gaussiannb"), ("naive_bayes",)),
    **dict.fromkeys(("dummy", "baseline"), ("majority", "mean")),
}  # fmt: skip
FREQUENT = 300  # words that are read by a model which makes a dense table of them


@dataclass(frozen=True)
class Range:
    """A geometric range with one number of values per effort."""

    low: float
    high: float
    counts: tuple[int, int, int] = (3, 7, 13)
    whole: bool = False

    def axis(self, effort: str) -> Geometric:
        return Geometric(self.low, self.high, self.counts[EFFORTS.index(effort)], self.whole)


@dataclass(frozen=True)
class Choices:
    """A list of values per effort."""

    quick: tuple[Any, ...]
    normal: tuple[Any, ...]
    thorough: tuple[Any, ...]

    def axis(self, effort: str) -> tuple[Any, ...]:
        return getattr(self, effort)


@dataclass(frozen=True)
class Entry:
    """One line of the registry."""

    id: str
    task: str  # "classification" or "regression"
    path: str  # "linear_model.LogisticRegression"
    rank: int
    cost: float
    says: str  # one line for `pellucid models`
    params: dict[str, Any] = field(default_factory=dict)
    space: dict[str, Range | Choices] = field(default_factory=dict)
    only: str = ""  # "", "text", "counts", "positive": what the data must be like
    prefer: dict[str, Any] = field(default_factory=dict)  # set where the class has it
    max_rows: int | None = None  # above this the fit takes too long to be useful
    in_units: tuple[str, ...] = ()  # searched in deviations of the target
    told: Callable[[dict[str, Any], float], dict[str, Any]] | None = None  # other ways to do so
    greedy: bool = False  # all columns in every node: levels of few rows would be learned by name

    @property
    def module(self) -> str:
        return f"pellucid.{self.path.rpartition('.')[0]}"

    @property
    def class_name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def available(self) -> bool:
        return self.class_name in ESTIMATORS.get(self.module, ())

    def works(self) -> bool:
        """Whether the class takes the fixed parameters (a family may offer them later)."""
        from pellucid.errors import PellucidError

        try:
            self.make()._check_parameters()
        except (PellucidError, TypeError):
            return False
        return True

    def axes(self, effort: str) -> dict[str, Any]:
        """The search space as grids and lists, for a target of deviation 1."""
        return {name: axis.axis(effort) for name, axis in self.space.items()}

    def candidates(self, effort: str, unit: float = 1.0) -> list[dict[str, Any]]:
        """All parameter settings to try, simple ones first; `unit` is the target's deviation."""
        found, tell = candidates(self.axes(effort)), self.told or self._scaled
        return found if unit == 1.0 else [tell(params, unit) for params in found]

    def _scaled(self, params: dict[str, Any], unit: float) -> dict[str, Any]:
        return params | {name: float(f"{params[name] * unit:.6g}") for name in self.in_units}

    def model_class(self) -> type:
        return getattr(importlib.import_module(self.module), self.class_name)

    def make(self) -> Any:
        """The unfitted model with its fixed parameters."""
        made = self.model_class()
        known = signature(made).parameters
        liked = {name: value for name, value in self.prefer.items() if name in known}
        return made(**self.params, **liked)


def _c(id: str, path: str, rank: int, cost: float, says: str, **more: Any) -> Entry:
    return Entry(id, "classification", path, rank, cost, says, **more)


def _r(id: str, path: str, rank: int, cost: float, says: str, **more: Any) -> Entry:
    return Entry(id, "regression", path, rank, cost, says, **more)


def _blended(params: dict[str, Any], unit: float) -> dict[str, Any]:
    """alpha and l1_ratio that do to a target of this deviation what they would do to one of 1.

    The penalty of |b| grows with the unit, that of b^2 does not.
    """
    share = params["l1_ratio"] * unit
    whole = share + 1 - params["l1_ratio"]
    return {"l1_ratio": share / whole, "alpha": params["alpha"] * whole}


_C = Range(0.001, 1000, (4, 7, 13))
_MARGIN = Range(0.001, 10, (3, 5, 9))  # of standardised columns; more takes long and changes little
_ALPHA = Range(1000, 0.001, (4, 7, 13))
_PATIENT = {"max_iter": 1000}  # wide tables of rare levels take more steps than scikit-learn's 100
_SCALED = {"standardize": True}  # distances, margins, steps and penalties depend on the units
_NEIGHBOURS = Range(65, 1, (3, 7, 9), whole=True)
_LEAVES = Range(40, 1, (3, 5, 7), whole=True)
_MANY = Choices((50,), (100,), (300,))
_TREE = {"min_samples_leaf": _LEAVES, "ccp_alpha": Choices((0.0,), (0.01, 0.0), (0.03, 0.01, 0.0))}
_FOREST = {
    "min_samples_leaf": Choices((1,), (5, 1), (10, 3, 1)),
    "max_features": Choices(("sqrt",), ("sqrt", 0.5), ("sqrt", 0.3, 0.7)),
    "n_estimators": _MANY,
}
# A draw of few columns leaves out the one or two that a number often hangs on.
_FOREST_OF_NUMBERS = {
    **_FOREST,
    "max_features": Choices((0.5,), ("sqrt", 0.5), ("sqrt", 0.3, 0.7)),
}
_BOOST = {
    "learning_rate": Range(0.05, 0.2, (1, 2, 3)),
    "max_leaf_nodes": Choices((15,), (7, 31), (4, 15, 31)),
    "max_iter": _MANY,
}
_SVM_RBF = {"C": Range(0.1, 100, (3, 4, 7)), "gamma": Choices(("scale",), (0.01, "scale"), (0.001, 0.01, 0.1, "scale"))}  # fmt: skip
_TUBE = {"epsilon": Choices((0.1,), (0.1,), (0.1, 0.03))}
_MLP = {
    "alpha": Range(1, 0.0001, (1, 3, 5)),
    "hidden_layer_sizes": Choices(((32,),), ((16,), (64,)), ((16,), (64,), (64, 32))),
}

ENTRIES = (
    _c("majority", "dummy.DummyClassifier", 0, 0.01, "the most frequent class, always"),
    _c("naive_bayes", "naive_bayes.MixedNB", 1, 0.05, "columns as if independent given the class"),
    _c("multinomial_nb", "naive_bayes.MultinomialNB", 1, 0.05, "word counts given the class", only="text", space={"alpha": Range(10, 0.01, (3, 4, 7))}),
    _c("lda", "discriminant_analysis.LinearDiscriminantAnalysis", 1, 0.1, "Gaussian classes with one shared covariance", params={"solver": "lsqr"}, space={"shrinkage": Choices(("auto", None), ("auto", None, 0.1, 0.5), ("auto", None, 0.03, 0.1, 0.3, 0.9))}),
    _c("qda", "discriminant_analysis.QuadraticDiscriminantAnalysis", 3, 0.1, "Gaussian classes, each with its own covariance", space={"reg_param": Choices((0.1, 0.0), (0.5, 0.1, 0.01, 0.0), (0.9, 0.5, 0.1, 0.03, 0.01, 0.001, 0.0))}),
    _c("ridge_classifier", "linear_model.RidgeClassifier", 1, 0.1, "least squares on the classes", params=_SCALED, space={"alpha": _ALPHA}),
    _c("perceptron", "linear_model.Perceptron", 1, 0.3, "moves a plane at each mistake", params=_SCALED, space={"average": Choices((True, False), (True, False), (True, False))}),
    _c("sgd", "linear_model.SGDClassifier", 1, 0.4, "log-odds, one small step per row", params={**_SCALED, "loss": "log_loss"}, space={"alpha": Range(0.1, 0.0001, (3, 4, 7))}),
    _c("logistic", "linear_model.LogisticRegression", 1, 0.3, "log-odds are a weighted sum", params={**_PATIENT, **_SCALED}, space={"C": _C}),
    _c("logistic_l1", "linear_model.LogisticRegression", 1, 1.5, "log-odds from few columns", params={**_PATIENT, **_SCALED, "l1_ratio": 1.0, "solver": "saga"}, space={"C": Range(0.01, 100, (3, 5, 9))}),
    _c("knn", "neighbors.KNeighborsClassifier", 3, 0.5, "asks the nearest rows", prefer=_SCALED, space={"n_neighbors": _NEIGHBOURS}, max_rows=200_000),
    _c("tree", "tree.DecisionTreeClassifier", 2, 0.2, "one question after the other", space=_TREE, greedy=True),
    _c("svm_linear", "svm.LinearSVC", 1, 0.8, "the widest straight margin", prefer=_SCALED, space={"C": _MARGIN}),
    _c("svm_rbf", "svm.SVC", 4, 2.0, "the widest curved margin", prefer=_SCALED, space=_SVM_RBF, max_rows=20_000),
    _c("adaboost", "ensemble.AdaBoostClassifier", 5, 3.0, "small trees that mend each other's mistakes", space={"learning_rate": Range(0.3, 1, (1, 2, 3)), "n_estimators": _MANY}, greedy=True),
    _c("bagging", "ensemble.BaggingClassifier", 5, 3.0, "trees on redrawn rows, averaged", space={"n_estimators": Choices((20,), (50,), (200,))}, greedy=True),
    _c("extra_trees", "ensemble.ExtraTreesClassifier", 5, 3.0, "trees with drawn thresholds, averaged", space=_FOREST),
    _c("forest", "ensemble.RandomForestClassifier", 5, 4.0, "trees on redrawn rows and columns", space=_FOREST),
    _c("gradient_boosting", "ensemble.HistGradientBoostingClassifier", 5, 5.0, "small trees, each correcting those before it", space=_BOOST),
    _c("mlp", "neural_network.MLPClassifier", 6, 8.0, "a network of one or two layers", prefer=_SCALED, space=_MLP),
    _r("mean", "dummy.DummyRegressor", 0, 0.01, "the mean, always"),
    _r("ols", "linear_model.LinearRegression", 1, 0.05, "least squares"),
    _r("ridge", "linear_model.Ridge", 1, 0.1, "least squares with small weights", params=_SCALED, space={"alpha": _ALPHA}),
    _r("lasso", "linear_model.Lasso", 1, 0.3, "least squares from few columns", params=_SCALED, space={"alpha": Range(1, 0.001, (4, 7, 13))}, in_units=("alpha",)),
    _r("elastic_net", "linear_model.ElasticNet", 1, 0.4, "between ridge and lasso", params=_SCALED, space={"l1_ratio": Choices((0.5,), (0.5,), (0.2, 0.5, 0.8)), "alpha": Range(10, 0.001, (4, 7, 9))}, in_units=("l1_ratio", "alpha"), told=_blended),
    _r("bayesian_ridge", "linear_model.BayesianRidge", 1, 0.2, "ridge that finds its own strength", params=_SCALED),
    _r("sgd", "linear_model.SGDRegressor", 1, 0.4, "least squares, one small step per row", params=_SCALED, space={"eta0": Choices((0.001, 0.01), (0.0001, 0.001, 0.01), (0.0001, 0.001, 0.01)), "alpha": Choices((0.0001,), (0.01, 0.0001), (0.1, 0.01, 0.001, 0.0001))}),
    _r("poisson", "linear_model.PoissonRegressor", 1, 0.3, "logarithm of the mean is a weighted sum", only="counts", params=_SCALED, space={"alpha": Range(10, 0.001, (3, 5, 9))}),
    _r("gamma", "linear_model.GammaRegressor", 1, 0.3, "logarithm of a positive mean is a weighted sum", only="positive", params=_SCALED, space={"alpha": Range(10, 0.001, (3, 5, 9))}),
    _r("knn", "neighbors.KNeighborsRegressor", 3, 0.5, "mean of the nearest rows", prefer=_SCALED, space={"n_neighbors": _NEIGHBOURS}, max_rows=200_000),
    _r("tree", "tree.DecisionTreeRegressor", 2, 0.2, "one question after the other", space={"min_samples_leaf": _LEAVES}, greedy=True),
    _r("svm_linear", "svm.LinearSVR", 1, 0.8, "a straight tube around the rows", prefer=_SCALED, space={"C": _MARGIN, **_TUBE}, in_units=("C", "epsilon")),
    _r("svm_rbf", "svm.SVR", 4, 2.0, "a curved tube around the rows", prefer=_SCALED, space={**_SVM_RBF, **_TUBE}, max_rows=20_000, in_units=("C", "epsilon")),
    _r("adaboost", "ensemble.AdaBoostRegressor", 5, 3.0, "small trees that mend each other's mistakes", space={"learning_rate": Range(0.3, 1, (1, 2, 3)), "n_estimators": _MANY}, greedy=True),
    _r("bagging", "ensemble.BaggingRegressor", 5, 3.0, "trees on redrawn rows, averaged", space={"n_estimators": Choices((20,), (50,), (200,))}, greedy=True),
    _r("extra_trees", "ensemble.ExtraTreesRegressor", 5, 3.0, "trees with drawn thresholds, averaged", space=_FOREST_OF_NUMBERS),
    _r("forest", "ensemble.RandomForestRegressor", 5, 4.0, "trees on redrawn rows and columns", space=_FOREST_OF_NUMBERS),
    _r("gradient_boosting", "ensemble.HistGradientBoostingRegressor", 5, 5.0, "small trees, each correcting those before it", space=_BOOST),
    _r("mlp", "neural_network.MLPRegressor", 6, 8.0, "a network of one or two layers", prefer=_SCALED, space=_MLP),
)  # fmt: skip

BASELINES = {"classification": "majority", "regression": "mean"}


def words_read(Model: type) -> float:
    """How many words of a text column a class reads: none, the most frequent ones, or all.

    Thousands of them are little work for a model that keeps them sparse or counts them by class.
    """
    if not getattr(Model, "_takes_text", False):
        return 0
    sparse = getattr(Model, "_takes_sparse", False) or getattr(Model, "_layout", "") == "codes"
    return float("inf") if sparse else FREQUENT


def entries(task: str) -> Iterator[Entry]:
    """The lines of a task that can run, cheap ones first."""
    active = [e for e in ENTRIES if e.task == task and e.available and e.works()]
    return iter(sorted(active, key=lambda e: (e.cost, e.id)))


def chosen(task: str, only: tuple[str, ...], without: tuple[str, ...]) -> list[Entry]:
    """The entries a user asked for; the baseline is always among them."""
    known = {entry.id: entry for entry in entries(task)}
    for name in (*only, *without):
        if name not in known:
            raise ParameterError(_unknown(name, task, known))
    baseline = BASELINES[task]
    wanted = set(only or known) - set(without) | {baseline}
    return [entry for entry in known.values() if entry.id in wanted]


def _unknown(name: str, task: str, known: dict[str, Entry]) -> str:
    from pellucid.data.source import did_you_mean

    other = [e.task for e in ENTRIES if e.id == name and e.task != task and e.available]
    if other:
        return f"model {name!r} is for {other[0]}, but the task is {task}."
    meant = [other for other in ALSO_CALLED.get(name.lower(), ()) if other in known]
    hint = f" Did you mean {meant[0]!r}?" if meant else did_you_mean(name, known)
    return f"there is no model {name!r}.{hint} Models for {task}: {', '.join(sorted(known))}."
