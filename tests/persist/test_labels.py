"""A model file names classes by labels that never change, and by nothing else.

Files outlive the places of classes: a module may be moved, divided or renamed, a label may not.
"""

import copy
import hashlib
import json
import sys
import warnings

import numpy as np
import pytest

import pellucid
from pellucid import names, persist
from pellucid.errors import ModelFileError
from pellucid.persist.allowed_classes import (
    estimator_label,
    estimator_place,
    find_estimator,
    find_record,
    record_label,
)
from pellucid.persist.container import FORMAT
from pellucid.persist.format1_labels import FORMAT_1
from tests.persist import toys
from tests.persist.forge_models import estimators, fitted, training_table
from tests.persist.forgery import at, nodes, parts, sealed
from tests.persist.test_old_files import FILES

# Add the label of a new class. Never remove or change one: files of users hold it.
ESTIMATORS = [
    "AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor",
    "BayesianRegression", "BayesianRidge", "BernoulliNB", "BlendClassifier",
    "BlendRegressor", "CategoricalNB", "ComplementNB",
    "DecisionTreeClassifier", "DecisionTreeRegressor", "DummyClassifier", "DummyRegressor",
    "ElasticNet", "ElasticNetCV", "ExtraTreesClassifier", "ExtraTreesRegressor",
    "FisherDiscriminant", "GammaRegressor", "GaussianBayesClassifier", "GaussianMixture",
    "GaussianNB", "GeneralizedLinearModel", "GradientBoostingClassifier",
    "GradientBoostingRegressor", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor",
    "KMeans", "KNeighborsClassifier", "KNeighborsRegressor", "Lasso", "LassoCV",
    "LinearDiscriminantAnalysis", "LinearRegression", "LinearSVC", "LinearSVR", "LogTargetRidge",
    "LogisticRegression", "LogisticRegressionCV", "MLPClassifier", "MLPRegressor", "MixedNB",
    "MultinomialNB", "NearestNeighbors", "Nystroem", "OneClassSVM", "PCA", "Perceptron",
    "PoissonNB", "PoissonRegressor", "QuadraticDiscriminantAnalysis", "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor", "RandomForestClassifier", "RandomForestRegressor", "Ridge",
    "RidgeCV", "RidgeClassifier", "SGDClassifier", "SGDRegressor", "SVC", "SVR", "TSNE",
    "TweedieRegressor",
]  # fmt: skip
PARTS = ["BoostedTrees", "Design", "FormulaModel", "Nodes", "Schema", "Status", "Table", "Text"]
STORED = sorted(FILES.glob("*.pellucid"))
CLASSES = list(estimators())


def listed():
    """The estimators of `names.py`, without the toys of these tests."""
    return {name for members in names.ESTIMATORS.values() for name in members} - {"Toy"}


def test_the_labels_are_these():
    assert sorted(listed()) == ESTIMATORS
    assert sorted(names.PARTS.keys() - toys.PARTS.keys()) == PARTS
    assert names.WRAPPERS == ("FormulaModel",)
    assert not set(ESTIMATORS) & set(PARTS)


def test_every_label_finds_its_class_and_back():
    for label in ESTIMATORS:
        cls = find_estimator(label, FORMAT)
        assert estimator_label(cls) == label and record_label(cls) is None
    for label in PARTS:
        cls = find_record(label, FORMAT)
        assert record_label(cls) == label and estimator_label(cls) is None


def test_the_table_of_format_1_never_changes():
    """Every path that format 1 wrote, and the label that stands for it now."""
    text = json.dumps(FORMAT_1, sort_keys=True)
    digest = "898867949c99593d2a0b7831af32444f2d073b6861377939c26e7c48395a8756"
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert sorted(FORMAT_1.values()) == sorted(set(FORMAT_1.values()))
    assert set(FORMAT_1.values()) <= {*ESTIMATORS, *PARTS}


