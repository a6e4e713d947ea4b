"""The only list of public classes: lazy imports, model files, contract and compare read it.

A family joins Pellucid by adding its names here.
"""

ESTIMATORS: dict[str, tuple[str, ...]] = {
    "pellucid.cluster": ("KMeans",),
    "pellucid.decomposition": ("PCA",),
    "pellucid.discriminant_analysis": (
        "FisherDiscriminant",
        "GaussianBayesClassifier",
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
    ),
    "pellucid.dummy": ("DummyClassifier", "DummyRegressor"),
    "pellucid.ensemble": (
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "BaggingClassifier",
        "BaggingRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "pellucid.kernel_approximation": ("Nystroem",),
    "pellucid.linear_model": (
        "BayesianRegression",
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "GammaRegressor",
        "GeneralizedLinearModel",
        "Lasso",
        "LassoCV",
        "LinearRegression",
        "LogTargetRidge",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "PoissonRegressor",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "SGDClassifier",
        "SGDRegressor",
        "TweedieRegressor",
    ),
    "pellucid.manifold": ("TSNE",),
    "pellucid.mixture": ("GaussianMixture",),
    "pellucid.naive_bayes": (
        "BernoulliNB",
        "CategoricalNB",
        "ComplementNB",
        "GaussianNB",
        "MixedNB",
        "MultinomialNB",
        "PoissonNB",
    ),
    "pellucid.neighbors": (
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "NearestNeighbors",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
    ),
    "pellucid.neural_network": ("MLPClassifier", "MLPRegressor"),
    "pellucid.svm": ("LinearSVC", "LinearSVR", "OneClassSVM", "SVC", "SVR"),
    "pellucid.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
}

# Frozen dataclasses that may occur inside a fitted model, and so inside a model file.
RECORDS: dict[str, tuple[str, ...]] = {
    "pellucid.data.schema": ("Schema",),
    "pellucid.ensemble.boosting_trees": ("BoostedTrees",),
    "pellucid.records": ("Status",),
    "pellucid.tree.nodes": ("Nodes",),
}

# Frozen dataclasses around an estimator that a model file may hold in its place.
WRAPPERS: dict[str, tuple[str, ...]] = {
    "pellucid.formula.model": ("FormulaModel",),
}

# Plain objects with get_params that may be a part of a model.
OPTIONS: dict[str, tuple[str, ...]] = {
    "pellucid.data.table": ("Table",),
    "pellucid.data.text": ("Text",),
    "pellucid.formula.design": ("Design",),
}

# Modules at the top of the package that hold functions, not estimators.
MODULES: tuple[str, ...] = ("formula", "inspection")

# Names at the top of the package, and where each lives.
FUNCTIONS: dict[str, str] = {
    "Table": "pellucid.data",
    "Text": "pellucid.data",
    "compare": "pellucid.compare",
    "compile": "pellucid.export",
    "load": "pellucid.persist",
    "set_threads": "pellucid.parallel",
    "show_versions": "pellucid.versions",
    "watching": "pellucid.records",
}

# What turns a finished comparison into a page; `Result.report` finds it here.
REPORT = "pellucid.report.writing"
# What shows the progress of a comparison; `compare(progress=True)` finds it here.
PROGRESS = "pellucid.app.progress"
