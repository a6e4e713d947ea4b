"""A target of one column, shape (n, 1): predictions and coefficients have scikit-learn's shapes."""

import importlib

import numpy as np
import pytest

import pellucid

MODELS = {
    "linear_model": ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "ElasticNet"),
    "neural_network": ("MLPRegressor",),
    "neighbors": ("KNeighborsRegressor",),
    "dummy": ("DummyRegressor",),
}
NAMES = [(module, name) for module, names in MODELS.items() for name in names]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("module", "name"), NAMES)
def test_shapes_are_those_of_scikit_learn(module, name, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = (X @ [1.0, 2.0, 3.0] + 1.0)[:, None]
    ours, theirs = (
        getattr(importlib.import_module(f"{package}.{module}"), name)().fit(X, y)
        for package in ("pellucid", "sklearn")
    )
    ours.save(tmp_path / "model")
    for model in (ours, pellucid.load(tmp_path / "model")):
        assert model.predict(X).shape == theirs.predict(X).shape
        for attribute in ("coef_", "intercept_", "dual_gap_"):
            shape = np.shape(getattr(model, attribute, None))
            assert shape == np.shape(getattr(theirs, attribute, None))
    explained = ours.explain(X[:2]) if hasattr(ours, "explain") else None
    if explained is not None and hasattr(explained, "contributions"):
        total = explained.base + explained.contributions.sum(axis=1)
        np.testing.assert_allclose(np.ravel(total), np.ravel(ours.predict(X[:2])))
    if "standardize" in ours.get_params():
        assert type(ours)(standardize=True).fit(X, y).predict(X).shape == theirs.predict(X).shape
