"""One example of every display of models: `python -m tests.plot.models.model_gallery > page.html`.

The tests hold all of them to the same rules; people look at them in light, dark, wide and narrow.
"""

import numpy as np

import pellucid
from pellucid import plot
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.decomposition import PCA
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from pellucid.ensemble import RandomForestClassifier
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.mixture import GaussianMixture
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.neural_network import MLPClassifier
from pellucid.svm import SVC
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.plot.gallery import LONG

PETALS = ["petal length (cm)", "petal width (cm)"]


def planes():
    moons, iris, tips, penguins = map(load, ("moons", "iris", "tips", "penguins"))
    X, y = moons.X, moons.y
    nb, tree = GaussianNB().fit(X, y), DecisionTreeClassifier().fit(penguins.X, penguins.y)
    yield "regions", plot.regions(KNeighborsClassifier().fit(X, y), X, y, resolution=60)
    lda = LinearDiscriminantAnalysis().fit(iris.X, iris.y)
    yield "discriminants", plot.regions(lda, iris.X, iris.y, resolution=60)
    pair = ["bill_length_mm", "flipper_length_mm"]
    yield "two columns", plot.regions(tree, penguins.X, penguins.y, columns=pair, resolution=60)
    yield "probabilities", plot.surface(nb, X, y, resolution=60)
    least = LinearRegression().fit(tips.X, tips.y)
    yield "predictions", plot.surface(least, tips.X, tips.y, resolution=40)
    models = [nb, LogisticRegression(), SVC(), DecisionTreeClassifier(), KNeighborsClassifier()]
    yield "gallery", plot.gallery(models, X, y, resolution=30, title="Five classifiers")
    yield "margin", plot.margin(SVC().fit(X, y), X, y, resolution=60)
    petals = iris.X.select(PETALS)
    three = SVC(kernel="linear").fit(petals, iris.y)
    yield "margin of three classes", plot.margin(three, petals, iris.y, resolution=60)
    bill = tips.X.select(["total_bill"])
    yield "line", plot.fit(LinearRegression().fit(bill, tips.y), bill, tips.y)
    steps = DecisionTreeRegressor(max_depth=3).fit(tips.X, tips.y)
    yield "steps", plot.fit(steps, tips.X, tips.y, column="total_bill")
    one = iris.X.select(PETALS[:1])
    yield "curves", plot.fit(LogisticRegression().fit(one, iris.y), one, iris.y)
    yield "curve", plot.fit(LogisticRegression().fit(X, y), X, y, column=0)


def groups():
    moons, iris, digits = map(load, ("moons", "iris", "digits"))
    petals = iris.X.select(PETALS)
    nearest = KNeighborsClassifier(1).fit(moons.X, moons.y)
    yield "cells of rows", plot.cells(nearest, moons.X, moons.y)
    yield "cells of centres", plot.cells(KMeans(5, random_state=0).fit(petals), petals)
    yield "mixture", plot.ellipses(GaussianMixture(3, random_state=0).fit(iris.X), iris.X)
    qda = QuadraticDiscriminantAnalysis().fit(petals, iris.y)
    yield "ellipses of classes", plot.ellipses(qda, petals, iris.y)
    yield "silhouette", plot.silhouette(KMeans(4, random_state=0).fit(iris.X), iris.X)
    yield "biplot", plot.biplot(PCA().fit(iris.X), iris.X, iris.y)
    pca = PCA().fit(digits.X)
    yield "scree", plot.scree(pca)
    yield "embedding", plot.embedding(pca, digits.X, digits.y)
    yield "scatter", plot.scatter(iris.X, iris.y)
    yield "pairs", plot.pairs(iris.X, iris.y)
    yield "three columns", plot.scatter3d(iris.X, iris.y, columns=[0, 1, 2])


