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
from tests.persist.forge_models import METHODS, fitted, training_table
from tests.persist.forgery import cases
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
        if hasattr(type(model), method):
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


def test_forged_models_do_no_harm():
    """Scorecard: no code, no crash, no hang, whatever a forger writes."""
    count = str(len(cases(30)))
    run = subprocess.run(
        [sys.executable, "-m", "tests.persist.forge_models", count],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    lines = run.stdout.splitlines()
    assert run.returncode == 0 and lines[-1] == "done", "\n".join([*lines[-5:], run.stderr])
