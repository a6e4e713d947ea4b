"""The template of fitting: nothing half-fitted, columns mapped back, tables by path and name."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pellucid import base, data
from pellucid.data.problem import ROWS
from pellucid.decomposition import PCA
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.errors import ConvergenceWarning, DataError, NotFittedError, ParameterError
from pellucid.linear_model import Lasso, LinearRegression, LogisticRegression, RidgeClassifier
from pellucid.manifold import TSNE
from pellucid.parameters import (
    Boolean,
    Choice,
    Integer,
    Jobs,
    Predicate,
    RandomState,
    Real,
    learned,
    param,
    shared,
)
from pellucid.protocol import available_if
from pellucid.records import Status
from tests.contract.classes import public_classes

X = np.arange(6.0).reshape(3, 2)

ANYTHING = Predicate(lambda value: True, "anything")


class Sum(base.Regressor):
    """Predicts the sum of the encoded columns."""

    factor: float = param(1.0, Real(0, 10, "both"), "What the sum is multiplied by.")
    error: Exception | None = param(None, ANYTHING, "What `fit` raises.")
    status: Status | None = param(None, ANYTHING, "How `fit` says that it ended.")
    warm_start: bool = shared.WARM_START

    coef_: np.ndarray = learned("The factor, for each column.")
    status_: Status | None = learned("How the fit ended.")

    def fit(self, X, y, sample_weight=None):
        """Fit."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem):
        if self.error is not None:
            raise self.error
        return {"coef_": np.full(problem.p, self.factor), "status_": self.status}

    def _predict(self, X):
        return X @ self.coef_

    def _explain(self, X):
        return {
            "base": np.zeros(1), "contributions": (X * self.coef_)[:, :, None],
            "prediction": self._predict(X)[:, None], "scale": "response", "method": "sum",
        }  # fmt: skip


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_failure_leaves_nothing_fitted(error):
    model = Sum().fit(X, [1, 2, 3])
    model.error = error
    with pytest.raises(type(error)):
        model.fit(X, [1, 2, 3])
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_warm_start_keeps_the_previous_state_after_a_failure():
    model = Sum(warm_start=True).fit(X, [1, 2, 3])
    model.error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        model.fit(X, [1, 2, 3])
    assert model.predict(X).tolist() == [1.0, 5.0, 9.0]


def test_bad_parameters_and_bad_data_leave_nothing():
    for model, args, error in [
        (Sum(factor=-1), (X, [1, 2, 3]), ParameterError),
        (Sum(), (X, [1, 2]), DataError),
        (Sum(), (X, None), DataError),
    ]:
        with pytest.raises(error):
            model.fit(*args)
        assert not [name for name in vars(model) if name.endswith("_")]


def test_parameter_message():
    text = r"The 'factor' parameter of Sum must be a float in the range \[0, 10\]. Got -1 instead."
    with pytest.raises(ParameterError, match=text):
        Sum(factor=-1).fit(X, [1, 2, 3])


def test_one_warning_with_an_action():
    status = Status("max_iter", "100 iterations were not enough.", "Increase max_iter.")
    with pytest.warns(
        ConvergenceWarning, match=r"Sum: 100 iterations.*Increase max_iter"
    ) as caught:
        Sum(status=status).fit(X, [1, 2, 3])
    assert len(caught) == 1


def test_explanations_are_in_the_users_columns():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": ["x", "y", "x"], "c": [0.0, 1.0, 2.0]})
    model = Sum(factor=2.0).fit(frame, [1, 2, 3])
    assert model.terms_ == ("a", "a missing", "b=x", "b=y", "c")
    explanation = model.explain(frame)
    assert explanation.columns == ("a", "b", "c")
    assert explanation.contributions[1, :, 0].tolist() == [2 * (2.0 + 1), 2.0, 2.0]
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert np.allclose(total, explanation.prediction, rtol=0, atol=1e-12)


def test_target_by_name_and_table_by_path(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [3.0, 4.0]})
    by_name = Sum().fit(frame, "y")
    assert by_name.feature_names_in_.tolist() == ["a"]
    assert Sum().fit(pa.table(frame.to_dict("list")), "y").n_features_in_ == 1
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert Sum().fit(tmp_path / "t.csv", "y").predict(pd.DataFrame({"a": [5]})).tolist() == [5.0]
    with pytest.raises(DataError, match=r"'yy' is not in the table. Did you mean 'y'"):
        Sum().fit(frame, "yy")
    with pytest.raises(DataError, match="absent"):
        Sum().fit(tmp_path / "absent.csv", "y")


def test_nested_table_options_are_parameters():
    model = Sum().set_params(table__missing="drop")
    assert model.get_params()["table__missing"] == "drop"
    assert model.__sklearn_clone__().table == data.Table(missing="drop")
    with pytest.raises(ParameterError, match="must be one of"):
        model.set_params(table__missing="nope").fit(X, [1, 2, 3])
    with pytest.raises(ParameterError, match="Invalid parameter 'nope'"):
        model.set_params(nope=1)


