"""One example of every display of this folder: `python -m tests.plot.gallery > page.html`.

The tests hold all of them to the same rules; people look at them in light, dark, wide and narrow.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from pellucid import plot
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.ensemble import GradientBoostingClassifier, RandomForestRegressor
from pellucid.linear_model import BayesianRidge, Lasso, LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.tree import DecisionTreeRegressor
from tests.inspection.tables import mixed

LONG = "a very long class name, longer than any label should be, with ünïcode 漢字 <b>"


def twelve():
    """Twelve classes with long names: true labels and noisy scores."""
    rng = np.random.default_rng(0)
    names = np.array([f"{k}: {LONG[: 4 + 5 * k]}" for k in range(12)])
    y = np.repeat(np.arange(12), 20)
    scores = rng.random((240, 12)) + 0.8 * np.eye(12)[y]
    return names, names[y], scores / scores.sum(axis=1, keepdims=True)


def classifiers():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:, :4], np.array(["malignant", "benign"])[y]
    model = GaussianNB().fit(X, y)
    yield "confusion matrix", plot.confusion_matrix(model, X, y)
    yield "confusion, shares", plot.confusion_matrix(model, X, y, cv=5, normalize="true")
    yield "roc", plot.roc(model, X, y)
    yield "roc over folds", plot.roc(model, X, y, cv=5)
    yield "precision-recall", plot.precision_recall(model, X, y)
    yield "precision-recall over folds", plot.precision_recall(model, X, y, cv=5)
    yield "gain", plot.gain(model, X, y)
    yield "calibration", plot.calibration(model, X, y)
    yield "thresholds", plot.threshold_curve(model, X, y, cv=5, cost_fp=1, cost_fn=5)
    yield "probability histogram", plot.probability_histogram(model, X, y)
    lda = LinearDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    yield "projection", plot.projection_histogram(lda, *load_iris(return_X_y=True))
    logistic = LogisticRegression().fit(X, y)
    yield "decision function", plot.projection_histogram(logistic, X, y)


def many_classes():
    names, y, scores = twelve()
    predicted = names[scores.argmax(axis=1)]
    confusion = plot.ConfusionMatrixDisplay.from_predictions(y, predicted, labels=names)
    yield "confusion of twelve", confusion
    order = {"classes": names}
    yield "roc of twelve", plot.RocCurveDisplay.from_predictions(y, scores, **order)
    yield "gain of twelve", plot.GainDisplay.from_predictions(y, scores, **order)
    digits, label = load_digits(return_X_y=True)
    nb = GaussianNB(var_smoothing=1e-2).fit(digits, label)
    yield "calibration of ten", plot.calibration(nb, digits, label, n_bins=5)
    yield "probabilities of ten", plot.probability_histogram(nb, digits, label, pos_label=3)


def regressions():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = LinearRegression().fit(X, y)
    yield "observed against fitted", plot.observed_fitted(model, X, y, cv=5)
    yield "residuals", plot.residuals(model, X, y)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    yield "residuals of a tree", plot.residuals(tree, X, y)
    yield "coefficients", plot.coefficients(model)
    longer = X.rename(columns={"bmi": LONG, "s1": "<script>alert(1)</script>"})
    yield "long names", plot.coefficients(LinearRegression().fit(longer, y))
    yield "path", plot.coefficient_path(Lasso(), X.to_numpy(), y.to_numpy())
    yield "posterior", plot.posterior(BayesianRidge().fit(X, y))


def curves():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4] / X[:, :4].max(axis=0)
    yield "history", plot.history(LogisticRegression(solver="gd", max_iter=20000).fit(X, y))
    yield "learning curve", plot.learning_curve(KNeighborsClassifier(), X, y, cv=5)
    values = [1, 3, 5, 9, 15, 25, 45, 85, 155]
    knn = KNeighborsClassifier()
    yield (
        "error against k",
        plot.validation_curve(knn, X, y, "n_neighbors", values, cv=5, scoring="error"),
    )
    yield "named values", plot.validation_curve(knn, X, y, "weights", ["uniform", "distance"], cv=5)
    train, test = np.arange(0, 569, 2), np.arange(1, 569, 2)
    model = GradientBoostingClassifier(n_estimators=60).fit(X[train], y[train])
    yield "staged", plot.staged_error(model, X[train], y[train], test=(X[test], y[test]))
    yield "losses", plot.losses()
    yield "losses of regression", plot.losses("regression")
    yield "links", plot.links()
    yield "impurities", plot.impurities()


def inspections():
    frame, y = mixed(150)
    forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(frame, y)
    yield "dependence", plot.partial_dependence(forest, frame)
    yield "dependence and rows", plot.partial_dependence(forest, frame, ["size"], kind="both")
    yield "rows alone", plot.partial_dependence(forest, frame, "size", kind="individual")
    both = ["size", "place", "day", ("place", "grade"), ("size", "count"), ("size", "place")]
    yield "columns and pairs", plot.partial_dependence(forest, frame, both, kind="both")
    groups = {"where and how good, under a very long name": ["place", "grade"]}
    yield (
        "permutation importance",
        plot.permutation_importance(forest, frame, y, groups=groups, random_state=0),
    )
    yield "waterfall", plot.waterfall(forest, frame, 3)
    yield "beeswarm", plot.beeswarm(forest, frame)
    yield "contributions of a number", plot.dependence(forest, frame, "size", colour="count")
    yield "contributions of levels", plot.dependence(forest, frame, "place")
    X, kind = load_iris(return_X_y=True, as_frame=True)
    X, names = X.rename(columns={"petal width (cm)": LONG}), np.array(["setosa", "other", "third"])
    boosted = GradientBoostingClassifier(n_estimators=10).fit(X, names[kind])
    yield "dependence of three classes", plot.partial_dependence(boosted, X)
    yield "waterfall of a class", plot.waterfall(boosted, X, 70)
    cancer, label = load_breast_cancer(return_X_y=True, as_frame=True)
    logistic = LogisticRegression(C=0.01).fit(cancer, label)
    yield "waterfall of many", plot.waterfall(logistic, cancer, 1)
    yield "beeswarm of many", plot.beeswarm(logistic, cancer)


def tables():
    X, y = load_iris(return_X_y=True)
    models = [KNeighborsClassifier(), GaussianNB(), LogisticRegression()]
    yield "scores", plot.scores(models, X, y)
    _, y_long, _ = twelve()
    yield "bars of twelve", plot.bars(y_long, y_long[::-1])
    yield "bars", plot.bars(np.array(["a", "b", LONG])[y], X[:, 0])
    yield "histogram", plot.histogram(X[:, 0], label="sepal length (cm)")
    yield "histogram by class", plot.histogram(X[:, 2], y, label="petal length (cm)")


def gallery():
    """(name, display) of every example."""
    for part in (classifiers, many_classes, regressions, curves, inspections, tables):
        yield from part()


def page() -> str:
    """All of them on one page."""
    parts = [f"<h3>{name}</h3>{display._repr_html_()}" for name, display in gallery()]
    look = (
        "body{font:15px system-ui;color:#1b1b1f;background:#fff;margin:8px}"
        "@media(prefers-color-scheme:dark){body{color:#e9e9ee;background:#131317}}"
    )
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return f"<!doctype html><html><head>{head}<style>{look}</style></head><body>{''.join(parts)}"


if __name__ == "__main__":
    print(page())
