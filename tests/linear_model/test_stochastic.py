"""Perceptron, SGDClassifier and RidgeClassifier: worked examples, and scikit-learn step by step."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

from pellucid.errors import ConvergenceWarning, ParameterError
from pellucid.linear_model import Perceptron, RidgeClassifier, SGDClassifier

IRIS = load_iris().data[:100], np.repeat([-1, 1], 50)
CANCER = load_breast_cancer(return_X_y=True)
SCALED = (CANCER[0] - CANCER[0].mean(axis=0)) / CANCER[0].std(axis=0)


def test_perceptron_by_hand():
    model = Perceptron(shuffle=False).fit([[2, 1], [-1, -1], [1, -1]], [1, -1, -1])
    assert model.coef_.tolist() == [[1, 2]]
    assert model.intercept_.tolist() == [0]
    assert model.n_mistakes_.tolist() == [2, 0]
    assert model.converged_


def test_perceptron_on_iris_in_order():
    model = Perceptron(shuffle=False).fit(*IRIS)
    assert model.n_mistakes_.tolist() == [2, 2, 1, 0]
    assert model.coef_[0] == pytest.approx([-1.3, -4.1, 5.2, 2.2], abs=1e-12)
    assert model.intercept_[0] == -1


@pytest.mark.parametrize(
    ("step", "mistakes", "coef", "intercept"),
    [
        ("constant", [9, 0], [-2.2, -5.9, 9.8, 4.0], -1),
        ("decreasing", [5, 0], [-0.106667, -0.93, 1.791667, 0.603333], -0.116667),
    ],
)
def test_perceptron_steps(step, mistakes, coef, intercept):
    X, X_test, y, y_test = train_test_split(*IRIS, test_size=0.2, random_state=42)
    model = Perceptron(shuffle=False, step=step).fit(X, y)
    assert model.n_mistakes_.tolist() == mistakes
    assert model.coef_[0] == pytest.approx(coef, abs=1e-6)
    assert model.intercept_[0] == pytest.approx(intercept, abs=1e-6)
    assert model.score(X_test, y_test) == 1


def test_perceptron_in_random_order():
    """Iris, two classes, 80 rows: every one of 20 seeds has all of the other 20 rows right."""
    X, X_test, y, y_test = train_test_split(*IRIS, test_size=0.2, random_state=42)
    for seed in range(20):
        model = Perceptron(random_state=seed, max_iter=5, tol=None).fit(X, y)
        assert model.score(X_test, y_test) == 1


def test_distance_from_the_plane():
    """(3, 4) . (2, 1) - 5 = 5, and the plane's normal has length 5."""
    rows, sides = [[2.0, 1.0], [-1.0, 0.0]], [1, -1]
    model = Perceptron(max_iter=1).fit(rows, sides, coef_init=[[3, 4]], intercept_init=[-5])
    assert model.converged_ and model.coef_.tolist() == [[3, 4]]
    assert model.decision_function([[2, 1]])[0] / np.linalg.norm(model.coef_) == 1.0


def test_perceptron_on_breast_cancer():
    """Separable, but by so little that it does not converge in reasonable time."""
    model = Perceptron(eta0=0.01, max_iter=300, tol=None).fit(SCALED, CANCER[1])
    assert model.score(SCALED, CANCER[1]) >= 0.97
    assert not model.converged_
    averaged = Perceptron(average=True, max_iter=50, tol=None).fit(SCALED, CANCER[1])
    assert averaged.score(SCALED, CANCER[1]) >= 0.97


@pytest.mark.parametrize(
    "options",
    [
        {}, {"loss": "modified_huber"}, {"loss": "squared_hinge"}, {"loss": "perceptron"},
        {"penalty": "l1"}, {"penalty": "elasticnet"}, {"penalty": None}, {"average": True},
        {"learning_rate": "invscaling", "eta0": 0.1}, {"learning_rate": "constant"},
        {"loss": "huber", "learning_rate": "constant"}, {"loss": "epsilon_insensitive"},
        {"fit_intercept": False},
        {"class_weight": {0: 2.0, 1: 0.5}}, {"learning_rate": "pa1", "eta0": 1.0},
        {"learning_rate": "pa2", "eta0": 1.0},
    ],
    ids=str,
)  # fmt: skip
def test_steps_are_scikit_learns(options):
    """In the same order of rows every coefficient is the same after three passes."""
    chosen = options | {"shuffle": False, "tol": None, "max_iter": 3}
    a = SGDClassifier(**chosen).fit(SCALED, CANCER[1])
    b = theirs.SGDClassifier(**chosen).fit(SCALED, CANCER[1])
    assert np.allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-9 * np.abs(b.coef_).max())
    assert np.allclose(a.intercept_, b.intercept_, rtol=1e-9, atol=1e-9)


