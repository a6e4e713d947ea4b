"""D4: a course on predictive modelling."""

import numpy as np

from examples.d0 import iris
from examples.figures import Figure, data_file, run
from pellucid import metrics
from pellucid.data import datasets
from pellucid.dummy import DummyClassifier
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from pellucid.naive_bayes import BernoulliNB, GaussianNB
from pellucid.neural_network import MLPClassifier
from pellucid.tree import DecisionTreeClassifier

WORDS, LABELS = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1]]), [0, 0, 1, 1]
COURSE = datasets.load("course")
TRUE = ["cat"] * 8 + ["other"] * 4
PREDICTED = ["cat"] * 6 + ["other"] * 2 + ["cat"] + ["other"] * 3


def majority():
    animals = ["cat"] * 5 + ["dog"] * 80 + ["lion"] * 15
    return DummyClassifier().fit(np.zeros((100, 1)), animals).score(np.zeros((100, 1)), animals)


def stump(X, y):
    """Training accuracy of a tree with one split."""
    return DecisionTreeClassifier(max_depth=1).fit(X, y).score(X, y)


def female():
    data = datasets.load("height_weight_foot")
    model = GaussianNB(var_smoothing=0).fit(data.X, data.y)
    return model.predict_proba([[6, 130, 8]])[0][list(model.classes_).index("female")]


def bernoulli(alpha):
    return (
        BernoulliNB(alpha=alpha, force_alpha=True).fit(WORDS, LABELS).predict_proba([[1, 0, 0]])[0]
    )


def pipeline():
    A, B, a, b = train_test_split(*iris(), random_state=0)
    return LogisticRegression(standardize=True).fit(A, a).score(B, b)


def cross_validated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 100))
    return cross_val_score(LinearRegression(), X, X[:, :10] @ rng.random(10))


def toy_network():
    model = MLPClassifier((5, 2), solver="lbfgs", alpha=1e-5, random_state=1).fit(
        [[0, 0], [1, 1]], [0, 1]
    )
    return model.predict([[2, 2], [-1, -2]])


def spam():
    data = datasets.load("spambase", path=data_file("spambase.csv"))
    X = np.column_stack([data.X[name].to_numpy() for name in data.features])
    test = np.loadtxt(data_file("spambase_esl_traintest.csv"), skiprows=1) == 1
    model = DecisionTreeClassifier(criterion="entropy", ccp_alpha=0.00721).fit(
        X[~test], data.y[~test]
    )
    wrong = int((model.predict(X[test]) != data.y[test]).sum())
    return data.table.num_rows, (data.y == "spam").mean(), model.get_n_leaves(), wrong / test.sum()


def impurity(p):
    """The impurity at the root of a tree of 20 rows."""
    y = np.arange(20) < 20 * p
    return DecisionTreeClassifier(max_depth=1).fit(np.arange(20)[:, None], y).tree_.impurity[0]


FIGURES = [
    Figure("D4", "majority vote, 5/80/15", 0.8, majority),
    Figure("D4", "course: majority", 0.6,
           lambda: DummyClassifier().fit(COURSE.X, COURSE.y).score(COURSE.X, COURSE.y)),
    Figure("D4", "course: best single column", 0.9, lambda: stump(COURSE.X, COURSE.y)),
    Figure("D4", "P(female | 6, 130, 8) (recomputed)", 0.9999998455713, female, digits=1e-12),
    Figure("D4", "Bernoulli with pseudo-counts", [6 / 7, 1 / 7], lambda: bernoulli(1.0)),
    Figure("D4", "Bernoulli without", [1, 0], lambda: bernoulli(0.0)),
    Figure("D4", "precision, recall, F1", [6 / 7, 0.75, 0.8],
           lambda: metrics.precision_recall_fscore_support(
               TRUE, PREDICTED, pos_label="cat", average="binary")[:3]),
    Figure("D4", "accuracy of the confusion matrix", 0.75, lambda: metrics.accuracy_score(TRUE, PREDICTED)),
    Figure("D4", "stratified 20/80 in 10 folds", [2, 8],
           lambda: sorted(np.bincount(np.repeat([1, 0], [20, 80])[
               next(StratifiedKFold(10).split(range(100), np.repeat([1, 0], [20, 80])))[1]]).tolist())),
    Figure("D4", "sizes of 5 folds of 12 rows", [3, 3, 2, 2, 2],
           lambda: [len(test) for _, test in KFold(5).split(range(12))]),
    Figure("D4", "standardised logistic regression on iris", 0.97, pipeline, digits=5e-3),
    Figure("D4", "R2 of least squares in 5 folds", [1.0] * 5, cross_validated, digits=1e-9),
    Figure("D4", "network on two points", [1, 0], toy_network),
    Figure("D4", "Gini at p = .5, .25, .9", [0.5, 0.375, 0.18], lambda: [impurity(p) for p in (0.5, 0.25, 0.9)]),
    Figure("D4", "Spambase: rows, share of spam, leaves, error", [4601, 0.39, 17, 0.093], spam,
           digits=6e-3),
    Figure("D4", "break point between 15 and 35", 26.5, lambda: DecisionTreeClassifier().fit(
        [[15], [35]], [0, 1]).tree_.threshold[0], "erratum", 25.0),
]  # fmt: skip

run(__name__, FIGURES)
