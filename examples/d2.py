"""D2, the other chapters: classification, trees, ensembles, networks."""

import warnings
from functools import cache

import numpy as np
import pandas as pd

from examples.d2_regression import boston, standard
from examples.figures import Figure, run
from pellucid.data import datasets
from pellucid.discriminant_analysis import (
    FisherDiscriminant,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from pellucid.linear_model import LogisticRegression, Perceptron
from pellucid.naive_bayes import GaussianNB
from pellucid.neural_network import Dense, Network
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


def quiet(model, *data):
    """Fit without warnings: some studies stop before convergence on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@cache
def matrix(name):
    """Columns and codes of a data set; 1 is benign for breast cancer."""
    data = datasets.load(name)
    X = np.column_stack([data.X[column].to_numpy() for column in data.features])
    codes = np.unique(data.y, return_inverse=True)[1]
    return X, 1 - codes if name == "breast_cancer" else codes


@cache
def penguins(seed):
    """Complete rows by species, and the book's split into training and 83 test rows."""
    frame = datasets.load("penguins").table.to_pandas().drop(columns="year").dropna()
    frame = frame.sort_values("species", kind="stable").reset_index(drop=True)
    test = np.random.RandomState(seed).choice(np.arange(333), 83, replace=False)
    return frame, np.setdiff1d(np.arange(333), test), test


def right(model, seed, *, adelie=False, one_hot=False, drop=()):
    """Correct test rows of a model on the penguins."""
    frame, train, test = penguins(seed)
    X = frame.drop(columns=["species", *drop])
    X = pd.get_dummies(X, drop_first=True).astype(float) if one_hot else X
    y = (frame.species == "Adelie").to_numpy() if adelie else frame.species.to_numpy()
    return int((model.fit(X.iloc[train], y[train]).predict(X.iloc[test]) == y[test]).sum())


def forest_rows():
    return [right(RandomForestClassifier(100, max_features=2, random_state=s), 1, one_hot=True)
            for s in range(5)]  # fmt: skip


def adaboost(criterion, depth):
    tree = DecisionTreeClassifier(max_depth=depth, criterion=criterion)
    return right(AdaBoostClassifier(tree, n_estimators=30), 123, adelie=True, drop=["island"])


def in_sample(model, name, scaled=False):
    X, y = matrix(name)
    X = standard(X) if scaled else X
    return quiet(model, X, y).score(X, y)


def descent(name):
    rows = len(matrix(name)[1])
    return LogisticRegression(C=np.inf, solver="gd", step=1e-4 * rows, max_iter=10_000, tol=0)


def cutoff():
    """The best cut-off in the book's scale: projections on the unscaled direction."""
    X, y = matrix("breast_cancer")
    means = [X[y == c].mean(axis=0) for c in (0, 1)]
    scatter = sum((X[y == c] - m).T @ (X[y == c] - m) for c, m in enumerate(means))
    direction = np.linalg.solve(scatter, means[1] - means[0])
    benign = FisherDiscriminant(cutoff="error").fit(X, y).predict(X) == 1
    return ((X @ direction)[benign].min() + (X @ direction)[~benign].max()) / 2


def penguin_tree():
    frame = penguins(1)[0]
    X = frame[["bill_length_mm", "bill_depth_mm", "flipper_length_mm"]]
    return DecisionTreeClassifier(max_depth=2).fit(X, frame.species)


def thresholds():
    tree = penguin_tree().tree_
    return [tree.threshold[0], tree.threshold[tree.left[0]]]


def tips_root():
    frame = datasets.load("tips").table.to_pandas()
    test = np.random.RandomState(1).choice(np.arange(244), 61, replace=False)
    train = np.setdiff1d(np.arange(244), test)
    X, y = frame.drop(columns="tip"), frame["tip"].to_numpy()
    model = DecisionTreeRegressor(max_depth=7, min_samples_split=5).fit(X.iloc[train], y[train])
    error = ((model.predict(X.iloc[test]) - y[test]) ** 2).mean()
    return [model.tree_.threshold[0], model.get_n_leaves(), error]


CORNERS, VALUES = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0.0, 10.0, 10.0, 0.0])


