"""The labels of the paths that files of format 1 hold.

Format 1 named classes by where they were found when it ended, such as `pellucid.tree.nodes.Nodes`.
Invariant: no file of format 1 is written any more, so this table never changes, wherever the
classes move; it is not a list of modules and nothing is imported by it.
"""

from __future__ import annotations

_PATHS: dict[str, str] = {  # module of that time: its classes, whose names became the labels
    "pellucid.cluster": "KMeans",
    "pellucid.data.schema": "Schema",
    "pellucid.data.table": "Table",
    "pellucid.data.text": "Text",
    "pellucid.decomposition": "PCA",
    "pellucid.discriminant_analysis": (
        "FisherDiscriminant GaussianBayesClassifier LinearDiscriminantAnalysis "
        "QuadraticDiscriminantAnalysis"
    ),
    "pellucid.dummy": "DummyClassifier DummyRegressor",
    "pellucid.ensemble": (
        "AdaBoostClassifier AdaBoostRegressor BaggingClassifier BaggingRegressor "
        "ExtraTreesClassifier ExtraTreesRegressor GradientBoostingClassifier "
        "GradientBoostingRegressor HistGradientBoostingClassifier "
        "HistGradientBoostingRegressor RandomForestClassifier RandomForestRegressor"
    ),
    "pellucid.ensemble.boosting_trees": "BoostedTrees",
    "pellucid.formula.design": "Design",
    "pellucid.formula.model": "FormulaModel",
    "pellucid.kernel_approximation": "Nystroem",
    "pellucid.linear_model": (
        "BayesianRegression BayesianRidge ElasticNet ElasticNetCV GammaRegressor "
        "GeneralizedLinearModel Lasso LassoCV LinearRegression LogTargetRidge "
        "LogisticRegression LogisticRegressionCV Perceptron PoissonRegressor Ridge RidgeCV "
        "RidgeClassifier SGDClassifier SGDRegressor TweedieRegressor"
    ),
    "pellucid.manifold": "TSNE",
    "pellucid.mixture": "GaussianMixture",
    "pellucid.naive_bayes": (
        "BernoulliNB CategoricalNB ComplementNB GaussianNB MixedNB MultinomialNB PoissonNB"
    ),
    "pellucid.neighbors": (
        "KNeighborsClassifier KNeighborsRegressor NearestNeighbors "
        "RadiusNeighborsClassifier RadiusNeighborsRegressor"
    ),
    "pellucid.neural_network": "MLPClassifier MLPRegressor",
    "pellucid.records": "Status",
    "pellucid.svm": "LinearSVC LinearSVR OneClassSVM SVC SVR",
    "pellucid.tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "pellucid.tree.nodes": "Nodes",
}

FORMAT_1: dict[str, str] = {
    f"{module}.{label}": label for module, labels in _PATHS.items() for label in labels.split()
}
