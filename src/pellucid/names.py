"""The only list of public classes: lazy imports, model files, contract and compare read it.

A family joins Pellucid by adding its names here. The name of an estimator is its label in model
files; `PARTS` has the labels of all else that a file may hold.
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
        "BlendClassifier",
        "BlendRegressor",
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

# What else a model file may hold, by its label there, and where that class is found today: frozen
# dataclasses inside a fitted model, plain objects with get_params, wrappers around an estimator.
# A label never changes, and no path enters a file: classes may move and be renamed freely.
PARTS: dict[str, str] = {
    "BoostedTrees": "pellucid.ensemble.boosting.trees.BoostedTrees",
    "Design": "pellucid.formula.design.Design",
    "FormulaModel": "pellucid.formula.model.FormulaModel",
    "Nodes": "pellucid.tree.nodes.Nodes",
    "Schema": "pellucid.data.schema.Schema",
    "Status": "pellucid.records.Status",
    "Table": "pellucid.data.table.Table",
    "Text": "pellucid.data.text.Text",
}

# The parts that hold an estimator and that a model file may hold in its place.
WRAPPERS: tuple[str, ...] = ("FormulaModel",)

# Modules at the top of the package that hold functions, not estimators.
MODULES: tuple[str, ...] = ("formula", "inspection", "metrics", "model_selection", "plain", "plot")

# Names at the top of the package, and where each lives.
FUNCTIONS: dict[str, str] = {
    "Table": "pellucid.data",
    "Text": "pellucid.data",
    "compare": "pellucid.comparison",
    "compile": "pellucid.single_row",
    "load": "pellucid.persist",
    "replay": "pellucid.replays",
    "scan": "pellucid.data.sources.find",
    "set_memory": "pellucid.parallel",
    "set_threads": "pellucid.parallel",
    "show_versions": "pellucid.versions",
    "watching": "pellucid.records",
}

# What turns a finished comparison into a page; `Result.report` finds it here.
REPORT = "pellucid.report.write_report"
# What shows the progress of a comparison; `compare(progress=True)` finds it here.
PROGRESS = "pellucid.app.progress"
