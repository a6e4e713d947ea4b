"""D0: a chapter on classification algorithms."""

import numpy as np

from examples.figures import Figure, data_file, run
from pellucid import Table, Text
from pellucid.data import datasets
from pellucid.errors import ParameterError
from pellucid.linear_model import LogisticRegression, Perceptron
from pellucid.metrics import accuracy_score, confusion_matrix
from pellucid.model_selection import train_test_split
from pellucid.naive_bayes import BernoulliNB, MultinomialNB
from pellucid.svm import SVC
from pellucid.tree import DecisionTreeClassifier


def iris(classes: int = 3):
    """The four columns, and codes of the first classes."""
    data = datasets.load("iris")
    X = np.column_stack([data.X[name].to_numpy() for name in data.features])
    y = np.unique(data.y, return_inverse=True)[1]
    return X[y < classes], y[y < classes]


def perceptron_confusion():
    X, y = iris(2)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
    return confusion_matrix(y_test, Perceptron(random_state=0).fit(X, y).predict(X_test))


def svm_accuracies():
    X, y = iris(2)
    found = []
    for seed in range(5):
        A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed)
        found.append(SVC(gamma=1.0).fit(A, a).score(B, b))
    return found


def support_vectors():
    X, y = iris(2)
    return len(SVC(gamma=1.0, tol=1e-8).fit(X, y).support_)


def dual_objective():
    X, y = iris(2)
    model = SVC(gamma=1.0, tol=1e-10).fit(X, y)
    signed = model.dual_coef_[0]
    K = np.exp(-((X[model.support_][:, None] - X[model.support_]) ** 2).sum(axis=2))
    return np.abs(signed).sum() - signed @ K @ signed / 2


def sgd_errors():
    data = datasets.load("two_gaussians", n=1000, p=0.4, random_state=0)
    new = datasets.load("two_gaussians", n=20000, p=0.4, random_state=1)
    model = LogisticRegression(
        solver="sgd", tau0=10, kappa=1.0, random_state=0, max_iter=100, tol=0
    )
    return 1 - model.fit(data.X, data.y).score(new.X, new.y)


def kappa_outside():
    try:
        LogisticRegression(solver="sgd", kappa=0.5).fit([[0.0], [1.0]], [0, 1])
    except ParameterError:
        return "refused"
    return "accepted"


def weighted_gini():
    x, y = np.array([[1.5], [1.7], [2.3], [2.7], [2.7]]), np.array([1, 1, 2, 2, 3])
    tree = DecisionTreeClassifier(max_depth=1).fit(x, y)
    leaf = tree.apply(x)
    shares = [np.bincount(y[leaf == k]) / (leaf == k).sum() for k in np.unique(leaf)]
    sizes = [(leaf == k).mean() for k in np.unique(leaf)]
    return sum(n * (1 - (p**2).sum()) for n, p in zip(sizes, shares, strict=True))


def cart_on_iris():
    A, B, a, b = train_test_split(*iris(), test_size=0.2, random_state=42)
    return DecisionTreeClassifier(max_depth=3).fit(A, a).score(B, b)


def news(model):
    """Mean accuracy over six random halves, on the presence of 1000 words."""
    path = data_file("newsgroups4_raw.csv.gz")
    data = datasets.load("newsgroups4", path=path, subset="train")
    texts = data.table.select(["text"])
    words = Text(
        mode="binary", stop_words="english", min_df=2, max_df=0.8, max_words=1000, pattern=r"\w+"
    )
    table = Table(kinds={"text": "text"}, text=words)
    scores = []
    for seed in range(6):
        A, B, a, b = train_test_split(texts, data.y, test_size=0.5, random_state=seed)
        fitted = model(table=table).fit(A, a)
        scores.append(accuracy_score(b, fitted.predict(B)))
    return float(np.mean(scores))


FIGURES = [
    Figure("D0", "perceptron on iris, confusion matrix", [[12, 0], [0, 8]], perceptron_confusion),
    Figure("D0", "SVM accuracy of five splits", [1.0] * 5, svm_accuracies),
    Figure("D0", "support vectors, gamma 1 (recomputed)", 19, support_vectors),
    Figure("D0", "dual objective (recomputed)", 3.14374140386, dual_objective),
    Figure("D0", "Bayes error of the mixture (recomputed)", 0.0765564608,
           lambda: datasets.load("two_gaussians", n=10, p=0.4).facts["bayes_error"], digits=1e-9),
    Figure("D0", "SGD, error on the mixture", "picture", sgd_errors, "near", (0.065, 0.087)),
    Figure("D0", "kappa = 0.5", "refused", kappa_outside),
    Figure("D0", "weighted Gini of five points", 0.27, weighted_gini, digits=5e-3),
    Figure("D0", "CART on iris", 0.8, cart_on_iris, "erratum", 1.0),
    Figure("D0", "newsgroups, multinomial on presence", 0.82, lambda: news(MultinomialNB), "near",
           (0.81, 0.835)),
    Figure("D0", "newsgroups, Bernoulli as described", 0.82, lambda: news(BernoulliNB), "near",
           (0.66, 0.76)),
]  # fmt: skip

run(__name__, FIGURES)