def test_log_loss_is_scikit_learns():
    """Scikit-learn rounds far scores; so the steps agree to 1e-6 only."""
    chosen = {"loss": "log_loss", "shuffle": False, "tol": None, "max_iter": 3}
    a, b = (M(**chosen).fit(SCALED, CANCER[1]) for M in (SGDClassifier, theirs.SGDClassifier))
    assert np.allclose(a.coef_, b.coef_, atol=1e-6)
    assert np.allclose(a.predict_proba(SCALED), b.predict_proba(SCALED), atol=1e-6)


def test_history_has_the_mean_loss_of_a_pass():
    """One row, weight 2: the loss before its step is log 2."""
    model = SGDClassifier("log_loss", shuffle=False, tol=None, max_iter=1, penalty=None)
    model.fit([[1.0], [1.0]], [0, 1], sample_weight=[2.0, 1e-12])
    assert model.history_["objective"][0] == pytest.approx(np.log(2), rel=1e-9)


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_history_has_the_mean_loss_of_many_rows(weight):
    """Steps of no size: all rows are at the given start."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), rng.integers(0, 2, 2000)
    model = SGDClassifier(
        "log_loss", tol=None, max_iter=1, penalty=None, learning_rate="constant", eta0=1e-30
    )
    model.fit(X, y, [[3.0, -1.0]], [0.5], sample_weight=np.full(2000, weight))
    margin = (2 * y - 1) * (X @ [3.0, -1.0] + 0.5)
    expected = np.logaddexp(0.0, -margin).mean()
    assert model.history_["objective"][0] == pytest.approx(expected, rel=1e-9)


def test_three_classes_are_class_against_the_others():
    X, y = load_iris(return_X_y=True)
    chosen = {"shuffle": False, "tol": None, "max_iter": 4}
    a, b = (M(**chosen).fit(X, y) for M in (SGDClassifier, theirs.SGDClassifier))
    assert np.allclose(a.coef_, b.coef_, rtol=1e-8)


def test_sparse_rows_give_the_same_steps():
    X = np.where(np.abs(SCALED) < 1, 0.0, SCALED)
    for penalty in ("l2", None):
        chosen = {"shuffle": False, "tol": None, "max_iter": 3, "penalty": penalty}
        dense = SGDClassifier(**chosen).fit(X, CANCER[1])
        sparse = SGDClassifier(**chosen).fit(csr_matrix(X), CANCER[1])
        assert np.allclose(dense.coef_, sparse.coef_, rtol=1e-9, atol=1e-9)


def test_partial_fit_goes_on():
    rows = np.random.default_rng(0).permutation(len(SCALED))
    model = SGDClassifier(shuffle=False)
    for part in np.array_split(rows, 3):
        model.partial_fit(SCALED[part], CANCER[1][part], classes=[0, 1])
    once = SGDClassifier(shuffle=False, max_iter=1, tol=None).fit(SCALED[rows], CANCER[1][rows])
    assert np.allclose(model.coef_, once.coef_, rtol=1e-9)
    assert model.t_ == len(rows) + 1


def test_probabilities_only_where_the_loss_gives_them():
    assert not hasattr(SGDClassifier(), "predict_proba")
    with pytest.raises(AttributeError, match="log_loss"):
        _ = SGDClassifier().predict_proba
    model = SGDClassifier("log_loss", random_state=0).fit(*IRIS)
    assert np.allclose(model.predict_proba(IRIS[0]).sum(axis=1), 1)


def test_divergence_is_named():
    with pytest.warns(ConvergenceWarning, match=r"coefficients diverged|Standardise"):
        SGDClassifier(
            "squared_error", learning_rate="constant", eta0=10.0, penalty=None, random_state=0
        ).fit(CANCER[0] * 1e6, CANCER[1])


def test_starts_of_the_wrong_shape_are_named():
    with pytest.raises(ParameterError, match="coef_init"):
        SGDClassifier().fit(*IRIS, coef_init=np.zeros((1, 3)))
    with pytest.raises(ParameterError, match="balanced"):
        SGDClassifier(class_weight="balanced").partial_fit(*IRIS, classes=[-1, 1])
    with pytest.raises(ParameterError, match="alpha"):
        SGDClassifier(alpha=0).fit(*IRIS)


def test_order_of_rows_is_kept_without_shuffling():
    flipped = Perceptron(shuffle=False).fit(IRIS[0][::-1], IRIS[1][::-1])
    assert not np.allclose(flipped.coef_, Perceptron(shuffle=False).fit(*IRIS).coef_)


def test_least_squares_classifier():
    """Sepal columns of iris, setosa against the rest: one error where logistic regression has none."""
    X, y = load_iris().data[:, :2], (load_iris().target > 0).astype(int)
    model = RidgeClassifier(alpha=0).fit(X, y)
    assert np.flatnonzero(model.predict(X) != y).tolist() == [41]
    fitted = (model.decision_function(X) + 1) / 2  # targets 0 and 1 instead of -1 and 1
    assert int(((fitted < 0) | (fitted > 1)).sum()) == 39
    assert [fitted.min(), fitted.max()] == pytest.approx([-0.169682, 1.623055], abs=1e-6)
    found = np.append((model.intercept_ + 1) / 2, model.coef_ / 2)
    assert found == pytest.approx([0.224713, 0.374439, -0.571093], abs=1e-6)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 100.0])
def test_ridge_classifier_equals_scikit_learns(alpha):
    X, y = load_iris(return_X_y=True)
    weights = np.arange(150) % 3 + 1.0
    a = RidgeClassifier(alpha=alpha).fit(X, y, sample_weight=weights)
    b = theirs.RidgeClassifier(alpha=alpha).fit(X, y, sample_weight=weights)
    assert np.allclose(a.coef_, b.coef_, rtol=1e-10)
    assert np.allclose(a.intercept_, b.intercept_, rtol=1e-10)


@pytest.mark.parametrize("make", [Perceptron, SGDClassifier])
@pytest.mark.parametrize("options", [{}, {"average": True, "penalty": "elasticnet"}])
def test_standardised_columns_are_told_in_the_users_units(make, options, rng):
    """The walk is that over scaled columns; the plane is the same plane."""
    mean, spread = CANCER[0].mean(axis=0), CANCER[0].std(axis=0)
    known = {"shuffle": False, "max_iter": 5, "tol": None, "random_state": 0, **options}
    ours = make(standardize=True, **known).fit(*CANCER)
    inside = make(**known).fit(SCALED, CANCER[1])
    assert ours.coef_ * spread == pytest.approx(inside.coef_, rel=1e-8, abs=1e-10)
    assert ours.intercept_ + ours.coef_ @ mean == pytest.approx(inside.intercept_, rel=1e-8)
    scores = ours.decision_function(CANCER[0])
    assert scores == pytest.approx(inside.decision_function(SCALED), rel=1e-7, abs=1e-7)
    assert ours.explain(CANCER[0][:5]).prediction.ravel() == pytest.approx(scores[:5])


def test_standardised_sparse_rows_and_what_cannot_be():
    X = csr_matrix(np.where(CANCER[0] > CANCER[0].mean(axis=0), CANCER[0], 0.0))
    model = SGDClassifier(standardize=True, random_state=0).fit(X, CANCER[1])
    assert model.score(X, CANCER[1]) > 0.9
    with pytest.raises(ParameterError, match="standardize=True is not supported for partial_fit"):
        model.partial_fit(X, CANCER[1])
    again = SGDClassifier(standardize=True, warm_start=True, max_iter=1, tol=None, random_state=0)
    before = again.fit(*CANCER).coef_.copy()
    again.fit(*CANCER)
    assert again.score(*CANCER) > 0.9 and (again.coef_ != before).any()


def test_labels_are_those_of_the_probabilities_far_away_too():
    """Where all chances of classes against the others are too small for a float, or all are 1."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    for factor in (1.0, 1e3, 1e6):
        P = model.predict_proba(factor * X)
        assert np.abs(P.sum(axis=1) - 1).max() < 1e-12
        np.testing.assert_array_equal(model.predict(factor * X), P.argmax(axis=1))
    peer = theirs.SGDClassifier(loss="log_loss").fit(X, y)
    peer.coef_, peer.intercept_ = model.coef_, model.intercept_
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-12)


