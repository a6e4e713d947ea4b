"""Rows that several processes share: every model that can be fitted so has the bits of one process.

Threads stand for the processes, so that many models can be tried; real workers: `test_dask_workers`.
"""

import importlib

import numpy as np
import pyarrow as pa
import pytest

from pellucid.beyond_memory import digest
from pellucid.cluster import KMeans
from pellucid.names import ESTIMATORS
from tests.shards import consecutive, fit_in_shards, in_turn

ROWS = 2 * 2**16 + 1_000
# Parameters, and the columns: all, numbers >= 0 without missing values, or categories.
MODELS = {
    "LinearRegression": ({}, "all"), "Ridge": ({}, "all"), "RidgeClassifier": ({}, "all"),
    "Lasso": ({"alpha": 0.01}, "all"), "ElasticNet": ({"alpha": 0.01, "positive": True}, "all"),
    "BayesianRidge": ({}, "all"), "BayesianRegression": ({}, "all"),
    "LogisticRegression": ({}, "all"), "PoissonRegressor": ({}, "all"),
    "GammaRegressor": ({}, "all"), "TweedieRegressor": ({"power": 1.5}, "all"),
    "LinearDiscriminantAnalysis": ({}, "all"), "FisherDiscriminant": ({}, "all"),
    "QuadraticDiscriminantAnalysis": ({}, "numbers"), "GaussianBayesClassifier": ({}, "numbers"),
    "PCA": ({"n_components": 2}, "all"), "GaussianNB": ({}, "all"), "MixedNB": ({}, "all"),
    "BernoulliNB": ({}, "numbers"), "MultinomialNB": ({}, "numbers"),
    "ComplementNB": ({}, "numbers"), "PoissonNB": ({}, "numbers"),
    "CategoricalNB": ({}, "codes"), "GeneralizedLinearModel": ({"family": "gamma"}, "all"),
    "DummyClassifier": ({}, "all"), "DummyRegressor": ({}, "all"),
}  # fmt: skip

# In one process these begin with a sample of the rows; the optimum is the same.
CLOSE = ("LogisticRegression", "PoissonRegressor", "GammaRegressor", "TweedieRegressor",
         "GeneralizedLinearModel")  # fmt: skip


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, size=(ROWS, 3))
    X[:, 2] = np.floor(X[:, 2])
    score = X @ [1.0, -1.0, 0.5]
    group = rng.choice(["a", "b", "c"], ROWS)
    group[-1] = "late"  # a level that only the last process sees
    columns = {"x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2], "group": group.tolist()}
    columns["gaps"] = pa.array(X[:, 0] * X[:, 1], mask=rng.random(ROWS) < 0.05)
    label = np.where(score + rng.logistic(size=ROWS) > 1, "yes", "no")
    return pa.table(
        {**columns, "label": label.tolist(), "units": rng.poisson(np.exp(score / 8)) + 1.0}
    )


def fit_shared(make, table, names, y, runs):
    """The model that each of some processes fits, which hold these runs of rows."""
    own = table.select([*names, *([y] if y else [])])
    return fit_in_shards(make(), own, y, runs=runs)[0]


CUTS = [consecutive(ROWS, 2), consecutive(ROWS, 3), in_turn(ROWS, 2)]


@pytest.mark.parametrize("name", MODELS)
def test_shared_rows_give_equal_bits(name, table):
    parameters, columns = MODELS[name]
    module = next(module for module, names in ESTIMATORS.items() if name in names)
    cls = getattr(importlib.import_module(module), name)
    names = ["x0", "x1", "x2"] + (["group", "gaps"] if columns == "all" else [])
    names = ["x2", "group"] if columns == "codes" else names
    y = {"classes": "label", "none": None}.get(cls._target, "units")
    assert cls(**parameters)._shares_rows
    twin = cls(**parameters).fit(
        table.select(names + ([y] if y else [])), **({"y": y} if y else {})
    )
    models = [
        m for runs in CUTS for m in fit_shared(lambda: cls(**parameters), table, names, y, runs)
    ]
    digests = {digest(model._learned()) for model in models}
    assert len(digests) == 1  # of all processes, however many
    if name in CLOSE:
        least = 1e-12 * np.abs(twin.coef_).max()
        np.testing.assert_allclose(models[0].coef_, twin.coef_, rtol=1e-12, atol=least)
        np.testing.assert_allclose(models[0].intercept_, twin.intercept_, rtol=1e-12, atol=least)
    else:
        assert digests == {digest(twin._learned())}


def test_no_model_that_shares_rows_is_left_out():
    classes = {
        n: getattr(importlib.import_module(m), n) for m, ns in ESTIMATORS.items() for n in ns
    }
    shared = {n for n, cls in classes.items() if getattr(cls, "_shares_rows", False) is not False}
    boosting = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]  # test_shards.py
    assert sorted(shared) == sorted([*MODELS, "KMeans", *boosting])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"algorithm": "elkan", "n_init": 2},
        {"init": [[0.0] * 3, [9e6] * 3, [1.0] * 3, [-9e6] * 3]},
    ],
    ids=["lloyd", "elkan", "empty clusters"],
)
def test_shared_rows_give_the_centres_of_one_process(given, table):
    names = ["x0", "x1", "x2"]
    if not given:  # many equal rows, in all processes
        table = pa.table({name: np.floor(table.column(name)) for name in names})

    def make():
        return KMeans(4, random_state=1, tol=0.01, **given)

    twin = make().fit(table.select(names))
    for runs in CUTS:
        for model in fit_shared(make, table, names, None, runs):
            np.testing.assert_array_equal(model.cluster_centers_, twin.cluster_centers_)
            np.testing.assert_allclose(model.inertia_, twin.inertia_, rtol=1e-14)
            assert model.n_iter_ == twin.n_iter_ and not hasattr(model, "labels_")
