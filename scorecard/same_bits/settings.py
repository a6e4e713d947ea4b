"""The parameters that each class is fitted with, so that every solver and every loss runs.

A list of parameter dicts per class. A key in capitals is no parameter: `TARGET` names the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Setting = dict[str, Any]
Choices = dict[str, list[Any]]
TARGET = "TARGET"


@dataclass(frozen=True)
class Made:
    """An object that is made anew for every fit: a public class and its arguments."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.arguments)})"


def made(name: str, **arguments: Any) -> Made:
    """`made("Ridge", alpha=2.0)`, for parameters that are estimators or options."""
    return Made(name, tuple(arguments.items()))


def vary(base: Setting | None = None, /, **choices: list[Any]) -> list[Setting]:
    """The base setting, then the base with each choice of each parameter in turn."""
    base = base or {}
    return [base, *({**base, name: v} for name, values in choices.items() for v in values)]


def label(setting: Setting) -> str:
    """How a setting is called in the keys of a record."""
    return ",".join(f"{name}={value}" for name, value in setting.items()) or "default"


TEXT = made("Table", kinds={"note": "text"})
WORDS: list[Setting] = [{"table": made("Table", kinds={"note": "text"}, text=made("Text", mode=m))}
         for m in ("binary", "tfidf")]  # fmt: skip
FEW: Setting = {"n_estimators": 5}
STUMP = made("DecisionTreeClassifier", max_depth=2)
_LIMITS: Choices = {
    "min_samples_leaf": [5, 0.05], "min_samples_split": [0.2], "max_features": ["sqrt", 0.5],
    "max_leaf_nodes": [6], "min_impurity_decrease": [0.01], "ccp_alpha": [0.01],
    "min_weight_fraction_leaf": [0.05],
}  # fmt: skip
_FOREST: Choices = {
    **_LIMITS, "max_depth": [3], "oob_score": [True], "warm_start": [True], "max_samples": [0.5],
    "oob_importances": [True],
}  # fmt: skip
_CLASS_CRITERIA = ["entropy", "log_loss", "error"]
_NUMBER_CRITERIA: list[Setting] = [{"criterion": "absolute_error"}] + [
    {"criterion": c, TARGET: t} for c, t in (("poisson", "counts"), ("gamma", "positive"))
]
_BAGGING: Choices = {
    "max_samples": [0.5], "max_features": [0.5], "bootstrap": [False], "oob_score": [True],
    "bootstrap_features": [True], "oob_importances": [True], "warm_start": [True],
}  # fmt: skip
_BOOSTING: Choices = {
    "subsample": [0.5], "max_features": ["sqrt"], "init": ["zero"], "n_iter_no_change": [2],
    "max_leaf_nodes": [5], "ccp_alpha": [0.01], "warm_start": [True], "min_samples_leaf": [5],
}  # fmt: skip
_HIST: Choices = {
    "l2_regularization": [1.0], "max_features": [0.5], "max_bins": [16], "max_depth": [2],
    "early_stopping": [True], "subsample": [0.5], "interaction_cst": ["no_interactions"],
    "warm_start": [True],
}  # fmt: skip
_KERNELS: Choices = {
    "kernel": ["linear", "poly", "sigmoid"], "gamma": ["auto", 0.1], "shrinking": [False],
    "standardize": [True],
}  # fmt: skip
_GLM: Choices = {
    "solver": ["newton", "newton-cholesky", "lbfgs", "gd"], "alpha": [0.0], "fit_intercept": [False],
    "standardize": [True], "warm_start": [True],
}  # fmt: skip
_NET: Choices = {
    "alpha": [0.0, 1.0], "positive": [True], "selection": ["random"], "solver": ["gd"],
    "standardize": [True], "fit_intercept": [False], "precompute": [True], "warm_start": [True],
}  # fmt: skip
_NET_CV: Choices = {
    "positive": [True], "selection": ["random"], "solver": ["gd"], "standardize": [True],
    "cv": [3], "fit_intercept": [False], "precompute": [False],
}  # fmt: skip
_SGD: Choices = {
    "penalty": ["l1", "elasticnet", None], "early_stopping": [True], "average": [True],
    "standardize": [True], "fit_intercept": [False], "warm_start": [True], "shuffle": [False],
}  # fmt: skip
_RATES = ["constant", "invscaling", "adaptive", "pa1", "pa2"]
_COUNTS_NB: Choices = {"alpha": [0.0, 0.5], "fit_prior": [False]}
_NEIGHBORS: Choices = {
    "weights": ["distance", "exp", "rational"], "algorithm": ["ball_tree", "kd_tree", "brute"],
    "metric": ["cosine", "manhattan", "chebyshev", "gower", "mahalanobis"], "p": [3],
    "standardize": [True],
}  # fmt: skip
_SEARCH: Choices = {name: values for name, values in _NEIGHBORS.items() if name != "weights"}
_NETWORK: Choices = {
    "activation": ["identity", "logistic", "tanh"], "solver": ["lbfgs", "sgd", "gd"],
    "early_stopping": [True], "dropout": [0.2], "dtype": ["float32"], "standardize": [True],
    "hidden_layer_sizes": [(6, 4)], "batch_size": [32], "warm_start": [True],
}  # fmt: skip
_SMALL_NET: Setting = {"hidden_layer_sizes": (8,), "learning_rate_init": 0.02, "max_iter": 12}

