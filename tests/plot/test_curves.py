"""History, learning, validation and staged curves, and function plots, against independent ones."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, learning_curve, validation_curve
from sklearn.neighbors import KNeighborsClassifier as Theirs
from sklearn.neural_network import MLPClassifier as TheirNetwork

import pellucid
from pellucid import plot
from pellucid.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression, Ridge
from pellucid.tree import DecisionTreeClassifier
from tests.plot.reading import line_data, parsed, texts

X, Y = load_breast_cancer(return_X_y=True)
X = X[:200, :5]
Y = Y[:200]
XR, YR = load_diabetes(return_X_y=True)
FOLDS = KFold(3, shuffle=True, random_state=0)


def test_history():
    model = LogisticRegression().fit(X, Y)
    display = plot.history(model)
    frame = display.frame()
    for name in ("iteration", "objective", "gradient_norm", "parameter_norm"):
        np.testing.assert_array_equal(frame[name], model.history_[name])
    assert display.shown[:3] == ["objective", "gradient_norm", "parameter_norm"]
    parsed(display)
    axes = display.plot().ax_
    np.testing.assert_array_equal(line_data(axes[0])[0][:, 1], model.history_["objective"])
    assert axes[1].get_yscale() == "log"
    one = plot.history(model, columns=["gradient_norm"])
    assert list(one.frame()) == ["fit", "iteration", "gradient_norm"]
    with pytest.raises(ParameterError, match=r"did not record 'loss'. It recorded: objective"):
        plot.history(model, columns=["loss"])
    with pytest.raises(ParameterError, match="DecisionTreeClassifier has no history_"):
        plot.history(DecisionTreeClassifier().fit(X, Y))


def test_history_of_scikit_learn():
    model = TheirNetwork(max_iter=3000, tol=1e-3, random_state=0).fit(X / X.max(axis=0), Y)
    frame = plot.history(model).frame()
    np.testing.assert_array_equal(frame["objective"], model.loss_curve_)
    assert frame["iteration"] == list(range(1, model.n_iter_ + 1))


class Step:
    def __init__(self, fit, iteration, coef, **numbers):
        self.fit, self.iteration, self.source = fit, iteration, "Ridge"
        self.state, self.numbers = {"coef_": np.array(coef), "intercept_": 0.0}, numbers


class Watch:
    steps = [
        Step(0, 0, [3.0, 4.0], objective=2.0),
        Step(0, 1, [6.0, 8.0], objective=1.0, step_size=0.5),
        Step(1, 0, [0.0, 1.0], objective=5.0),
    ]


def test_history_of_a_watch():
    frame = plot.history(Watch()).frame()
    assert frame["fit"] == ["Ridge (0)", "Ridge (0)", "Ridge (1)"]
    assert frame["objective"] == [2.0, 1.0, 5.0]
    assert frame["parameter_norm"] == [5.0, 10.0, 1.0]
    np.testing.assert_array_equal(frame["step_size"], [np.nan, 0.5, np.nan])
    parsed(plot.history(Watch()))
    empty = type("Empty", (), {"steps": []})()
    with pytest.raises(ParameterError, match="recorded no steps"):
        plot.history(empty)


@pytest.mark.parametrize("scoring", [None, "neg_log_loss"])
def test_learning_curve(scoring):
    model = Theirs(5)
    display = plot.learning_curve(
        model, X, Y, train_sizes=[0.2, 0.5, 1.0], cv=FOLDS, scoring=scoring, random_state=None
    )
    sizes, train, test = learning_curve(
        model, X, Y, train_sizes=[0.2, 0.5, 1.0], cv=FOLDS, scoring=scoring
    )
    assert display.values == sizes.tolist()
    np.testing.assert_allclose(display.train, train)
    np.testing.assert_allclose(display.test, test)
    frame = display.frame()
    name = (scoring or "accuracy").replace("_", " ")
    np.testing.assert_allclose(frame[f"{name} of test rows"], test.ravel())
    parsed(display)
    lines = line_data(display.plot().ax_)
    np.testing.assert_allclose(lines[1], np.column_stack([sizes, test.mean(axis=1)]))


def test_sizes_of_a_learning_curve():
    seen = plot.learning_curve(LinearRegression(), XR, YR, train_sizes=[50, 100], cv=3)
    assert seen.values == [50, 100]
    assert seen.score == "r2"
    for wrong, error in (
        [[0.0, 1.5], "above 0"],
        [[0, 5], "between 1 and"],
        [["a"], "list of numbers"],
    ):
        with pytest.raises((ParameterError, DataError), match=error):
            plot.learning_curve(LinearRegression(), XR, YR, train_sizes=wrong, cv=3)


def test_validation_curve():
    values = [1, 3, 9, 27]
    display = plot.validation_curve(Theirs(), X, Y, "n_neighbors", values, cv=FOLDS)
    train, test = validation_curve(
        Theirs(), X, Y, param_name="n_neighbors", param_range=values, cv=FOLDS
    )
    np.testing.assert_allclose(display.train, train)
    np.testing.assert_allclose(display.test, test)
    errors = plot.validation_curve(Theirs(), X, Y, "n_neighbors", values, cv=FOLDS, scoring="error")
    np.testing.assert_allclose(errors.test, 1 - test)
    assert errors.score == "error rate"
    ax = errors.plot().ax_
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(line_data(ax)[1], np.column_stack([values, 1 - test.mean(axis=1)]))


def test_validation_curve_of_names():
    model = DecisionTreeClassifier(max_depth=2)
    display = plot.validation_curve(model, X, Y, "criterion", ["gini", "entropy"], cv=2)
    assert {"gini", "entropy"} <= set(texts(parsed(display)))
    ax = display.plot().ax_
    assert [t.get_text() for t in ax.get_xticklabels()] == ["gini", "entropy"]
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), display.test.mean(axis=1))
    assert plot.validation_curve(model, X, Y, "max_depth", [1, None], cv=2).frame()["max_depth"] == [
        1, 1, None, None,
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="no values"):
        plot.validation_curve(model, X, Y, "max_depth", [])


def test_staged_errors():
    model = AdaBoostClassifier(n_estimators=12).fit(X[:120], Y[:120])
    display = plot.staged_error(model, X[:120], Y[:120], test=(X[120:], Y[120:]))
    expected = [1 - s for s in model.staged_score(X[120:], Y[120:])]
    np.testing.assert_allclose(display.values["test rows"], expected)
    assert display.frame()["base estimators"] == list(range(1, 13)) * 2
    parsed(display)
    np.testing.assert_allclose(line_data(display.plot().ax_)[1][:, 1], expected)
    boosted = GradientBoostingClassifier(n_estimators=6).fit(X, Y)
    found = plot.staged_error(boosted, X, Y, scoring="log_loss")
    losses = [log_loss(Y, p) for p in boosted.staged_predict_proba(X)]
    np.testing.assert_allclose(found.values["rows"], losses)
    regressor = GradientBoostingRegressor(n_estimators=5).fit(XR, YR)
    squares = [np.mean((YR - p) ** 2) for p in regressor.staged_predict(XR)]
    np.testing.assert_allclose(plot.staged_error(regressor, XR, YR).values["rows"], squares)
    with pytest.raises(ParameterError, match="Ridge has no staged_predict"):
        plot.staged_error(Ridge().fit(XR, YR), XR, YR)


def test_losses():
    frame = plot.losses().frame()
    z = np.array(frame["margin y f(x)"])
    np.testing.assert_array_equal(frame["0-1"], z <= 0)
    np.testing.assert_allclose(frame["logistic"], -np.log(expit(z)))
    np.testing.assert_allclose(frame["hinge"], [max(0, 1 - v) for v in z])
    np.testing.assert_allclose(frame["perceptron"], [max(0, -v) for v in z])
    residual = plot.losses("regression").frame()
    r = np.array(residual["residual"])
    np.testing.assert_allclose(residual["Huber (1)"], np.where(abs(r) < 1, r * r / 2, abs(r) - 0.5))
    assert list(plot.losses(names=["hinge"]).frame()) == ["margin y f(x)", "hinge"]
    with pytest.raises(ParameterError, match=r"Unknown curve 'log'. Use '0-1', 'hinge'"):
        plot.losses(names=["log"])
    with pytest.raises(ParameterError, match="kind must be"):
        plot.losses("ranking")
    line = plot.losses(names=["0-1"]).plot().ax_.get_lines()[0]
    assert np.isnan(line.get_ydata()).sum() == 1


def test_links_and_impurities():
    frame = plot.links().frame()
    z = np.array(frame["linear score"])
    np.testing.assert_allclose(frame["logit (sigmoid)"], 1 / (1 + np.exp(-z)))
    np.testing.assert_allclose(frame["probit"], norm.cdf(z))
    frame = plot.impurities().frame()
    for p, gini, entropy, wrong in zip(*frame.values()):
        assert gini == pytest.approx(1 - p**2 - (1 - p) ** 2)
        assert wrong == pytest.approx(1 - max(p, 1 - p))
        bits = -sum(q * np.log2(q) for q in (p, 1 - p) if q > 0)
        assert entropy == pytest.approx(bits)
    for display in (plot.links(), plot.impurities(), plot.losses("regression")):
        parsed(display)
        lines = line_data(display.plot().ax_)
        columns = list(display.frame().values())
        for line, values in zip(lines, columns[1:], strict=True):
            np.testing.assert_array_equal(line, np.column_stack([columns[0], values]))


def test_a_real_watch_shows_the_history_of_its_fit():
    with pellucid.watching() as watch:
        model = Ridge(solver="gd", alpha=1.0, max_iter=20_000).fit(XR[:, :2], YR)
    frame = plot.history(watch).frame()
    assert set(frame["fit"]) == {"Ridge"}
    known = dict(zip(model.history_["iteration"], model.history_["objective"]))
    assert frame["objective"] == [
        known[i] for i in frame["iteration"]
    ]  # a watch keeps some of them
    assert frame["iteration"][-1] == model.n_iter_
    parsed(plot.history(watch))
