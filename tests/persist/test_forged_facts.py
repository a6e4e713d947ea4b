"""Sealed files whose arrays are right and whose other facts are not: refused when they are loaded.

Each of these once loaded, and then raised an exception of Python or NumPy in `summary` and others.
"""

import numpy as np
import pytest

import pellucid
from pellucid import persist
from pellucid.cluster import KMeans
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.errors import ModelFileError
from pellucid.linear_model import (
    BayesianRidge,
    GeneralizedLinearModel,
    LinearRegression,
    LogisticRegression,
    LogTargetRidge,
)
from pellucid.mixture import GaussianMixture
from pellucid.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from tests.persist.forgery import parts, sealed

STRANGE = {
    "nothing": None,
    "a text": "converged",
    "a number": 1,
    "a dict": {"@": "dict", "items": []},
}


def forged(model, path, change):
    """The path of the model's file after `change` of the tree of the model."""
    persist.save(model, path)
    table, document, data = parts(path.read_bytes())
    change(document["model"])
    path.write_bytes(sealed(table, document, data))
    return path


def refused(model, path, change):
    with pytest.raises(ModelFileError):
        pellucid.load(forged(model, path, change))


def entries(tree, name):
    """The pairs of a learned dict, by key."""
    return {pair[0]: pair for pair in tree["learned"][name]["items"]}


@pytest.fixture
def Xy(rng):
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] + rng.normal(size=40) > 0).astype(int)


@pytest.mark.parametrize("value", [*STRANGE, "absent"])
@pytest.mark.parametrize("cls", [GeneralizedLinearModel, BayesianRidge, LogisticRegression, KMeans])
def test_status(cls, value, Xy, tmp_path):
    def change(tree):
        if value == "absent":
            del tree["learned"]["status_"]
        else:
            tree["learned"]["status_"] = STRANGE[value]

    refused(cls().fit(*Xy), tmp_path / "m", change)


@pytest.mark.parametrize("value", [2**70, -(2**63) - 1, "1", None])
@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (GeneralizedLinearModel, "intercept_"),
        (LinearRegression, "intercept_"),
        (LogTargetRidge, "smearing_"),
    ],
)
def test_numbers(cls, name, value, Xy, tmp_path):
    """NumPy takes an integer beyond 64 bits for an object."""
    model = cls().fit(Xy[0], Xy[1] + 1)
    refused(model, tmp_path / "m", lambda tree: tree["learned"].__setitem__(name, value))


@pytest.mark.parametrize(("fact", "value"), [("constant", 1.5), ("constant", 1), ("mass", 0)])
def test_facts_of_least_squares(fact, value, Xy, tmp_path):
    refused(
        LinearRegression().fit(*Xy),
        tmp_path / "m",
        lambda tree: entries(tree, "inference_")[fact].__setitem__(1, value),
    )


def test_the_class_of_outliers(Xy, tmp_path):
    model = RadiusNeighborsClassifier(radius=9.0).fit(*Xy)
    refused(model, tmp_path / "m", lambda tree: tree["learned"].pop("outlier_label_"))
    refused(model, tmp_path / "m", lambda tree: tree["learned"].__setitem__("outlier_label_", 7))
    assert pellucid.load(forged(model, tmp_path / "m", lambda tree: None)).outlier_label_ is None


@pytest.mark.parametrize("fact", ["link", "family", "known", "log_likelihood_precision"])
def test_facts_for_inference(fact, Xy, tmp_path):
    model = GeneralizedLinearModel(family="poisson").fit(*Xy)

    def remove(tree):
        tree["learned"]["inference_"]["items"].remove(entries(tree, "inference_")[fact])

    refused(model, tmp_path / "m", remove)
    refused(
        model, tmp_path / "m", lambda tree: entries(tree, "inference_")[fact].__setitem__(1, [])
    )


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (GeneralizedLinearModel(family="poisson"), "null"),
        (LogisticRegression(C=np.inf), "null_space"),
    ],
)
def test_aliased_columns_that_cannot_be_solved_for(model, name, Xy, tmp_path):
    X, y = Xy
    model.fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
    assert len(model.inference_["aliased"]) == 1
    model.inference_[name] = np.zeros_like(model.inference_[name])
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="aliased"):
        pellucid.load(tmp_path / "m")


@pytest.mark.parametrize("count", [-1, 3, "1", None, 0.5])
def test_number_of_directions(count, Xy, tmp_path):
    model = LinearDiscriminantAnalysis().fit(*Xy)
    refused(model, tmp_path / "m", lambda tree: tree["learned"].update(n_directions_=count))


@pytest.mark.parametrize("text", [[], "words", 1])
def test_text_of_a_table(text, tmp_path):
    """Also in a file of a model that is not fitted, whose parameters are not checked."""
    model = GeneralizedLinearModel(table=pellucid.Table(text=pellucid.Text()))

    def change(tree):
        tree["parameters"]["table"]["fields"]["text"] = text

    refused(model, tmp_path / "m", change)


def test_weights_of_a_mixture(Xy, tmp_path):
    model = GaussianMixture(2, random_state=0).fit(Xy[0])
    model.weights_ = np.zeros(2)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="probabilities"):
        pellucid.load(tmp_path / "m")


def test_neighbours_without_their_tree(Xy, tmp_path):
    model = KNeighborsClassifier().fit(*Xy)
    refused(model, tmp_path / "m", lambda tree: tree["learned"].pop("tree_"))