SETTINGS: dict[str, list[Setting]] = {
    "KMeans": vary({"n_clusters": 4}, init=["random"], algorithm=["elkan"], n_init=[3]),
    "PCA": vary(
        {"n_components": 3}, svd_solver=["full", "covariance_eigh", "arpack", "randomized"],
        whiten=[True], n_components=[None, "mle", 0.8],
    ),
    "FisherDiscriminant": vary({TARGET: "two"}, cutoff=["density", "error"]),
    "GaussianBayesClassifier": vary(
        covariance=["shared", "diagonal", "spherical"], shrinkage=["auto", 0.3]
    ),
    "LinearDiscriminantAnalysis": [
        *vary(solver=["lsqr", "eigen"], n_components=[1], store_covariance=[True]),
        {"solver": "lsqr", "shrinkage": "auto"}, {"solver": "eigen", "shrinkage": 0.3},
    ],
    "QuadraticDiscriminantAnalysis": [
        *vary(reg_param=[0.2], store_covariance=[True], solver=["eigen"]),
        {"solver": "eigen", "shrinkage": "auto"},
    ],
    "DummyClassifier": vary(strategy=["most_frequent", "stratified", "uniform"]),
    "DummyRegressor": [
        *vary(strategy=["median"]), {"strategy": "quantile", "quantile": 0.3},
        {"strategy": "constant", "constant": 2.5},
    ],
    "AdaBoostClassifier": vary(
        FEW, learning_rate=[0.5], estimator=[STUMP, made("GaussianNB"), made("LogisticRegression")]
    ),
    "AdaBoostRegressor": vary(
        FEW, loss=["square", "exponential"], estimator=[made("Ridge", alpha=2.0)]
    ),
    "BaggingClassifier": vary(FEW, **_BAGGING, estimator=[made("LogisticRegression"), STUMP]),
    "BlendClassifier": vary(n_folds=[3]),
    "BlendRegressor": vary(n_folds=[3]),
    "BaggingRegressor": vary(FEW, **_BAGGING, estimator=[made("Ridge", alpha=2.0)]),
    "ExtraTreesClassifier": [
        *vary(FEW, criterion=_CLASS_CRITERIA, class_weight=["balanced", "balanced_subsample"]),
        *vary({**FEW, "bootstrap": True}, **_FOREST),
    ],
    "ExtraTreesRegressor": [
        *vary({**FEW, "bootstrap": True}, **_FOREST), *({**FEW, **s} for s in _NUMBER_CRITERIA),
    ],
    "GradientBoostingClassifier": [
        *vary(FEW, **_BOOSTING), {**FEW, "loss": "exponential", TARGET: "two"},
    ],
    "GradientBoostingRegressor": vary(
        FEW, **_BOOSTING, loss=["absolute_error", "huber", "quantile"]
    ),
    "HistGradientBoostingClassifier": vary(
        {"max_iter": 4, "min_samples_leaf": 5}, **_HIST, class_weight=["balanced"]
    ),
    "HistGradientBoostingRegressor": [
        *vary({"max_iter": 4, "min_samples_leaf": 5}, **_HIST, loss=["absolute_error"]),
        {"max_iter": 4, "loss": "quantile", "quantile": 0.7},
        {"max_iter": 4, "loss": "gamma", TARGET: "positive"},
        {"max_iter": 4, "loss": "poisson", TARGET: "counts"},
    ],
    "RandomForestClassifier": vary(
        FEW, **_FOREST, criterion=_CLASS_CRITERIA, class_weight=["balanced", "balanced_subsample"]
    ),
    "RandomForestRegressor": [
        *vary(FEW, **_FOREST), *({**FEW, **s} for s in _NUMBER_CRITERIA),
    ],
    "Nystroem": vary({"n_components": 12}, kernel=["cosine", "linear", "poly", "sigmoid"]),
    "BayesianRegression": vary(prior_variance=[np.inf], intercept_variance=[1.0], noise_variance=[2.0]),
    "BayesianRidge": vary(compute_score=[True], fit_intercept=[False], standardize=[True]),
    "ElasticNet": vary({"alpha": 0.1}, **_NET, l1_ratio=[0.0, 0.1, 1.0]),
    "ElasticNetCV": vary({"alphas": 6}, **_NET_CV, l1_ratio=[(0.2, 0.8)]),
    "GammaRegressor": vary(**_GLM, bound_predictions=[True]),
    "GeneralizedLinearModel": [
        *vary(**{**_GLM, "alpha": [0.1]}),
        *({"family": "binomial", "link": link, TARGET: "shares", "alpha": a}
          for link in ("logit", "probit", "cloglog", "cauchit") for a in (0.0, 0.1)),
        {"family": "poisson", TARGET: "counts"}, {"family": "negative_binomial", TARGET: "counts"},
        {"family": "poisson", "link": "sqrt", TARGET: "counts"},
        {"family": "gamma", TARGET: "positive"}, {"family": "tweedie", TARGET: "positive"},
        {"family": "gamma", "link": "inverse", TARGET: "positive"},
        {"family": "inverse_gaussian", "link": "log", TARGET: "positive"},
        {"family": "poisson", "alpha": 0.1, "l1_ratio": 0.5, TARGET: "counts"},
        {"alpha": 0.1, "l1_ratio": 1.0},
    ],
    "Lasso": vary({"alpha": 0.1}, **_NET),
    "LassoCV": vary({"alphas": 6}, **_NET_CV),
    "LinearRegression": vary(fit_intercept=[False], positive=[True]),
    "LogTargetRidge": vary(alpha=[0.0], standardize=[True], bound_predictions=[True]),
    "LogisticRegression": [
        *vary(
            solver=["cd", "gd", "lbfgs", "newton", "newton-cg", "newton-cholesky", "liblinear",
                    "saga", "sgd"],
            C=[np.inf, 0.01], class_weight=["balanced"], multiclass=["one_vs_rest"],
            fit_intercept=[False], standardize=[True], l1_ratio=[1.0, 0.5],
            warm_start=[True],
        ),
        {"C": np.inf, "multiclass": "one_vs_rest"},
        {"C": np.inf, TARGET: "two"}, {"C": np.inf, "firth": True, TARGET: "two"},
    ],
    "LogisticRegressionCV": vary(
        {"Cs": 3, "cv": 3}, solver=["cd", "lbfgs", "newton"], l1_ratios=[(0.0, 0.5)],
        scoring=["accuracy"], refit=[False],
    ),
    "Perceptron": vary(**_SGD, step=["decreasing"], class_weight=["balanced"]),
    "PoissonRegressor": vary(**_GLM, bound_predictions=[True]),
    "Ridge": vary(
        solver=["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "gd"], alpha=[0.0],
        fit_intercept=[False], positive=[True], standardize=[True],
    ),
    "RidgeCV": vary(
        cv=[3], gcv_mode=["svd", "eigen"], store_cv_results=[True], alpha_per_target=[True],
        scoring=["neg_mean_squared_error"], standardize=[True],
    ),
    "RidgeClassifier": vary(
        solver=["svd", "cholesky", "lsqr", "saga"], class_weight=["balanced"], standardize=[True]
    ),
    "SGDClassifier": vary(
        {"max_iter": 20}, **_SGD, loss=["log_loss", "modified_huber", "squared_hinge", "perceptron",
        "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"],
        learning_rate=_RATES, class_weight=["balanced"],
    ),
    "SGDRegressor": [
        *vary(
            {"max_iter": 20}, **_SGD, learning_rate=["constant", "optimal", "adaptive"],
            loss=["huber", "epsilon_insensitive", "squared_epsilon_insensitive"],
        ),
        *({"loss": "epsilon_insensitive", "learning_rate": rate} for rate in ("pa1", "pa2")),
    ],
    "TweedieRegressor": [
        *vary(**_GLM), {"power": 1.5, TARGET: "counts"}, {"power": 3.0, TARGET: "positive"},
    ],
    "TSNE": vary(
        {"max_iter": 250, "perplexity": 8.0, "n_iter_without_progress": 20, "min_grad_norm": 1e-2},
        method=["exact"], init=["random"],
    ),
    "GaussianMixture": vary(
        {"n_components": 3}, covariance_type=["tied", "diag", "spherical"],
        init_params=["random", "random_from_data", "k-means++"], n_init=[2], warm_start=[True],
    ),
    "BernoulliNB": [*vary(**_COUNTS_NB, binarize=[1.0]), *WORDS],
    "CategoricalNB": vary(**_COUNTS_NB, min_categories=[12]),
    "ComplementNB": [*vary(**_COUNTS_NB, norm=[True]), *WORDS],
    "GaussianNB": vary(var_smoothing=[0.1]),
    "MixedNB": [*vary(alpha=[0.5], var_smoothing=[0.1]), {"table": TEXT}, *WORDS],
    "MultinomialNB": [*vary(**_COUNTS_NB), *WORDS],
    "PoissonNB": vary(**_COUNTS_NB),
    "KNeighborsClassifier": vary(**_NEIGHBORS),
    "KNeighborsRegressor": vary(**_NEIGHBORS),
    "NearestNeighbors": vary({"radius": 3.0}, **_SEARCH),
    "RadiusNeighborsClassifier": vary({"radius": 4.0, "outlier_label": "most_frequent"}, **_NEIGHBORS),
    "RadiusNeighborsRegressor": vary({"radius": 60.0}, **_NEIGHBORS),
    "MLPClassifier": vary(_SMALL_NET, **_NETWORK, class_weight=["balanced"]),
    "MLPRegressor": [
        *vary(_SMALL_NET, **_NETWORK), {**_SMALL_NET, "loss": "poisson", TARGET: "counts"},
    ],
    "LinearSVC": [
        *vary(
            loss=["hinge"], dual=[True, False], multi_class=["crammer_singer"],
            class_weight=["balanced"], standardize=[True], fit_intercept=[False], C=[0.1],
        ),
        {"penalty": "l1", "dual": False},
    ],
    "LinearSVR": vary(
        loss=["squared_epsilon_insensitive"], epsilon=[0.5], dual=[True], standardize=[True],
        fit_intercept=[False],
    ),
    "OneClassSVM": vary({"nu": 0.2}, **_KERNELS),
    "SVC": [
        *vary(
            **_KERNELS, C=[0.1], class_weight=["balanced"], decision_function_shape=["ovo"],
            multi_class=["ovr"], calibrate=[True], break_ties=[True],
        ),
        {"C": np.inf, "max_iter": 500},
    ],
    "SVR": vary(**_KERNELS, C=[0.1], epsilon=[0.5]),
    "DecisionTreeClassifier": [
        *vary(
            **_LIMITS, criterion=_CLASS_CRITERIA, splitter=["random", "hist", "auto"], max_depth=[3],
            class_weight=["balanced"], categories=["one_vs_rest", "apart"], max_split_loss=[0.5],
        ),
        {"ccp_alpha": "cv"},
    ],
    "DecisionTreeRegressor": [
        *vary(
            **_LIMITS, splitter=["random", "hist", "auto"], max_depth=[3],
            categories=["one_vs_rest", "apart"],
        ),
        {"ccp_alpha": "cv"}, *_NUMBER_CRITERIA,
    ],
}  # fmt: skip

# On the long table rows are stored and shared out otherwise; a few settings are enough.
_FIRST = (
    "ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "GaussianNB", "KMeans",
    "RandomForestRegressor", "BaggingRegressor", "GradientBoostingClassifier", "LinearRegression",
    "GradientBoostingRegressor", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor",
    "LogisticRegression", "Ridge", "Lasso", "PCA", "SGDClassifier", "PoissonRegressor",
    "AdaBoostClassifier", "LinearDiscriminantAnalysis",
)  # fmt: skip
LONG: dict[str, list[Setting]] = {
    **{name: SETTINGS[name][:1] for name in _FIRST},
    "DecisionTreeClassifier": vary({"min_samples_leaf": 50}, splitter=["random", "hist"]),
    "DecisionTreeRegressor": vary({"min_samples_leaf": 50}, splitter=["random", "hist"]),
}