def diagrams():
    penguins, tips, iris = map(load, ("penguins", "tips", "iris"))
    X, y = penguins.X, penguins.y
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    yield "tree", plot.tree(tree, row=X.slice(5, 1))
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    yield "tree of a forest", plot.tree(forest, tree=3, max_depth=2)
    yield "nodes", plot.tree(forest.estimators_[0].tree_, max_depth=2)
    yield "regression tree", plot.tree(DecisionTreeRegressor(max_depth=2).fit(tips.X, tips.y))
    yield "importances", plot.importances(forest)
    options = {"solver": "lbfgs", "random_state": 0, "tol": 0.1}
    network = MLPClassifier((6, 4), **options).fit(iris.X, iris.y)
    yield "network", plot.network(network)
    wide = MLPClassifier((30,), **options).fit(iris.X, iris.y)
    yield "wide network", plot.network(wide)


def losses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    t = 2 * X[:, 0] + 1 + rng.normal(size=60)
    with pellucid.watching() as watch:
        line = LinearRegression(solver="gd").fit(X, t)
    yield "descent", plot.descent(watch, X, t, resolution=30)
    moons = load("moons")
    with pellucid.watching() as watch:
        logistic = LogisticRegression(solver="gd", max_iter=1000).fit(moons.X, moons.y)
    yield "descent of three", plot.descent(watch, moons.X, moons.y, resolution=30)
    yield "loss surface", plot.loss_surface(line, X, t)
    yield "loss surface of three", plot.loss_surface(logistic, moons.X, moons.y)


def twelve():
    """Twelve classes and columns with long names in many scripts."""
    rng = np.random.default_rng(0)
    names = np.array([f"{k}: {LONG[: 4 + 5 * k]}" for k in range(12)])
    codes = np.repeat(np.arange(12), 15)
    centres = np.array([(np.cos(t), np.sin(t)) for t in np.arange(12) / 12 * 2 * np.pi]) * 6
    points = np.hstack([centres[codes], codes[:, None]]) + rng.normal(size=(180, 3))
    import pandas as pd

    columns = ["größe <in> mm & very long words about one column", "体重（キログラム）", "العمر"]
    return pd.DataFrame(points, columns=columns), names[codes]


def many_classes():
    X, y = twelve()
    two = X.iloc[:, :2]
    yield "regions of twelve", plot.regions(GaussianNB().fit(two, y), two, y, resolution=60)
    yield "directions of twelve", plot.regions(GaussianNB().fit(X, y), X, y, resolution=40)
    yield "scatter of twelve", plot.scatter(two, y)
    yield "pairs of twelve", plot.pairs(X, y)
    yield "three columns of twelve", plot.scatter3d(X, y)
    yield "cells of twelve", plot.cells(KNeighborsClassifier(1).fit(two, y), two, y)
    yield "ellipses of twelve", plot.ellipses(GaussianNB().fit(two, y), two, y)
    yield "biplot of twelve", plot.biplot(PCA().fit(X), X, y)
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    yield "tree of twelve", plot.tree(tree, row=X.iloc[:1])
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    yield "importances with long names", plot.importances(forest)
    options = {"solver": "lbfgs", "random_state": 0, "tol": 0.1}
    yield "network of twelve", plot.network(MLPClassifier((5,), **options).fit(X, y))
    yield "silhouette of twelve", plot.SilhouetteDisplay.from_labels(X, y)
    both = {"one": GaussianNB(), f"two {LONG}": KNeighborsClassifier()}
    yield "gallery of twelve", plot.gallery(both, two, y, resolution=20)


def examples():
    """(name, display) of every example."""
    for part in (planes, groups, diagrams, losses, many_classes):
        yield from part()


def page(dark=False, names=()):
    """One HTML page with all examples."""
    from pellucid.plot.display import _PAGE_CSS, CSS

    css = _PAGE_CSS + CSS
    if dark:
        css = css.replace("@media(prefers-color-scheme:dark)", "@media all")
    figures = "".join(
        f'<h2>{name}</h2><figure class="pl">{display._content()}</figure>'
        for name, display in examples()
        if not names or name in names
    )
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return (
        f"<!doctype html><html><head>{head}<style>{css}</style></head><body>{figures}</body></html>"
    )


if __name__ == "__main__":
    print(page())
