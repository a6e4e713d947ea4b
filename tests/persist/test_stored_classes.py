"""A file of every public class, written once, loads for ever and answers with the stored numbers.

`python -m tests.persist.test_stored_classes` writes the file of a class that has none yet. It never
replaces a file: one that does not load any more shows that the files of users do not load either.
"""

import importlib
import inspect
import json
import warnings

import numpy as np
import pytest

import pellucid
from pellucid import names
from pellucid.persist import FORMAT
from tests.persist.test_old_files import FILES, ROWS, table

FOLDER = FILES / "classes"
ANSWERS = FOLDER / "answers.json"
METHODS = ("predict", "predict_proba", "decision_function", "transform", "kneighbors")
PARAMETERS = {
    "ElasticNetCV": {"alphas": 4},
    "HistGradientBoostingClassifier": {"max_iter": 2, "min_samples_leaf": 5},
    "HistGradientBoostingRegressor": {"max_iter": 2, "min_samples_leaf": 5},
    "KMeans": {"n_clusters": 3},
    "LassoCV": {"alphas": 4},
    "LogisticRegressionCV": {"Cs": 3, "cv": 3},
    "MLPClassifier": {"hidden_layer_sizes": (4,), "max_iter": 5},
    "MLPRegressor": {"hidden_layer_sizes": (4,), "max_iter": 5},
    "Nystroem": {"n_components": 5},
    "RadiusNeighborsClassifier": {"radius": 3.0, "outlier_label": "most_frequent"},
    "RadiusNeighborsRegressor": {"radius": 30.0},
    "TSNE": {"max_iter": 250, "perplexity": 3.0},
}


def public_classes():
    """Every public estimator by name, without the toys of these tests."""
    return {
        name: getattr(importlib.import_module(module), name)
        for module, members in names.ESTIMATORS.items()
        for name in members
        if name != "Toy"
    }


def path_of(name):
    return FOLDER / f"v{FORMAT}_{name}.pellucid"


def quick(cls):
    """The class with few members and a fixed seed."""
    given = dict(PARAMETERS.get(cls.__name__, {}))
    taken = inspect.signature(cls).parameters
    given |= {"n_estimators": 3} if "n_estimators" in taken else {}
    return cls(**given, **({"random_state": 0} if "random_state" in taken else {}))


def fitted(cls):
    """Fitted on the table with missing values and categories; amounts are all positive."""
    i = np.arange(ROWS)
    two = cls.__name__ == "FisherDiscriminant"
    labels = np.array(["no", "oui", "no" if two else "så"])[(i * 11) % 7 % 3]
    model = quick(cls)
    classifies = model.__sklearn_tags__().estimator_type == "classifier"
    return model.fit(table(), labels if classifies else 1 + ((i * 29) % 83) / 3.0)


def answers(model):
    """What the model computes for the rows it has learned from, in numbers that keep every bit."""
    if hasattr(model, "embedding_"):
        return {"embedding_": model.embedding_.tolist()}
    found = {m: getattr(model, m)(table()) for m in METHODS if hasattr(model, m)}
    if "kneighbors" in found:
        found["kneighbors"] = found["kneighbors"][0]
    return {method: np.asarray(answer).tolist() for method, answer in found.items()}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.pellucid")), ids=lambda path: path.stem)
def test_the_file_of_a_class_loads_and_answers_as_it_did(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pellucid.load(path)
        found = answers(model)
    assert type(model).__name__ == path.stem.partition("_")[2]
    expected = json.loads(ANSWERS.read_text())[path.stem]
    assert found.keys() == expected.keys()
    for method, answer in found.items():
        if isinstance(answer[0], str):
            assert answer == expected[method]
        else:
            np.testing.assert_allclose(answer, expected[method], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", public_classes())
def test_every_class_has_a_file_of_the_present_format(name):
    assert path_of(name).exists(), "run python -m tests.persist.test_stored_classes"


def main():
    FOLDER.mkdir(exist_ok=True)
    stored = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name, cls in public_classes().items():
        if not path_of(name).exists():
            fitted(cls).save(path_of(name))
            stored[path_of(name).stem] = answers(pellucid.load(path_of(name)))
    lines = (f"{json.dumps(stem)}: {json.dumps(stored[stem])}" for stem in sorted(stored))
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
