"""Weights of classes: one rule, and what it refuses."""

from importlib import import_module
from inspect import signature

import numpy as np
import pytest

from pellucid import names
from pellucid.data.class_weights import class_factors, class_weighted
from pellucid.errors import ParameterError

MODELS = [
    getattr(import_module(module), name)
    for module, members in names.ESTIMATORS.items()
    for name in members
    if "class_weight" in signature(getattr(import_module(module), name)).parameters
]
X, Y = np.arange(24.0).reshape(12, 2) % 7, np.arange(12) % 2


class Rows:
    y = np.array([0, 0, 0, 1], dtype=np.int32)
    weights = np.array([1.0, 1.0, 2.0, 1.0])
    classes = np.array(["a", "b", "c"])


def test_balanced_classes_weigh_the_same():
    assert class_factors("balanced", Rows).tolist() == [5 / 8, 5 / 2, 0.0]
    weighted = class_weighted("balanced", Rows)
    assert weighted[:3].sum() == weighted[3]


def test_a_dict_names_labels_and_the_rest_counts_once():
    assert class_factors({"b": 3}, Rows).tolist() == [1.0, 3.0, 1.0]
    assert class_weighted(None, Rows) is Rows.weights


def test_there_are_models_to_ask():
    assert len(MODELS) > 10


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({0: -1}, "Got -1 for class 0"), ({0: np.nan}, "Got nan"), ({1: np.inf}, "Got inf"),
        ({0: "a"}, "Got 'a'"), ({0: None}, "Got None"), ({0: 0, 1: 0}, "no row with a weight"),
        ({7: 1.0}, "\\[7\\], of class_weight"),
    ],
)  # fmt: skip
def test_every_model_refuses_the_same(Model, wrong, said):
    model = Model(class_weight=wrong)
    with pytest.raises(ParameterError, match=said):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
