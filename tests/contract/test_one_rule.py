"""Categories, missing cells and unseen levels: one rule for every model.

Missing cells and levels not seen in training never stop a prediction; a level not seen is announced
once per call, with its column and count; `Table` makes either an error.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.errors import DataError, UnseenLevelWarning
from pellucid.records import Explanation
from tests.contract.classes import applies_to, has, make
from tests.contract.compare import answers, asks, assert_same_bits, fitted, learned
from tests.contract.data import mixed, numbers


def asks_new_rows(Model) -> bool:
    return any(has(method)(Model) for method in ("predict", "transform"))


def adds_up_columns(Model) -> bool:
    """Whether a prediction is a sum over columns, by definition."""
    return has("explain")(Model) and Model.__module__.split(".")[1] in (
        "linear_model",
        "naive_bayes",
    )


def test_mixed_table_is_fitted_and_predicted(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    assert model.n_features_in_ == sample.X.shape[1]
    for ask in asks(model):
        found = ask(sample.X)
        assert len(found) == len(sample.X)
        assert np.asarray(found).dtype.kind != "f" or np.all(np.isfinite(np.asarray(found)))


@applies_to(asks_new_rows)
def test_unseen_level_is_announced_once_per_call(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    new = sample.X.copy()
    new["town"] = new["town"].where(~new.index.isin([2, 3, 4]), "Oz")
    for ask in asks(model):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = ask(new)
        said = [w for w in caught if issubclass(w.category, UnseenLevelWarning)]
        assert len(said) == 1, [str(w.message) for w in caught]
        assert "town" in str(said[0].message)
        assert "3" in str(said[0].message)
        assert np.asarray(found).dtype.kind != "f" or np.all(np.isfinite(np.asarray(found)))


@applies_to(asks_new_rows)
def test_two_columns_with_unseen_levels_give_one_warning(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    new = sample.X.astype({"colour": object}).copy()
    new.loc[1, "town"] = "Oz"
    new.loc[[2, 3], "colour"] = "mauve"
    with pytest.warns(UnseenLevelWarning) as caught:
        asks(model)[0](new)
    said = [str(w.message) for w in caught if w.category is not pytest.PytestWarning]
    assert len(said) == 1
    assert "town" in said[0]
    assert "colour" in said[0]


@applies_to(asks_new_rows, lambda Model: Model._layout == "codes")
@pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
def test_unseen_level_counts_as_missing(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    unseen, missing = sample.X.copy(), sample.X.copy()
    unseen.loc[:9, "town"] = "Oz"
    missing.loc[:9, "town"] = None
    assert_same_bits(answers(model, unseen), answers(model, missing))


@applies_to(asks_new_rows)
def test_unseen_level_is_an_error_on_request(Model):
    sample = mixed(Model)
    model = fitted(Model, sample, table=pellucid.Table(unseen="error"))
    new = sample.X.copy()
    new.loc[4, "town"] = "Oz"
    for ask in asks(model):
        with pytest.raises(DataError, match=r"town.*Oz|Oz.*town"):
            ask(new)


def test_missing_cell_is_an_error_on_request(Model):
    sample = mixed(Model)
    model = make(Model, table=pellucid.Table(missing="error"))
    with pytest.raises(DataError, match="height"):
        model.fit(sample.X, sample.y)
    assert not learned(model)


@applies_to(asks_new_rows)
def test_missing_rows_are_dropped_on_request(Model):
    sample = mixed(Model)
    complete = np.flatnonzero(sample.X.notna().all(axis=1))
    dropped = fitted(Model, sample, sample.weights, table=pellucid.Table(missing="drop"))
    by_hand = sample.take(complete)
    direct = fitted(Model, by_hand, by_hand.weights)
    assert_same_bits(answers(direct, by_hand.X), answers(dropped, by_hand.X))


@applies_to(asks_new_rows)
def test_cells_missing_only_at_prediction(Model):
    sample = numbers(Model)
    model = fitted(Model, sample)
    holes = sample.X.copy()
    holes[::3, 1] = np.nan
    holes[4] = np.nan
    for ask in asks(model):
        found = np.asarray(ask(holes))
        assert found.dtype.kind != "f" or np.all(np.isfinite(found))


@applies_to(adds_up_columns)
@pytest.mark.parametrize("cell", [None, "Oz"])
def test_unknown_cells_say_nothing(Model, cell):
    """A cell missing, or a level unseen, only at prediction adds 0, and changes no other column."""
    sample = numbers(Model)
    table = pd.DataFrame(sample.X, columns=list("abcd")).astype(object)
    i = np.arange(60)  # classes go round too, so towns tell of them
    table["town"] = np.array(["Lund", "Ubud", "Rome"], dtype=object)[(i + (i % 4 == 0)) % 3]
    model = fitted(Model, sample.with_X(table))
    new = table.copy()
    new.loc[::3, "town"] = cell
    new.loc[1::3, "b"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = np.asarray(model.explain(new).contributions)
    expected = np.array(model.explain(table).contributions)
    assert np.abs(expected[:, [1, 4]]).max() > 1e-3
    expected[::3, 4] = expected[1::3, 1] = 0.0
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_missing_is_missing_in_every_spelling(Model):
    """None, NaN, NaT and pandas.NA are one thing."""
    sample = mixed(Model)
    base = fitted(Model, sample)
    other = sample.X.astype(object)
    other = other.where(other.notna(), None)
    other["colour"] = pd.Categorical(other["colour"], categories=sample.X["colour"].cat.categories)
    other["when"] = sample.X["when"]
    other["town"] = other["town"].where(other["town"].notna(), np.nan)
    other["height"] = other["height"].where(other["height"].notna(), pd.NA)
    model = fitted(Model, sample.with_X(other))
    assert_same_bits(answers(base, sample.X), answers(model, other))


def test_numbers_declared_as_categories(Model):
    sample = mixed(Model)
    as_words = sample.X.assign(count=sample.X["count"].map("c{}".format))
    table = pellucid.Table(kinds={"count": "categorical"})
    by_kind = fitted(Model, sample, table=table)
    by_words = fitted(Model, sample.with_X(as_words))
    assert_same_bits(answers(by_words, as_words), answers(by_kind, sample.X))


def test_unused_levels_change_nothing(Model):
    """A level that the dtype knows but no row has is a level not seen."""
    sample = mixed(Model)
    wider = sample.X.assign(colour=sample.X["colour"].cat.add_categories(["zinc"]))
    base, model = fitted(Model, sample), fitted(Model, sample.with_X(wider))
    assert_same_bits(answers(base, sample.X), answers(model, wider))


@applies_to(asks_new_rows)
def test_levels_are_matched_by_value_not_by_code(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    turned = sample.X.assign(
        colour=sample.X["colour"].cat.reorder_categories(["green", "amber", "blue"])
    )
    assert_same_bits(answers(model, sample.X), answers(model, turned))
    one = sample.X.iloc[[3]].assign(
        colour=sample.X["colour"].iloc[[3]].cat.remove_unused_categories()
    )
    found, expected = answers(model, one), answers(model, sample.X.iloc[[3]])
    assert_same_bits(expected, found)


@applies_to(asks_new_rows)
def test_constant_and_empty_columns_are_harmless(Model):
    sample = mixed(Model)
    more = sample.X.assign(
        constant=1.5,
        empty=np.nan,
        nothing=pd.Series([None] * len(sample.X), dtype=object),
        one_level="same",
    )
    model = fitted(Model, sample.with_X(more))
    assert model.n_features_in_ == more.shape[1]
    for ask in asks(model):
        found = np.asarray(ask(more))
        assert found.dtype.kind != "f" or np.all(np.isfinite(found))
    if hasattr(model, "feature_importances_"):
        assert np.all(model.feature_importances_[-4:] == 0)
    explanation = model.explain(more) if hasattr(model, "explain") else None
    if isinstance(explanation, Explanation):
        scale = max(1.0, np.max(np.abs(explanation.prediction)))
        assert np.max(np.abs(explanation.contributions[:, -4:])) <= 1e-10 * scale


def test_what_is_reported_has_the_users_columns(Model):
    sample = mixed(Model)
    model = fitted(Model, sample)
    if hasattr(model, "feature_importances_"):
        assert model.feature_importances_.shape == (sample.X.shape[1],)
    if hasattr(model, "coef_") and hasattr(model, "terms_"):
        assert np.shape(model.coef_)[-1] == len(model.terms_)
    assert list(model.feature_names_in_) == list(sample.X.columns)


def test_dates_are_days(Model):
    sample = mixed(Model)
    days = (sample.X["when"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    numeric = sample.X.assign(when=days)
    base, model = fitted(Model, sample), fitted(Model, sample.with_X(numeric))
    assert_same_bits(answers(base, sample.X), answers(model, numeric))
