"""Which races a method page shows: keys of workloads, by page."""

from __future__ import annotations

RACES: dict[str, tuple[str, ...]] = {
    "adaboost": ("ensemble/AdaBoost, 50 stumps", "ensemble/AdaBoost.R2, 50 trees of depth 3"),
    "bagging": ("ensemble/bagging, 30 trees",),
    "bayesian_regression": ("linear_model/Bayesian ridge",),
    "bootstrap": ("inspection/bootstrap of a mean",),
    "cross_validation": ("model_selection/ridge, 5 folds",),
    "decision_tree": (
        *("tree/tree, full", "tree/tree, depth 5", "tree/tree, histograms, depth 5"),
        "tree/regression tree, depth 8",
    ),
    "discriminant_analysis": ("discriminant_analysis/linear", "discriminant_analysis/quadratic"),
    "dummy": ("dummy/majority",),
    "gaussian_mixture": ("mixture/Gaussian mixture, k=5",),
    "generalized_linear_models": ("linear_model/poisson",),
    "gradient_boosting": (
        *("ensemble/boosting, 100 rounds", "ensemble/boosting, 100 rounds, small table"),
    ),
    "kmeans": ("cluster/k-means, k=10", "cluster/k-means, k=10, k-means++, 5 starts"),
    "lasso": ("linear_model/lasso, tall", "linear_model/lasso, wide"),
    "linear_regression": ("linear_model/least squares", "linear_model/least squares, wide"),
    "logistic_regression": (
        *("linear_model/logistic", "linear_model/softmax", "linear_model/logistic, small"),
        "linear_model/logistic, L1",
    ),
    "naive_bayes": (
        *("naive_bayes/Gaussian", "naive_bayes/Bernoulli", "naive_bayes/multinomial, sparse"),
    ),
    "nearest_neighbours": ("neighbors/kNN 50k x 10, k=5", "neighbors/kNN 20k x 100, k=5"),
    "neural_network": ("neural_network/MLP, one layer of 100, 20 epochs",),
    "pca": ("decomposition/PCA, 10 components",),
    "perceptron": ("linear_model/perceptron, 20 passes",),
    "random_forest": (
        *("ensemble/forest, 100 trees", "ensemble/forest, 100 trees, small table"),
        "ensemble/extra trees, 100 trees",
    ),
    "ridge": ("linear_model/ridge", "linear_model/ridge, 5 penalties, one row left out"),
    "svm": ("svm/SVC rbf 10k x 20", "svm/LinearSVC 100k x 50", "svm/SVR rbf 5k x 20"),
    "tsne": ("manifold/t-SNE, groups by a tree", "manifold/t-SNE, all pairs"),
}
