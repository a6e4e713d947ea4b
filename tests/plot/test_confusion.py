"""The confusion matrix against scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier as Theirs

from pellucid import plot
from pellucid.errors import DataError, ParameterError
from pellucid.tree import DecisionTreeClassifier
from tests.plot.reading import parsed, texts

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
MODEL = DecisionTreeClassifier(max_depth=2).fit(X, NAMES)


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_scikit_learn(normalize, weighted):
    weights = np.linspace(0, 2, len(X)) if weighted else None
    display = plot.ConfusionMatrixDisplay.from_estimator(
        MODEL, X, NAMES, normalize=normalize, sample_weight=weights
    )
    expected = confusion_matrix(NAMES, MODEL.predict(X), normalize=normalize, sample_weight=weights)
    np.testing.assert_allclose(display.values, expected)
    frame = display.frame()
    np.testing.assert_allclose(frame["share" if normalize else "rows"], expected.ravel())
    assert frame["true"][:3] == ["setosa"] * 3
    assert frame["predicted"][:3] == ["setosa", "versicolor", "virginica"]


def test_labels_choose_and_order():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 5, 100), rng.integers(0, 6, 100)
    labels = [4, 0, 5]
    display = plot.ConfusionMatrixDisplay.from_predictions(truth, predicted, labels=labels)
    np.testing.assert_array_equal(display.matrix, confusion_matrix(truth, predicted, labels=labels))


def test_over_folds():
    folds = KFold(5, shuffle=True, random_state=0)
    model = Theirs(max_depth=2, random_state=0)
    display = plot.confusion_matrix(model, X, Y, cv=folds)
    expected = confusion_matrix(Y, cross_val_predict(model, X, Y, cv=folds))
    np.testing.assert_array_equal(display.matrix, expected)
    assert plot.confusion_matrix(model, X, Y, cv=3).matrix.sum() == len(X)


def test_both_pictures_show_the_numbers():
    display = plot.confusion_matrix(MODEL, X, NAMES)
    shown = texts(parsed(display))
    expected = [str(int(v)) for v in display.matrix.ravel()]
    assert shown[-len(expected) :] == expected
    ax = display.plot().ax_
    np.testing.assert_array_equal(ax.images[0].get_array(), display.matrix)
    assert [t.get_text() for t in ax.texts][: len(expected)] == expected
    assert [t.get_text() for t in ax.get_yticklabels()] == ["setosa", "versicolor", "virginica"]
    assert ax.get_ylim() == (2.5, -0.5)


def test_twelve_classes_with_long_names():
    names = [f"{k} → 漢字 a very long class name {'x' * k}" for k in range(12)]
    truth = np.repeat(names, 3)
    display = plot.ConfusionMatrixDisplay.from_predictions(truth, np.roll(truth, 1))
    root = parsed(display)
    whole = "".join(root.itertext())
    assert all(name in whole for name in names)
    display.plot()


def test_unclear_input():
    from_predictions = plot.ConfusionMatrixDisplay.from_predictions
    with pytest.raises(DataError, match="y_true has no rows"):
        from_predictions([], [])
    with pytest.raises(DataError, match="3 rows and y_pred has 2"):
        from_predictions([0, 1, 1], [0, 1])
    with pytest.raises(DataError, match=r"missing value \(row 1\)"):
        from_predictions([0, 1], [0, np.nan])
    with pytest.raises(DataError, match=r"missing value \(row 1\)"):
        from_predictions(["a", None], ["a", "b"])
    with pytest.raises(DataError, match="y_pred contains text, but y_true contains numbers"):
        from_predictions([1, 2], ["1", "2"])
    with pytest.raises(DataError, match=r"one value per row. Got shape \(2, 2\)"):
        from_predictions([[1, 0], [0, 1]], [1, 0])
    with pytest.raises(ParameterError, match="cv must be a number of folds"):
        plot.confusion_matrix(MODEL, X, NAMES, cv="five")
    with pytest.raises(ParameterError, match="normalize must be"):
        from_predictions([0, 1], [0, 1], normalize="rows")
    with pytest.raises(ParameterError, match="must be 2 x 2"):
        plot.ConfusionMatrixDisplay([[1]], ["a", "b"])
    with pytest.raises(ParameterError, match="y is missing"):
        plot.confusion_matrix(MODEL, X, None)
    one = from_predictions([1, 1], [1, 1])
    assert one.matrix.tolist() == [[2.0]]