def test_prediction_by_position_after_names_is_silent():
    frame = pd.DataFrame(X, columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(Sum().fit(frame, [1, 2, 3]).predict(X), X.sum(axis=1))


@pytest.mark.parametrize(
    "constraint, good, bad",
    [
        (Real(0, None, "neither"), [1e-300, 5, np.float32(2)], [0, -1, np.nan, np.inf, True, "1"]),
        (Real(0, 1, "both"), [0, 1, 0.5], [-1e-9, 1.1, None]),
        (Real(0, None, "both"), [0, np.inf], [-1, np.nan]),
        (Integer(1), [1, np.int64(7)], [0, 1.0, True, None]),
        (Choice("a", None), ["a", None], ["b", 0]),
        (Boolean | None, [True, None], [1]),
        (Jobs, [None, -1, 2], [0, 1.5]),
        (RandomState, [None, 3, np.random.default_rng(0)], [-1, "seed", 1.5]),
    ],
)
def test_constraints(constraint, good, bad):
    assert all(constraint.accepts(v) for v in good)
    assert not any(constraint.accepts(v) for v in bad)


def test_baselines():
    y = ["cat"] * 5 + ["dog"] * 80 + ["lion"] * 15
    model = DummyClassifier().fit(np.zeros((100, 1)), y)
    assert model.score(np.zeros((100, 1)), y) == 0.8
    assert (
        DummyRegressor(strategy="median").fit([[0]] * 3, [1, 2, 9], [1, 1, 5]).predict([[0]]) == 9
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "model, method",
    [
        (LinearRegression(), "predict"),
        (Lasso(alpha=0.5), "predict"),  # the last coefficient is 0
        (LogisticRegression(), "predict"),
        (LogisticRegression(), "predict_proba"),
        (LogisticRegression(), "decision_function"),
        (LogisticRegression(C=0.01, l1_ratio=1.0), "predict"),
        (PCA(2), "transform"),
    ],
)
def test_a_bad_cell_is_found_after_the_answer_as_before(model, method, bad):
    """Sums show bad cells, so the table is not looked through before: nothing may slip through."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    classifier = isinstance(model, LogisticRegression)
    model.fit(X, X[:, 0] + X[:, 1] > 0 if classifier else X[:, 0] + X[:, 1])
    new = rng.normal(size=(50, 3))
    for j in range(3):
        cells = new.copy()
        cells[7, j] = bad
        if np.isinf(bad):
            with pytest.raises(ValueError, match=f"infinity: row 7, column 'x{j}'"):
                getattr(model, method)(cells)
        else:
            filled = new.copy()
            filled[7, j] = X[:, j].mean()
            found, expected = getattr(model, method)(cells), getattr(model, method)(filled)
            assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=1e-13)


class Sometimes(Sum):
    """A regressor of which one method depends on a parameter, and one on a missing method."""

    @available_if(lambda self: self.factor > 1, "Use a factor above 1.")
    def doubled(self, X):
        """Double."""
        return 2 * self.predict(X)

    @available_if("doubled", "Not here.")
    def quadrupled(self, X):
        """Double twice."""
        return 2 * self.doubled(X)

    @available_if("_missing", "Nothing computes it.")
    def never(self, X):
        """Never called."""


def test_a_method_exists_only_on_its_condition():
    with pytest.raises(AttributeError, match=r"Sometimes has no doubled. Use a factor above 1."):
        _ = Sometimes().doubled
    with pytest.raises(AttributeError, match=r"Sometimes has no quadrupled. Use a factor above 1."):
        _ = Sometimes().quadrupled
    for model in (Sometimes, Sometimes()):  # a class that can never have the method, too
        with pytest.raises(AttributeError, match=r"Sometimes has no never. Nothing computes it."):
            _ = model.never
    assert Sometimes.doubled.__doc__ == "Double."
    model = Sometimes(factor=2.0).fit(X, [1, 2, 3])
    assert model.quadrupled(X) == pytest.approx(4 * model.predict(X))


def test_only_models_that_have_them_show_probabilities_and_explanations():
    assert not hasattr(RidgeClassifier(), "predict_proba")
    assert not hasattr(RidgeClassifier(), "predict_log_proba")
    assert hasattr(LogisticRegression(), "predict_proba") and hasattr(PCA(), "explain")
    assert not hasattr(TSNE(), "explain") and not hasattr(TSNE, "explain")


@pytest.mark.parametrize("model", [cls() for cls in public_classes().values()], ids=repr)
def test_a_class_states_its_rows_once(model):
    """The flag of the class is what `prepare` is asked for."""
    assert model._input_spec().rows == model._rows
    assert model._rows in ROWS


def test_attributes_of_a_subclass_survive_the_fit_of_its_base():
    """A subclass may learn something of its own before it calls the fit of its base."""

    class Centred(LinearRegression):
        def fit(self, X, y):
            self.mean_ = X.mean(axis=0)
            return super().fit(X - self.mean_, y)

        def predict(self, X):
            return super().predict(X - self.mean_)

    X, y = np.arange(12.0).reshape(6, 2) ** 2, np.arange(1.0, 7.0)
    model = Centred().fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X))
    assert (model.fit(2 * X, y).mean_ == 2 * X.mean(axis=0)).all()
