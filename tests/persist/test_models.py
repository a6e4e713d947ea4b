"""Files of every public estimator: equal bits after loading, and forgeries that do no harm."""

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import names, persist
from pellucid.errors import ModelFileError
from tests.persist.forge_models import METHODS, fitted, training_table
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
    X = training_table(rng) if kind == "table" else rng.normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(cls, X, rng)
        model.save(tmp_path / "m")
        again = pellucid.load(tmp_path / "m")
        assert type(again) is cls and repr(again) == repr(model)
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


# Faults that a forged file can still cause; a class leaves this list when its `_check_state` or its
# records refuse such a file, and none may join it.
KNOWN = {"DecisionTreeClassifier": "memory", "KMeans": "crash"}


@pytest.mark.slow
def test_forged_models_do_no_harm():
    """No code, no crash, no hang, whatever a forger writes."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.persist.forge_models", str(len(cases(100)))],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    outcomes = dict(line.split(": ", 1) for line in run.stdout.splitlines())
    assert outcomes.keys() == {cls.__name__ for cls in CLASSES}
    harmful = {
        name: text
        for name, text in outcomes.items()
        if text != "ok" and text.split()[0] != KNOWN.get(name)
    }
    assert not harmful


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
