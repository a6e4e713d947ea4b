"""ROC, precision-recall and gain curves against scikit-learn and plain counting."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)  # fmt: skip
from sklearn.model_selection import StratifiedKFold

from pellucid import plot
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import Perceptron
from pellucid.naive_bayes import GaussianNB
from tests.plot.reading import line_data, parsed, texts

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :4]
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = IRIS[:, :2]
MODEL = GaussianNB().fit(X, Y)
KINDS = [plot.RocCurveDisplay, plot.PrecisionRecallDisplay, plot.GainDisplay]


def ties():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    return y, np.round(y * 0.4 + rng.random(200), 1), rng.integers(0, 4, 200).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_roc(weighted):
    y, score, w = ties()
    w = w if weighted else None
    display = plot.RocCurveDisplay.from_predictions(y, score, sample_weight=w)
    fpr, tpr, thresholds = roc_curve(y, score, sample_weight=w, drop_intermediate=False)
    frame = display.frame()
    np.testing.assert_allclose(frame["false positive rate"], fpr)
    np.testing.assert_allclose(frame["true positive rate"], tpr)
    np.testing.assert_array_equal(frame["threshold"], thresholds)
    assert display.curves[0].area == pytest.approx(roc_auc_score(y, score, sample_weight=w))


@pytest.mark.parametrize("weighted", [False, True])
def test_precision_recall(weighted):
    y, score, w = ties()
    w = w if weighted else None
    display = plot.PrecisionRecallDisplay.from_predictions(y, score, sample_weight=w)
    precision, recall, thresholds = precision_recall_curve(y, score, sample_weight=w)
    frame = display.frame()
    np.testing.assert_allclose(frame["precision"], precision[::-1])
    np.testing.assert_allclose(frame["recall"], recall[::-1])
    np.testing.assert_array_equal(frame["threshold"][1:], thresholds[::-1])
    expected = average_precision_score(y, score, sample_weight=w)
    assert display.curves[0].area == pytest.approx(expected)


def test_gain_and_lift_by_counting():
    y, score, _ = ties()
    frame = plot.GainDisplay.from_predictions(y, score).frame()
    for share, gain, lift, threshold in zip(
        *list(frame.values())[1:3], frame["lift"], frame["threshold"]
    ):
        taken = score >= threshold
        assert share == pytest.approx(taken.mean())
        assert gain == pytest.approx(y[taken].sum() / y.sum())
        if taken.any():
            assert lift == pytest.approx(y[taken].mean() / y.mean())


@pytest.mark.parametrize("kind", KINDS)
def test_the_estimator_is_asked(kind):
    made = kind.from_estimator(MODEL, X, Y).frame()
    given = kind.from_predictions(Y, MODEL.predict_proba(X)[:, 1]).frame()
    for name in made:
        np.testing.assert_allclose(
            *(np.array(f[name], dtype=float if name != "class" else str) for f in (made, given))
        ) if name != "class" else None
    other = kind.from_estimator(MODEL, X, Y, pos_label=0)
    assert other.curves[0].name == "0"
    np.testing.assert_allclose(
        other.curves[0].x, kind.from_predictions(Y == 0, MODEL.predict_proba(X)[:, 0]).curves[0].x
    )


def test_a_decision_function_will_do():
    model = Perceptron().fit(X, Y)
    display = plot.roc(model, X, Y)
    assert display.curves[0].area == pytest.approx(roc_auc_score(Y, model.decision_function(X)))


def test_every_class_against_the_rest():
    model = GaussianNB().fit(IRIS, SPECIES)
    display = plot.roc(model, IRIS, SPECIES)
    p = model.predict_proba(IRIS)
    for k, curve in enumerate(display.curves):
        assert curve.area == pytest.approx(roc_auc_score(k == SPECIES, p[:, k]))
    assert len(set(display.frame()["class"])) == 3


def test_bands_over_folds():
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = Theirs(max_iter=5000)
    display = plot.roc(model, X, Y, cv=folds)
    grid, curves, areas = np.linspace(0, 1, 101), [], []
    for train, test in folds.split(X, Y):
        score = Theirs(max_iter=5000).fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        fpr, tpr, _ = roc_curve(Y[test], score, drop_intermediate=False)
        value = np.interp(grid, fpr, tpr)
        value[0] = 0.0
        curves.append(value)
        areas.append(roc_auc_score(Y[test], score))
    mean, sd = np.mean(curves, axis=0), np.std(curves, axis=0)
    frame = display.frame()
    np.testing.assert_allclose(frame["true positive rate"], mean)
    np.testing.assert_allclose(frame["low"], np.clip(mean - sd, 0, 1))
    np.testing.assert_allclose(frame["high"], np.clip(mean + sd, 0, 1))
    assert display.curves[0].area == pytest.approx(np.mean(areas))
    assert display.curves[0].area_sd == pytest.approx(np.std(areas))
    with pytest.raises(AttributeError):
        model.coef_  # noqa: B018


def test_precision_over_folds():
    folds = StratifiedKFold(3)
    display = plot.precision_recall(GaussianNB(), X, Y, cv=folds)
    values = []
    for train, test in folds.split(X, Y):
        score = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        precision, recall, _ = precision_recall_curve(Y[test], score)
        values.append(
            [precision[::-1][np.argmax(recall[::-1] >= r - 1e-12)] for r in np.linspace(0, 1, 101)]
        )
    np.testing.assert_allclose(display.frame()["precision"], np.mean(values, axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cv", [None, 3])
def test_both_pictures_show_the_curve(kind, cv):
    display = kind.from_cv(MODEL, X, Y, cv=cv) if cv else kind.from_estimator(MODEL, X, Y)
    parsed(display)
    ax = display.plot().ax_
    ax = ax[0] if isinstance(ax, list) else ax
    shown = line_data(ax)[0]
    x, y = display.drawn(display.curves[0])
    np.testing.assert_array_equal(shown, np.column_stack([x, y]))
    spec = display.picture().panels[0]
    line = next(mark for mark in spec.marks if type(mark).__name__ == "Line")
    np.testing.assert_array_equal(np.column_stack([line.x, line.y]), shown)
    if cv:
        outline = ax.collections[0].get_paths()[0].vertices
        assert {round(v, 9) for v in display.frame()["low"]} <= {round(v, 9) for v in outline[:, 1]}


def test_twelve_classes():
    rng = np.random.default_rng(0)
    names = np.array([f"class {k} → ünïcode" for k in range(12)])
    y = np.repeat(names, 10)
    display = plot.RocCurveDisplay.from_predictions(y, rng.random((120, 12)), classes=names)
    assert len(display.curves) == 12
    shown = "".join(texts(parsed(display)))
    assert all(f"class {k} " in shown for k in range(12))
    assert "more" not in shown
    ax = display.plot().ax_
    looks = {
        (line.get_color(), line.get_linestyle(), str(line._dash_pattern)) for line in ax.get_lines()
    }
    assert len(looks) == 13


@pytest.mark.parametrize("kind", KINDS)
def test_unclear_input(kind):
    with pytest.raises(DataError, match="no rows"):
        kind.from_predictions([], [])
    with pytest.raises(DataError, match="only one class"):
        kind.from_predictions([1, 1, 1], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="3 classes need scores with 3 columns"):
        kind.from_predictions([0, 1, 2], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="y_score has 2"):
        kind.from_predictions([0, 1, 1], [0.1, 0.2])
    with pytest.raises(DataError, match="NaN or infinity"):
        kind.from_predictions([0, 1], [0.1, np.nan])
    with pytest.raises(ParameterError, match="pos_label must be one of 0, 1"):
        kind.from_predictions([0, 1], [0.1, 0.2], pos_label=7)
    with pytest.raises(ParameterError, match="neither predict_proba nor decision_function"):
        kind.from_estimator(type("M", (), {"classes_": [0, 1]})(), X, Y)
    with pytest.raises(ParameterError, match="not a fitted classifier"):
        kind.from_estimator(object(), X, Y)