def book_network(inputs, loss, output, seed):
    """Eight rectifiers; W1, c1, W2, c2 are drawn in this order and divided by 5."""
    state = np.random.RandomState(seed)
    network = Network(inputs, [Dense(8, "relu"), Dense(1, output)], loss)
    drawn = [state.randn(*shape) / 5 for shape in ((8, inputs), (8,), (1, 8), (1,))]
    parts = [*network.coefs, *network.intercepts]
    for part, value in zip(parts, [drawn[0].T, drawn[2].T, drawn[1], drawn[3]], strict=True):
        part[...] = value
    return network


def trained(network, X, y, step, steps):
    """Full gradient steps on the sum of the losses; `gradient` is that of their mean."""
    for _ in range(steps):
        gradient = network.gradient(X, y[:, None].astype(float), np.ones(len(X)))[1]
        network.parameters[...] -= step * len(X) * gradient
    return network


def split(n):
    test = np.random.RandomState(123).choice(np.arange(n), int(n * 0.25), replace=False)
    return np.setdiff1d(np.arange(n), test), test


def cancer_network(steps):
    X, y = matrix("breast_cancer")
    X, (train, test) = standard(X), split(569)
    network = trained(book_network(30, "log", "logistic", 123), X[train], y[train], 1e-4, steps)
    return int(((network.scores(X[test])[:, 0] > 0) == y[test]).sum())


def boston_network():
    X, y = boston()
    X, (train, test) = standard(X), split(506)
    network = trained(book_network(13, "squared", "identity", 0), X[train], y[train], 2e-5, 1000)
    return ((network.predict(X[test])[:, 0] - y[test]) ** 2).mean()


def absolute_value():
    network = Network(1, [Dense(2, "relu"), Dense(1, "identity")])
    parts = [*network.coefs, *network.intercepts]
    for part, value in zip(parts, [[[1.0, -1.0]], [[1.0], [1.0]], [0.0, 0.0], [0.0]], strict=True):
        part[...] = value
    return network.predict(np.array([[-3.0], [0.0], [2.5]]))[:, 0]


def weighted_median(values, weights):
    """The first value whose cumulated weight reaches half of the total."""
    order = np.argsort(values)
    cumulated = np.cumsum(np.array(weights)[order])
    return np.array(values)[order][np.searchsorted(cumulated, cumulated[-1] / 2)]


