"""Estimators inside scikit-learn's tools: Pipeline, GridSearchCV, metadata routing, set_output."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metadata_routing import get_routing_for_object

import pellucid
from tests.contract.classes import applies_to, has, make, supervised, transformer, weighted
from tests.contract.compare import answers, assert_same_bits, fitted
from tests.contract.data import frame, mixed, numbers


def test_last_step_of_a_pipeline(Model):
    """The step before it passes frames on untouched, so that nothing may change."""
    sample = mixed(Model)
    pipeline = make_pipeline(FunctionTransformer(), make(Model)).fit(sample.X, sample.y)
    assert_same_bits(answers(fitted(Model, sample), sample.X), answers(pipeline[-1], sample.X))
    for name in ("predict", "transform"):
        if hasattr(pipeline, name):
            getattr(pipeline, name)(sample.X)


@applies_to(transformer, has("transform"))
def test_first_step_of_a_pipeline(Model):
    sample = numbers(Model)
    pipeline = make_pipeline(make(Model), pellucid.dummy.DummyClassifier())
    labels = np.arange(len(sample.X)) % 2
    pipeline.fit(sample.X, labels if sample.y is None else sample.y)
    assert len(pipeline.predict(sample.X)) == len(sample.X)


@applies_to(transformer, has("transform"))
def test_column_transformer(Model):
    sample = numbers(Model)
    X = frame(sample.X)
    columns = list(X.columns[:3])
    parts = ColumnTransformer([("part", make(Model), columns)])
    found = parts.fit_transform(X, sample.y)
    assert np.array_equal(found, fitted(Model, sample.with_X(X[columns])).transform(X[columns]))


@applies_to(supervised)
def test_grid_search_over_the_table(Model):
    sample = mixed(Model)
    grid = {"table__missing": ["indicator", "drop"]}
    estimator = make(Model, table=pellucid.Table())
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(sample.X, sample.y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    best = fitted(
        Model, sample, table=pellucid.Table(missing=search.best_params_["table__missing"])
    )
    assert_same_bits(answers(best, sample.X), answers(search.best_estimator_, sample.X))


@applies_to(supervised)
def test_cross_validation_side_by_side(Model):
    """In two threads of joblib, as one after the other."""
    sample = numbers(Model)
    one = cross_val_predict(make(Model), sample.X, sample.y, cv=3)
    with joblib.parallel_backend("threading"):
        two = cross_val_predict(make(Model), sample.X, sample.y, cv=3, n_jobs=2)
    assert_same_bits(one, two)


@applies_to(supervised, weighted)
def test_weights_are_routed_through_a_search(Model):
    sample = numbers(Model)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = make(Model, table=pellucid.Table())
        estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(estimator, {"table__missing": ["indicator"]}, cv=3)
        search.fit(sample.X, sample.y, sample_weight=sample.weights)
    direct = fitted(Model, sample, sample.weights)
    assert_same_bits(answers(direct, sample.X), answers(search.best_estimator_, sample.X))


@applies_to(weighted)
def test_weights_must_be_requested(Model):
    def routing(model):
        """The model's own requests; one with a splitter is also a router for that."""
        found = get_routing_for_object(model)
        return getattr(found, "_self_request", found)

    with sklearn.config_context(enable_metadata_routing=True):
        requested = routing(make(Model).set_fit_request(sample_weight=True))
        silent = routing(make(Model))
        renamed = routing(make(Model).set_fit_request(sample_weight="mass"))
        copied = sklearn.clone(make(Model).set_fit_request(sample_weight=True))
        assert requested.fit.requests["sample_weight"] is True
        assert set(silent.fit.requests.values()) == {None}
        assert "sample_weight" in silent.fit.requests
        assert renamed.fit.requests["sample_weight"] == "mass"
        assert routing(copied).fit.requests["sample_weight"] is True


@applies_to(transformer, has("transform"))
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_keeps_numbers_names_and_index(Model, container):
    sample = numbers(Model)
    X = frame(sample.X).set_index(np.arange(len(sample.X)) * 3)
    model = fitted(Model, sample.with_X(X))
    expected = model.transform(X)
    assert isinstance(expected, np.ndarray)
    found = model.set_output(transform=container).transform(X)
    assert isinstance(found, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[container])
    assert list(found.columns) == list(model.get_feature_names_out())
    assert np.array_equal(found.to_numpy(), expected)
    if container == "pandas":
        assert found.index.equals(X.index)
    assert isinstance(model.set_output(transform="default").transform(X), np.ndarray)