def header(path):
    """All text of a file: names of tensors, and the JSON of the model and its provenance."""
    raw = path.read_bytes()
    return raw[8 : 8 + int.from_bytes(raw[:8], "little")].decode()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_no_module_path_enters_a_file(cls, tmp_path, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(cls, training_table(rng, cls=cls), rng).save(tmp_path / "m")
    text = header(tmp_path / "m")
    assert "pellucid." not in text
    assert labels_of(parts((tmp_path / "m").read_bytes())[1]) <= {*ESTIMATORS, *PARTS}


def labels_of(document):
    return {at(document, place) for place in classes_in(document)}


def classes_in(document):
    """The places of a document that name a class."""
    return [p for p in nodes(document) if p[-1:] == ("class",) and "@" in at(document, p[:-1])]


def test_stored_files_hold_every_part_by_path_and_by_label():
    """So the old files test the whole table of parts, wrappers and options included."""
    found = {"v1": set(), f"v{FORMAT}": set()}
    for path in STORED:
        found[path.stem.partition("_")[0]] |= labels_of(parts(path.read_bytes())[1])
        assert ("pellucid." in header(path)) == path.stem.startswith("v1_")
    assert {FORMAT_1[name] for name in found["v1"]} == found[f"v{FORMAT}"] > set(PARTS)


def test_a_class_may_move_and_be_renamed(tmp_path, monkeypatch):
    """Only `names.py` changes; files of both formats load, and new files have equal bytes."""
    from pellucid.tree import DecisionTreeClassifier, nodes

    class Arrays(nodes.Nodes):
        """The record under another name."""

    model = DecisionTreeClassifier(random_state=0).fit(np.arange(8.0)[:, None], [0, 1] * 4)
    model.save(tmp_path / "m")
    monkeypatch.setattr(toys, "Arrays", Arrays, raising=False)
    monkeypatch.setitem(names.PARTS, "Nodes", "pellucid.toys.Arrays")
    for path in (tmp_path / "m", FILES / "v1_decision_tree.pellucid"):
        assert type(pellucid.load(path).tree_) is Arrays
    pellucid.load(tmp_path / "m").save(tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_descriptions_are_the_same_for_both_formats(path):
    found = persist.describe(path)
    assert found.estimator == estimator_place(type(unwrapped(path)).__name__, FORMAT)
    assert "pellucid." not in json.dumps([found.parameters, found.learned])


def unwrapped(path):
    model = pellucid.load(path)
    return getattr(model, "model", model)


# --- forged labels ---------------------------------------------------------------------------

FORGED = [
    "os.system", "builtins.eval", "builtins.object", "pellucid.names.ESTIMATORS", "", None, 3, True,
    "Unlisted", "Pair", "Nodes", "FormulaModel", "Estimator", "toy", "Toy ", "Toy\0", "Toy.fit",
    ".Toy", "tests.persist.toys.Toy", "pellucid.toys.Unlisted", "pellucid.toys.Pair",
    "pellucid.base.Estimator", "antigravity.x", ["Toy"], {"Toy": 1}, "pellucid..Toy", "__class__",
    "pellucid.toys.Toy.fit", "pellucid.toys.__class__", "pellucid.tree.nodes.Nodes", "\x1b[2J",
]  # fmt: skip


@pytest.mark.parametrize("version", range(1, FORMAT + 1))
@pytest.mark.parametrize("name", FORGED, ids=repr)
def test_only_listed_classes_are_built_or_imported(outcome, tmp_path, name, version):
    before = set(sys.modules)
    tree = {"@": "estimator", "class": name, "parameters": {}, "learned": {}}
    assert outcome(sealed({}, {"format": version, "model": tree}, b"")) is None
    for read in (persist.load, persist.describe):
        with pytest.raises(ModelFileError, match="names the class") as caught:
            read(tmp_path / "m")
        assert "\x1b" not in str(caught.value)
    assert {m for m in set(sys.modules) - before if not m.startswith("pellucid.")} == set()


def test_labels_are_for_format_2_and_paths_for_format_1(outcome):
    path, label = "pellucid.dummy.DummyClassifier", "DummyClassifier"
    for name, own in ((path, 1), (label, 2)):
        tree = {"@": "estimator", "class": name, "parameters": {}, "learned": {}}
        for version in (1, 2):
            model = outcome(sealed({}, {"format": version, "model": tree}, b""))
            assert (model is not None) == (version == own)


def test_a_part_is_no_model_and_an_estimator_no_part(outcome):
    part = {"@": "record", "class": "Options", "fields": {}}
    model = {"@": "estimator", "class": "Toy", "parameters": {"options": part}, "learned": {}}
    assert (
        type(outcome(sealed({}, {"format": FORMAT, "model": model}, b"")).options) is toys.Options
    )
    for tree in (
        part,
        {**part, "class": "Toy"},
        {**model, "class": "Options", "parameters": {}},
        {**model, "parameters": {"options": {**part, "class": "Toy"}}},
        {**model, "parameters": {"options": {**part, "class": "Unlisted"}}},
    ):
        assert outcome(sealed({}, {"format": FORMAT, "model": tree}, b"")) is None


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_exchanged_labels_are_refused_or_make_sense(path, outcome, rng):
    """Any other class in the place of any class of a file, known or not."""
    table, document, data = parts(path.read_bytes())
    known = [*FORMAT_1] if path.stem.startswith("v1_") else [*ESTIMATORS, *PARTS]
    for place in classes_in(document):
        for name in [*rng.choice(known, 12, replace=False).tolist(), "Nodes ", "x.Nodes", None, []]:
            forged = copy.deepcopy(document)
            at(forged, place[:-1])["class"] = name
            model = outcome(sealed(table, forged, data))
            assert model is None or name in known
