"""Worked examples of support vector machines, scikit-learn's figures, conditions checked by hand."""

import numpy as np
import pytest
from sklearn import datasets
from sklearn import svm as peer
from sklearn.model_selection import KFold, train_test_split

from pellucid.svm import SVC, LinearSVC

FOUR = np.array([[0.0, 0], [2, 2], [-1, 0], [3, 3]]), np.array([0, 1, 0, 1])


def test_distance_to_a_hyperplane():
    """theta = (3, 4), theta0 = -5: the point (2, 1) lies at distance |f(x)| / |theta| = 1."""
    u = np.array([3.0, 4.0]) / 5
    foot = u  # 3 * 0.6 + 4 * 0.8 = 5: a point of the plane
    rows = np.vstack([foot + u, foot - u])
    model = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(rows, [1, 0])
    theta = model.coef_[0]
    assert np.allclose(theta / np.linalg.norm(theta), u)
    point = np.array([[2.0, 1.0]])
    assert abs(model.decision_function(point)[0]) / np.linalg.norm(theta) == pytest.approx(1.0)
    assert abs(point[0] @ [3, 4] - 5) / 5 == 1.0


def test_an_intercept_from_the_first_support_vector_would_be_wrong():
    """With C = 0.1 rows 0 and 1 are at their bounds: y_0 - w x_0 = -1 is not the intercept -0.704."""
    X, y = FOUR
    model = SVC(kernel="linear", C=0.1, tol=1e-10).fit(X, y)
    w, b = model.coef_[0], model.intercept_[0]
    assert -1 - w @ X[0] == pytest.approx(-1.0)
    assert b == pytest.approx(-0.704, abs=1e-6)
    signs = np.where(y == 1, 1.0, -1.0)
    free = np.abs(model.dual_coef_[0]) < 0.1 - 1e-9
    rows = model.support_[free]
    assert np.allclose(signs[rows] * (X[rows] @ w + b), 1.0)  # free vectors lie on the margin


def test_two_ways_to_write_the_penalty():
    """lambda / 2 |theta|^2 + mean hinge has the minimum of C = 1 / (n lambda)."""
    X, y = datasets.make_classification(80, 3, n_informative=2, n_redundant=0, flip_y=0.2,
                                        random_state=0)  # fmt: skip
    strength, n, s = 0.05, 80, np.where(y == 1, 1.0, -1.0)
    model = SVC(kernel="linear", C=1 / (n * strength), tol=1e-10).fit(X, y)

    def objective(w, b):
        return strength / 2 * w @ w + np.maximum(1 - s * (X @ w + b), 0).mean()

    w, b = model.coef_[0], model.intercept_[0]
    best, rng = objective(w, b), np.random.default_rng(0)
    for size in (1e-1, 1e-2, 1e-3):
        for _ in range(200):
            step = size * rng.normal(size=4)
            assert objective(w + step[:3], b + step[3]) >= best - 1e-12


def test_two_ways_to_write_the_width():
    """exp(-|x - z|^2 / (2 sigma^2)) is gamma = 1 / (2 sigma^2)."""
    X, y = datasets.make_moons(60, noise=0.2, random_state=0)
    sigma = 0.7
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * sigma**2))
    given = SVC(kernel="precomputed", tol=1e-9).fit(K, y)
    named = SVC(gamma=1 / (2 * sigma**2), tol=1e-9).fit(X, y)
    assert np.allclose(given.decision_function(K), named.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("gamma", [1.0, "auto"])
def test_two_classes_of_iris_are_told_apart(gamma):
    """60 rows to learn from, 40 to judge by: no error in five splits."""
    X, y = datasets.load_iris(return_X_y=True)
    for seed in range(5):
        A, B, a, b = train_test_split(X[:100], y[:100], test_size=0.4, random_state=seed)
        assert SVC(gamma=gamma).fit(A, a).score(B, b) == 1.0


@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_accuracies_of_scikit_learn(name, kernel):
    """In the sample and over five folds, raw and standardised: as many rows right."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    tables = [(X - X.mean(axis=0)) / X.std(axis=0)]
    if name == "iris" or kernel == "rbf":  # straight lines through raw units take LIBSVM seconds
        tables.append(X)
    for T in tables:
        ours, theirs = SVC(kernel=kernel), peer.SVC(kernel=kernel)
        assert ours.fit(T, y).score(T, y) == theirs.fit(T, y).score(T, y)
        right = [0, 0]
        for train, test in KFold(5, shuffle=True, random_state=0).split(T):
            for i, model in enumerate((ours, theirs)):
                right[i] += int((model.fit(T[train], y[train]).predict(T[test]) == y[test]).sum())
        assert right[0] == right[1]


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_conditions_from_the_fitted_model_alone(C):
    """a = 0: outside the margin; 0 < a < C: on it; a = C: inside. No reading of the solver's diary."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for tol in (1e-3, 1e-8):
        model = SVC(C=C, tol=tol).fit(X, y)
        a = np.zeros(len(y))
        a[model.support_] = np.abs(model.dual_coef_[0])
        signs = np.where(y == 1, 1.0, -1.0)
        K = np.exp(-model.gamma_ * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        pull = signs - K @ (signs * a)  # where b must lie for the row to be content
        up = np.where(signs > 0, a < C, a > 0)
        down = np.where(signs > 0, a > 0, a < C)
        assert pull[up].max() - pull[down].min() <= 1.02 * tol
        assert abs(signs @ a) <= 1e-9 * C
        assert ((a >= 0) & (a <= C)).all()


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_the_straight_hinge_reaches_the_minimum(C):
    """Default tolerance and iterations: within 1e-4 of LIBLINEAR run to the end, or a status that says
    how far it is."""
    for name in ("iris", "breast_cancer"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        y = np.where(y == 0, 1.0, -1.0)
        for T in (X / X.max(axis=0), (X - X.mean(axis=0)) / X.std(axis=0)):
            ours = LinearSVC(loss="hinge", C=C).fit(T, y)
            theirs = peer.LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=300_000, random_state=0)
            theirs.fit(T, y)
            assert ours.status_.code == "converged"

            def objective(model, T=T, y=y):
                v = np.append(model.coef_, model.intercept_)
                z = T @ model.coef_[0] + model.intercept_[0]
                return 0.5 * v @ v + C * np.maximum(1 - y * z, 0).sum()

            assert objective(ours) <= objective(theirs) * (1 + 1e-4) + 1e-9
            assert 0 <= ours.history_["duality_gap"][-1] <= 1e-3 * objective(ours)