FIGURES = [
    Figure("D2", "breast cancer, C = 1e5", 0.984182776801406,
           lambda: in_sample(LogisticRegression(C=1e5, solver="newton", max_iter=1000), "breast_cancer")),
    Figure("D2", "breast cancer, 10000 steps, random start", 0.98945,
           lambda: in_sample(descent("breast_cancer"), "breast_cancer", True), "near", (0.984, 0.99)),
    Figure("D2", "wine, softmax by descent", 1.0, lambda: in_sample(descent("wine"), "wine", True)),
    Figure("D2", "wine, softmax, C = 1e5", 1.0,
           lambda: in_sample(LogisticRegression(C=1e5, max_iter=1000), "wine")),
    Figure("D2", "perceptron on breast cancer", 0.97364,
           lambda: in_sample(Perceptron(random_state=0), "breast_cancer", True), "near", (0.97, 1.0)),
    Figure("D2", "Fisher: best cut-off between -.09 and -.08", "-.09 to -.08", cutoff, "near",
           (-0.09, -0.08)),
    Figure("D2", "LDA on wine", 1.0, lambda: in_sample(LinearDiscriminantAnalysis(), "wine")),
    Figure("D2", "QDA on wine", 0.9943820224719101,
           lambda: in_sample(QuadraticDiscriminantAnalysis(), "wine")),
    Figure("D2", "Gaussian naive Bayes on wine", 0.97753, lambda: in_sample(GaussianNB(), "wine"),
           "erratum", 0.9887640449),
    Figure("D2", "softmax by rows", [0.5, 0.5, 0.27, 0.73],
           lambda: np.concatenate([np.exp(z) / np.exp(z).sum() for z in np.array([[1, 1], [0, 1]])]),
           digits=5e-3),
    Figure("D2", "penguins: first thresholds", [206.5, 43.35], thresholds, digits=1e-9),
    Figure("D2", "penguin with flipper 210, bill depth 12", "Gentoo",
           lambda: str(penguin_tree().predict([[45.0, 12.0, 210.0]])[0])),
    Figure("D2", "penguins: Adelie, Chinstrap, Gentoo", [146, 119, 68],
           lambda: penguins(1)[0].species.value_counts().sort_index().tolist(), "erratum", [146, 68, 119]),
    Figure("D2", "tree, split 123, rows of 83", 79,
           lambda: right(DecisionTreeClassifier(criterion="entropy", max_depth=10, min_samples_split=10), 123)),
    Figure("D2", "tree, split 1, rows of 83", 75,
           lambda: right(DecisionTreeClassifier(criterion="entropy", max_depth=10, min_samples_split=10), 1)),
    Figure("D2", "50 bagged trees, rows of 83", 80,
           lambda: right(BaggingClassifier(n_estimators=50, random_state=0), 1), "near", (80, 83)),
    Figure("D2", "50 bagged naive Bayes, rows of 83", 76,
           lambda: right(BaggingClassifier(GaussianNB(), n_estimators=50, random_state=0), 1, one_hot=True),
           "near", (76, 77)),
    Figure("D2", "forest, rows of 83, five seeds", 82, forest_rows, "near", (81, 83)),
    Figure("D2", "AdaBoost, 50 stumps, rows of 83", 81,
           lambda: right(AdaBoostClassifier(n_estimators=50), 1, adelie=True, one_hot=True), "near", (81, 83)),
    Figure("D2", "AdaBoost, 30 stumps, split 123", 81, lambda: adaboost("entropy", 1), "erratum", 82),
    Figure("D2", "AdaBoost, Gini, depth 3", 81, lambda: adaboost("gini", 3), "erratum", 82),
    Figure("D2", "AdaBoost, entropy, depth 3", 81, lambda: adaboost("entropy", 3), "erratum", 79),
    Figure("D2", "tips: root, leaves, test error (recomputed)", [24.63, 47, 1.19176], tips_root, digits=5e-6),
    Figure("D2", "XOR: squared error of depth 2", 0.0,
           lambda: ((DecisionTreeRegressor(max_depth=2).fit(CORNERS, VALUES).predict(CORNERS) - VALUES) ** 2).sum()),
    Figure("D2", "XOR: leaves with a positive minimum gain", 1,
           lambda: DecisionTreeRegressor(min_impurity_decrease=1e-9).fit(CORNERS, VALUES).get_n_leaves()),
    Figure("D2", "splits of four levels", 10, lambda: 2 ** (4 - 1) - 1, "erratum", 7),
    Figure("D2", "parameters of 13-8-1", 121,
           lambda: Network(13, [Dense(8, "relu"), Dense(1, "identity")]).n_parameters),
    Figure("D2", "|x| by two rectifiers", [3, 0, 2.5], absolute_value),
    Figure("D2", "network, breast cancer, 1000 steps, of 142", 141, lambda: cancer_network(1000), "erratum", 140),
    Figure("D2", "network, Boston, 1000 steps (recomputed)", 16.38, boston_network, digits=1e-2),
    Figure("D2", "weighted median of 10, 30, 20, 40", 30,
           lambda: weighted_median([10, 30, 20, 40], [0.4, 0.6, 0.2, 0.8])),
]  # fmt: skip


run(__name__, FIGURES)
