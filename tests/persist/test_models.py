"""Files of every public estimator: equal bits after loading, and forgeries that do no harm."""

import importlib
import re
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import names, persist
from pellucid.errors import CannotSaveError, ModelFileError
from pellucid.persist.checks import is_quick
from tests.persist.forge_models import METHODS, fitted, numbers_for, training_table
from tests.persist.forgery import cases, parts, sealed
from tests.persist.test_roundtrip import assert_same

CLASSES = [
    getattr(importlib.import_module(module), name)
    for module, classes in sorted(names.ESTIMATORS.items())
    if module != "pellucid.toys"
    for name in classes
]


def answers(model, X):
    """What every method says, explanations included."""
    found = {}
    for method in METHODS:
        if hasattr(model, method):
            answer = getattr(model, method)(X)
            found[method] = answer if isinstance(answer, np.ndarray) else vars(answer)
    return found


@pytest.mark.parametrize("kind", ["table", "array"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_loaded_model_answers_with_equal_bits(cls, kind, tmp_path, rng):
    X = training_table(rng, cls=cls) if kind == "table" else numbers_for(cls, rng, 60, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(cls, X, rng)
        model.save(tmp_path / "m")
        again = pellucid.load(tmp_path / "m")
        assert type(again) is cls and repr(again) == repr(model)
        assert len(persist.describe(tmp_path / "m").columns) == model.n_features_in_
        assert list(model._learned()) and sorted(again._learned()) == sorted(model._learned())
        for name, value in model._learned().items():
            assert_learned(value, again._learned()[name])
        before, after = answers(model, X), answers(again, X)
    assert before.keys() == after.keys()
    for method, answer in before.items():
        assert_same(answer, after[method])
    persist.save(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


def assert_learned(a, b):
    """Equal values; objects by what they hold."""
    assert type(a) is type(b)
    if type(a).__module__.startswith("pellucid."):
        assert vars(a).keys() >= vars(b).keys()
        for name in vars(b):
            assert_learned(vars(a)[name], vars(b)[name])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert_learned(x, y)
    else:
        assert_same(a, b)


@pytest.mark.slow
def test_forged_models_do_no_harm():
    """No code, no crash, no hang, whatever a forger writes."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.persist.forge_models", str(len(cases(100)))],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    outcomes = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert outcomes.keys() == {cls.__name__ for cls in CLASSES}
    assert not {name: text for name, text in outcomes.items() if text != "ok"}


@pytest.fixture
def forged_tree(tmp_path, rng):
    """Load a tree in whose arrays single numbers were changed; None if that was refused."""
    from pellucid.tree import DecisionTreeClassifier

    path = tmp_path / "m"
    model = DecisionTreeClassifier(random_state=0)
    model.fit(training_table(rng), np.repeat(["a", "b", "c"], 20)).save(path)
    table, document, data = parts(path.read_bytes())
    dtypes = {"I32": "<i4", "U8": "u1", "F64": "<f8"}

    def load(**changes):
        raw = bytearray(data)
        for name, (position, value) in changes.items():
            entry = table[f"tree_.{name}"]
            begin, end = entry["data_offsets"]
            whole = np.frombuffer(memoryview(raw)[begin:end], dtypes[entry["dtype"]])
            whole[position] = value
        path.write_bytes(sealed(table, document, bytes(raw)))
        try:
            return pellucid.load(path)
        except ModelFileError:
            return None

    return load


def test_forged_trees_are_refused(forged_tree):
    """Children out of range, cycles, columns and sets that do not exist."""
    tree = forged_tree().tree_
    assert (tree.set_start >= 0).any() and (tree.feature < 0).any()
    inner, leaf = np.flatnonzero(tree.feature >= 0)[-1], np.flatnonzero(tree.feature < 0)[0]
    with_set = np.flatnonzero(tree.set_start >= 0)[0]
    changes = [
        {"left": (0, 0)}, {"left": (inner, 0)}, {"right": (inner, inner)}, {"left": (0, 1000)},
        {"right": (0, -5)}, {"left": (inner, -1)}, {"left": (leaf, 0)}, {"right": (leaf, 1000)},
        {"right": (0, tree.left[0])}, {"feature": (0, 3)}, {"feature": (leaf, 0)},
        {"feature": (inner, -1)}, {"set_start": (with_set, 1000)}, {"set_start": (with_set, -1)},
        {"set_start": (leaf, 0)}, {"n_levels": (2, 10**6)}, {"n_levels": (2, 1)},
        {"n_levels": (0, 3)}, {"n_levels": (2, -1)}, {"missing_left": (0, 2)},
        {"threshold": (0, np.nan)},
    ]  # fmt: skip
    for change in changes:
        assert forged_tree(**change) is None, change


def test_a_forged_link_takes_no_memory(forged_tree):
    tracemalloc.start()
    try:
        assert forged_tree(left=(0, 10**7)) is None
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


# Learned attributes of which a forger gives one more row, or one more column.
SHAPES = {
    "DummyClassifier": ["class_prior_"],
    "DummyRegressor": ["constant_"],
    "KMeans": ["cluster_centers_"],
    "LinearRegression": ["coef_", "means_"],
    "LogisticRegression": ["coef_", "intercept_", "means_"],
    "PCA": ["components_", "mean_", "explained_variance_"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_arrays_of_other_shapes_are_refused(name, tmp_path, rng):
    X = rng.normal(size=(60, 3))
    model = fitted(next(cls for cls in CLASSES if cls.__name__ == name), X, rng)
    for attribute in SHAPES[name]:
        right = getattr(model, attribute)
        setattr(model, attribute, np.concatenate((right, right[..., :1]), axis=-1))
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError):
            pellucid.load(tmp_path / "m")
        setattr(model, attribute, right)
    model.save(tmp_path / "m")
    pellucid.load(tmp_path / "m")


FACTS = {
    "mean": lambda fact: fact * np.nan,
    "shares": lambda fact: np.full(max(len(fact), 1), np.nan),
    "n_missing": lambda fact: fact - 1.0,
}


@pytest.mark.parametrize("fact", FACTS)
def test_impossible_facts_of_a_schema_are_refused(fact, tmp_path, rng):
    from pellucid.linear_model import LogisticRegression

    X = rng.normal(size=(60, 3))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    object.__setattr__(model.schema_, fact, FACTS[fact](getattr(model.schema_, fact)))
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m")


@pytest.mark.parametrize("values", [lambda v: v * np.nan, lambda v: -v, lambda v: v * 2])
def test_class_shares_of_a_tree_are_shares(values, tmp_path, rng):
    from pellucid.tree import DecisionTreeClassifier

    X = rng.normal(size=(60, 3))
    model = DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 0)
    object.__setattr__(model.tree_, "value", values(model.tree_.value))
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m")


def test_labels_that_are_tuples_are_saved(tmp_path, rng):
    from pellucid.linear_model import LogisticRegression

    labels = np.empty(60, dtype=object)
    labels[:] = [("a", 1), ("b", 2)] * 30
    X = rng.normal(size=(60, 3))
    model = LogisticRegression().fit(X, labels)
    model.save(tmp_path / "m")
    assert pellucid.load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()


def test_the_container_of_the_output_is_saved(tmp_path, rng):
    from pellucid.decomposition import PCA

    X = rng.normal(size=(60, 3))
    PCA(2).set_output(transform="polars").fit(X).save(tmp_path / "m")
    assert type(pellucid.load(tmp_path / "m").transform(X)).__module__.startswith("polars")


FORGED = [
    ("LogisticRegression", "classes_", np.array([1.0, 1.0])),
    ("LogisticRegression", "classes_", np.array([0.0, np.nan])),
    ("LogisticRegression", "history_", {"iteration": np.arange(2), "note": np.array(["a", "b"])}),
    ("LogisticRegression", "history_", {"iteration": np.arange(2)}),
    ("LinearRegression", "intercept_", np.inf),
    ("LinearRegression", "means_", np.full(3, np.nan)),
    ("LinearRegression", "aliased_", np.array([7])),
    ("LinearRegression", "aliased_", np.array([-1])),
    ("LinearRegression", "aliased_", np.array([0.5])),
    ("PCA", "components_", np.ones((3, 3))),
    ("PCA", "components_", np.zeros((3, 3))),
]


@pytest.mark.parametrize(("name", "attribute", "forged"), FORGED)
def test_values_without_meaning_are_refused(name, attribute, forged, tmp_path, rng):
    X = rng.normal(size=(60, 3))
    model = fitted(next(cls for cls in CLASSES if cls.__name__ == name), X, rng)
    setattr(model, attribute, forged)
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m")


@pytest.mark.parametrize("asked", [1, 40])
def test_the_number_of_clusters_is_that_of_the_centres(asked, rng, monkeypatch):
    """The loops read as many numbers as there are centres, whatever the parameter says by then."""
    from pellucid.cluster import KMeans, kmeans

    X = rng.normal(size=(60, 3))
    model = KMeans(12, random_state=0).fit(X)
    labels, distances, score = model.predict(X), model.transform(X), model.score(X)
    sizes = []

    class Table(kmeans.RowTable):
        def __init__(self, X, k):
            sizes.append(k)
            super().__init__(X, 12)

    monkeypatch.setattr(kmeans, "RowTable", Table)
    model.set_params(n_clusters=asked)
    assert np.array_equal(model.predict(X), labels) and np.array_equal(
        model.transform(X), distances
    )
    assert model.score(X) == score and sizes == [12, 12, 12]


QUICK = [
    r"\w\w+", r"(?u)\b\w\w+\b", r"\S+", r"[a-z][a-z'-]+", r"[^\s,;]{2,}", r"\b[A-Z]\w*", "é+", r"\$\d+",
    r"\d{4}", r"\w{3,20}",
]  # fmt: skip
SLOW = [
    r"(a+)+$", r"(a|aa)+b", r"\w+x", r"\w*\w*\w*x", r"a?a?a?a?aaaa", r"(\w)\1", r"(?=a)b", r"\w+\b",
    "a{1,99}b", "[a-z]+-[a-z]+", "a{999}", "a|b", "[z-a]+", "", "[", "a" * 65, "a**", r"\w+\w+",
    None, 3, "^a", r"\1",
]  # fmt: skip


def test_patterns_of_words_are_quick():
    assert [p for p in QUICK if not is_quick(p)] == []
    assert [p for p in SLOW if is_quick(p)] == []
    for pattern in QUICK:
        for text in ("a" * 100_000 + "!", "!" * 100_000 + "a", "a!" * 50_000, "é " * 50_000):
            start = time.perf_counter()
            re.findall(pattern, text)
            assert time.perf_counter() - start < 2


def test_a_slow_pattern_is_neither_loaded_nor_saved(tmp_path, monkeypatch):
    from pellucid.data import Table, Text
    from pellucid.linear_model import LogisticRegression

    monkeypatch.setattr(LogisticRegression, "_takes_text", True)
    X = np.array([["spam ham"], ["eggs tea"]] * 5, dtype=object)
    table = Table(kinds={"x0": "text"}, text=Text(pattern=r"[a-z]{2,}"))
    model = LogisticRegression(table=table).fit(X, [0, 1] * 5)
    model.save(tmp_path / "m")
    assert np.array_equal(pellucid.load(tmp_path / "m").predict(X), model.predict(X))
    raw = (tmp_path / "m").read_bytes()
    names, document, data = parts(raw)
    fields = document["model"]["learned"]["schema_"]["fields"]
    assert fields["text_pattern"] == r"[a-z]{2,}"
    fields["text_pattern"] = r"(\w+\s?)+$"
    (tmp_path / "m").write_bytes(sealed(names, document, data))
    with pytest.raises(ModelFileError, match="pattern"):
        pellucid.load(tmp_path / "m")
    model.set_params(table=Table(kinds={"x0": "text"}, text=Text(pattern=r"\w+(?:-\w+)*")))
    with pytest.raises(CannotSaveError, match="pattern"):
        model.fit(X, [0, 1] * 5).save(tmp_path / "m")
