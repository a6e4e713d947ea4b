"""Bad data: an error of ours that says what and where, and an estimator that stays unfitted."""

import copy
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, NotFittedError, PellucidError
from tests.contract.classes import applies_to, classifier, has, make, one_target, supervised, takes
from tests.contract.compare import asks, assert_same_bits, example, fitted, learned
from tests.contract.data import COLUMNS, frame, mixed, numbers


def put(X, row, column, value):
    """A copy of X, wide enough for the value, with one cell replaced."""
    X = np.array(X, dtype=object if not isinstance(value, int | float | complex) else type(value))
    X[row, column] = value
    return X


# name: (what becomes of the table, what the text must say)
TABLES = {
    "infinite": (
        lambda X: put(X, 7, 2, np.inf),
        r"(?s)inf.*7.*x2|inf.*x2.*7|x2.*inf.*7|7.*x2.*inf",
    ),
    "infinite in a frame": (
        lambda X: frame(put(X, 7, 2, -np.inf)),
        rf"(?s)(?=.*inf)(?=.*{COLUMNS[2]})(?=.*\b7\b)",
    ),
    "infinite in polars": (
        lambda X: pl.DataFrame(put(X, 7, 2, np.inf), schema=COLUMNS),
        rf"(?s)(?=.*inf)(?=.*{COLUMNS[2]})(?=.*\b7\b)",
    ),
    "text among numbers": (lambda X: put(X, 5, 1, "tall"), r"(?s)(?=.*tall)(?=.*x1)"),
    "text among numbers of a frame": (
        lambda X: frame(put(X, 5, 1, "tall")),
        rf"(?s)(?=.*tall)(?=.*{COLUMNS[1]})",
    ),
    "a dict in a cell": (lambda X: put(X, 5, 1, {}), "must be a string or a.* number"),
    "a list in a cell of a frame": (lambda X: frame(put(X, 5, 1, [1])), COLUMNS[1]),
    "complex": (lambda X: put(X, 0, 0, 1j), "Complex data not supported"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no rows of a frame": (lambda X: frame(X).iloc[:0], "0 sample"),
    "no columns": (lambda X: X[:, :0], "0 feature"),
    "no columns of a frame": (lambda X: frame(X)[[]], "0 feature"),
    "one dimension": (lambda X: X[:, 0], "Reshape your data"),
    "three dimensions": (lambda X: X[:, :, None], "3D|3-D|three dim"),
    "a number": (lambda X: 3.5, "scalar|number|Reshape|table"),
    "nothing": (lambda X: None, "None|table"),
    "a dict": (lambda X: {"a": 1}, "dict"),
    "ragged rows": (lambda X: [[1.0], [2.0, 3.0]] * (len(X) // 2), "length|ragged|shape|columns"),
    "duplicate names": (
        lambda X: frame(X).set_axis([*COLUMNS[:3], COLUMNS[0]], axis=1),
        COLUMNS[0],
    ),
}


@pytest.mark.parametrize("fault", TABLES)
def test_bad_table_is_refused_by_fit(Model, fault):
    sample = numbers(Model)
    change, text = TABLES[fault]
    model = make(Model)
    with refused(text):
        model.fit(change(sample.X), sample.y)
    assert_unfitted(model, sample)


@contextmanager
def refused(text=None):
    """An error of ours with this text, short enough to be read."""
    with pytest.raises(PellucidError, match=text) as caught:
        yield
    assert len(str(caught.value)) <= 1000


def assert_unfitted(model, sample):
    assert not learned(model)
    assert set(vars(model)) == set(vars(make(type(model))))
    for ask in asks(model):
        with pytest.raises(NotFittedError):
            ask(sample.X)


@pytest.mark.parametrize("fault", TABLES)
def test_bad_table_is_refused_by_prediction(Model, fault):
    """The model is as good afterwards as it was before."""
    base = example(Model, "frame" if "frame" in fault or "polars" in fault else "numbers")
    change, text = TABLES[fault]
    for ask in asks(base.model):
        before = ask(base.sample.X)
        with refused(text if "columns" not in fault else None):
            ask(change(numbers(Model).X))
        assert np.array_equal(np.asarray(before), np.asarray(ask(base.sample.X)))


def test_failed_second_fit_leaves_nothing_of_the_first(Model):
    sample = numbers(Model)
    model = fitted(Model, sample)
    with pytest.raises(DataError, match="inf"):
        model.fit(put(sample.X, 7, 2, np.inf), sample.y)
    assert_unfitted(model, sample)


@applies_to(supervised)
def test_target_of_another_length(Model):
    sample = numbers(Model)
    model = make(Model)
    with pytest.raises(DataError, match=r"(?s)(?=.*59)(?=.*60)"):
        model.fit(sample.X, sample.y[:-1])
    with pytest.raises(DataError, match=r"(?s)(?=.*59)(?=.*60)"):
        model.fit(sample.X[:-1], sample.y)
    assert_unfitted(model, sample)


@applies_to(supervised)
def test_target_left_out(Model):
    sample = numbers(Model)
    model = make(Model)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        model.fit(sample.X, None)
    assert_unfitted(model, sample)


def test_one_row_is_for_baselines_and_the_index_alone(Model):
    sample = numbers(Model).take(np.array([0]))
    model = make(Model)
    if Model.__name__ in ("DummyClassifier", "DummyRegressor", "NearestNeighbors"):
        model.fit(sample.X, sample.y)
        for ask in asks(model):
            assert np.asarray(ask(sample.X)).dtype.kind != "f" or np.all(np.isfinite(ask(sample.X)))
        return
    with pytest.raises(DataError, match="1 sample is not enough"):
        model.fit(sample.X, sample.y)
    assert_unfitted(model, sample)


@applies_to(classifier)
def test_one_class_is_for_the_baseline_alone(Model):
    sample = numbers(Model)
    y = np.full(len(sample.X), "only")
    model = make(Model)
    if Model.__name__ == "DummyClassifier":
        assert set(model.fit(sample.X, y).predict(sample.X)) == {"only"}
        return
    with pytest.raises(DataError, match="only one class: 'only'"):
        model.fit(sample.X, y)
    assert_unfitted(model, sample)


@pytest.mark.parametrize("name", ["no/such/file.csv", "no/such/file.parquet"])
def test_path_that_does_not_exist(Model, name):
    sample = numbers(Model)
    model = make(Model)
    with pytest.raises((PellucidError, FileNotFoundError), match="no/such/file"):
        model.fit(name, "target")
    assert_unfitted(model, sample)


@applies_to(supervised)
def test_unknown_target_column_is_named(Model, tmp_path):
    sample = numbers(Model)
    path = tmp_path / "table.csv"
    frame(sample.X).to_csv(path, index=False)
    model = make(Model)
    with pytest.raises(DataError, match="nowhere"):
        model.fit(path, "nowhere")
    assert_unfitted(model, sample)


@applies_to(supervised, one_target)
def test_fit_from_a_file_is_fit_from_the_frame(Model, tmp_path):
    sample = numbers(Model)
    X = frame(sample.X)
    path = tmp_path / "table.parquet"
    X.assign(target=sample.y).to_parquet(path)
    model = make(Model).fit(path, "target")
    assert np.array_equal(model.predict(X), fitted(Model, sample.with_X(X)).predict(X))


def test_unfitted_estimator_says_so(Model):
    sample = numbers(Model)
    model = make(Model)
    for name in ("explain", "summary", "predict", "predict_proba", "transform", "score"):
        if hasattr(model, name):
            arguments = () if name == "summary" else (sample.X,)
            arguments += (sample.y,) if name == "score" else ()
            with pytest.raises(NotFittedError, match=Model.__name__):
                getattr(model, name)(*arguments)


def test_interrupted_fit_leaves_nothing(Model, monkeypatch):
    def interrupted(self, problem, **options):
        raise KeyboardInterrupt

    sample = numbers(Model)
    model = fitted(Model, sample)
    monkeypatch.setattr(Model, "_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(sample.X, sample.y)
    assert_unfitted(model, sample)


def test_interruption_after_the_fit_leaves_nothing(Model, monkeypatch):
    """Between the solver's end and the last attribute there must be no half-fitted model either."""

    def interrupted(self, rows):
        raise KeyboardInterrupt

    sample = numbers(Model)
    model = make(Model)
    monkeypatch.setattr(Model, "_after_fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(sample.X, sample.y)
    assert_unfitted(model, sample)


@applies_to(has("partial_fit"))
def test_bad_batch_leaves_the_earlier_ones(Model):
    sample = numbers(Model)
    more = {"classes": np.unique(sample.y)} if classifier(Model) else {}
    model = make(Model).partial_fit(sample.X, sample.y, **more)
    before = copy.deepcopy(learned(model))
    with pytest.raises(DataError, match="inf"):
        model.partial_fit(put(sample.X, 7, 2, np.inf), sample.y)
    assert_same_bits(before, learned(model))
    model.partial_fit(sample.X, sample.y)


@applies_to(takes("warm_start"))
def test_failed_warm_start_keeps_the_previous_fit(Model):
    sample = numbers(Model)
    model = fitted(Model, sample, warm_start=True)
    before = copy.deepcopy(learned(model))
    with pytest.raises(DataError, match="inf"):
        model.fit(put(sample.X, 7, 2, np.inf), sample.y)
    assert_same_bits(before, learned(model))


def test_error_inside_fit_leaves_nothing(Model, monkeypatch):
    def broken(self, problem, **options):
        raise ZeroDivisionError

    sample = mixed(Model)
    model = make(Model)
    monkeypatch.setattr(Model, "_fit", broken)
    with pytest.raises(ZeroDivisionError):
        model.fit(sample.X, sample.y)
    assert_unfitted(model, sample)


def test_no_other_warnings_on_good_data(Model):
    sample = mixed(Model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(Model, sample, sample.weights)
        for ask in asks(model):
            ask(sample.X)


def test_text_column_is_named_where_it_cannot_be_used(Model):
    """A declared text column becomes words where the model can use them, else an error names it."""
    sample = mixed(Model)
    model = make(Model, table=pellucid.Table(kinds={"town": "text"}))
    essay = sample.X.assign(town=pd.Series(["a long story", "short tale"] * 30))
    try:
        model.fit(essay, sample.y)
    except DataError as error:
        assert "town" in str(error)
        assert_unfitted(model, numbers(Model))
    else:
        assert len(asks(model)[0](essay)) == len(essay)