def test_status_of_a_perceptron_agrees_with_converged():
    X, y = load_iris(return_X_y=True)  # the first class is apart, the others are not
    model = Perceptron().fit(X, y)
    assert not model.converged_ and "no improvement" in model.status_.message
    centres = np.array([[9.0, 0], [-9, 9], [-9, -9]])
    apart = Perceptron().fit(np.repeat(centres, 5, axis=0), np.repeat([0, 1, 2], 5))
    assert apart.converged_ and apart.status_.message == f"Epoch {apart.n_iter_} made no mistake."


def test_early_stopping_leaves_a_row_of_every_class_to_learn_from():
    X, y = np.array([[-3.0], [-2.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    model = SGDClassifier(early_stopping=True, validation_fraction=0.9, random_state=0).fit(X, y)
    assert model.status_.ok
    np.testing.assert_array_equal(model.predict(X), y)


def test_batches_go_on_from_standardised_coefficients_under_l1():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1e-3, 1.0, 1e3]
    y = (X / [1e-3, 1.0, 1e3] @ [2.0, -1.0, 0.0] + rng.normal(size=200) > 0).astype(int)
    model = SGDClassifier(penalty="l1", alpha=0.01, standardize=True, random_state=0).fit(X, y)
    before = model.decision_function(X)
    slow = {"standardize": False, "learning_rate": "constant", "eta0": 1e-16}
    model.set_params(**slow).partial_fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-5)


@pytest.mark.parametrize("Model", [Perceptron, SGDClassifier])
def test_standardised_walks_leave_levels_and_words_their_common_unit(Model, monkeypatch):
    """A rare level divided by its deviation would pull more than a common one."""
    from pellucid.linear_model._sgd import base

    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    city = np.where(np.arange(300) % 50 == 0, "rare", np.where(np.arange(300) % 2, "a", "b"))
    table = pandas.DataFrame({"size": rng.normal(1e4, 300.0, 300), "city": city})
    table.loc[::70, "size"] = np.nan
    y, seen, learn = rng.normal(size=300) > 0, [], base.Units.learn
    monkeypatch.setattr(base.Units, "learn", lambda *a: seen.append(learn(*a)) or seen[-1])
    model = Model(standardize=True, max_iter=5, tol=None, random_state=0).fit(table, y)
    filled = table["size"].fillna(table["size"].mean())
    scale = [1 / filled.std(ddof=0) if term == "size" else 1.0 for term in model.terms_]
    np.testing.assert_allclose(seen[0].scale, scale)
    assert len(scale) == 5  # the number, its flag, three levels


def test_predictions_are_the_most_probable_class_where_chances_are_cut():
    make = pytest.importorskip("sklearn.datasets").make_classification
    X, y = make(600, 6, n_informative=4, n_classes=3, random_state=1)
    model = SGDClassifier(loss="modified_huber", random_state=0).fit(X, y)
    chances = model.predict_proba(X)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-15


def test_early_stopping_judges_repeated_rows_copy_by_copy(monkeypatch):
    """Few different rows with labels of both kinds: each kind keeps its share at each point."""
    from pellucid.linear_model._sgd import base

    seen = []
    held_back = base.held_back

    def spy(weights, groups, some, rng):
        held = held_back(weights, groups, some, rng)
        seen.append((weights, held))
        return held

    monkeypatch.setattr(base, "held_back", spy)
    x, y = np.repeat([0.0, 1.0], 500)[:, None], np.repeat([0, 1, 1, 0], [400, 100, 400, 100])
    SGDClassifier(early_stopping=True, random_state=0, validation_fraction=0.2).fit(x, y)
    ((weights, held),) = seen
    assert sorted(weights) == [100, 100, 400, 400]
    assert np.abs(held / weights - 0.2).max() < 0.12 and held.sum() == 200
