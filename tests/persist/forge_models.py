"""Forges files of every public estimator and uses what loads; run as a child, for it might crash.

`python -m tests.persist.forge_models COUNT` works on each class in a process of its own and prints
one line per class: `ok` or what went wrong, and with which case. A forged file must be refused with
`ModelFileError`, or give a model that neither crashes, hangs nor takes more memory than `MEMORY`.
A class that has `_check_state` promises more: what loads answers, or raises a `PellucidError`.
"""

import importlib
import os
import resource
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import pellucid
from pellucid import names
from pellucid.errors import ModelFileError, PellucidError
from tests.persist.forgery import mutated, parts, sealed

SECONDS = 20
MEMORY = 3 << 30
METHODS = ("predict", "predict_proba", "decision_function", "transform", "explain", "apply")
# What else a fitted model is asked; it may refuse, but only with an error of ours.
ASKED_WITH_X = (
    "predict_log_proba", "predict_interval", "score_samples", "inverse_transform", "kneighbors",
    "radius_neighbors", "decision_path", "staged_predict", "linear_predictor", "mahalanobis",
)  # fmt: skip
ASKED_ALONE = (
    "summary", "get_params", "__repr__", "_repr_html_", "sample", "get_feature_names_out",
    "__sklearn_clone__",
)  # fmt: skip
STRANGE = [
    None, True, -1, 0, 2, 1.5, 10**9, -(2**31), "", "x", "matrix", "codes", [], [[]], {"@": "x"},
    {"@": "tuple", "items": []}, {"@": "dict", "items": []}, {"@": "float", "value": "nan"},
    {"@": "float", "value": "inf"}, {"@": "same", "record": 0},
]  # fmt: skip


def estimators():
    """Every public class, by name."""
    for module, classes in sorted(names.ESTIMATORS.items()):
        for name in classes:
            yield getattr(importlib.import_module(module), name)


def training_table(rng, n=60, cls=None):
    """Two numbers, one of them with gaps, and a category with 40 levels."""
    import pyarrow

    first, second = numbers_for(cls, rng, n, 2).T
    gaps = [None if i % 7 == 0 else float(x) for i, x in enumerate(second)]
    levels = [None if i % 11 == 0 else f"l{i % 40}" for i in range(n)]
    return pyarrow.table({"a": first, "b": gaps, "c": levels})


def numbers_for(cls, rng, n, d):
    """Numbers that the class takes: counts for models of counts."""
    if cls is not None and cls._positive_only:
        return rng.integers(0, 4, size=(n, d)).astype(float)
    return rng.normal(size=(n, d))


def fitted(cls, X, rng):
    """The class with the parameters its checks use, fitted on a table or on numbers only."""
    model = cls(**cls._check_params)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    n = len(X)
    target = {"classes": np.repeat(["no", "so", "yes"], n)[::3], "none": None}
    y = target.get(model._target, rng.normal(size=n))
    if model._positive_target:
        y = np.abs(y) + 1
    return model.fit(X) if y is None else model.fit(X, y)


def forgeries(raw, rng):
    """An endless run of changed files: document, table of tensors, shapes, numbers in the data."""
    table, document, data = parts(raw)
    while True:
        yield sealed(table, mutated(document, rng, STRANGE), data)
        yield sealed(mutated(table, rng, STRANGE), document, data)
        name = list(table)[rng.integers(len(table))]
        yield sealed({**table, name: reshaped(table[name], rng)}, document, data)
        yield sealed(table, document, overwritten(data, table[name], rng))


def reshaped(entry, rng):
    """The same bytes in another shape."""
    size = int(np.prod(entry["shape"], dtype=int))
    divisors = [k for k in range(1, size + 1) if size % k == 0] or [0]
    k = divisors[rng.integers(len(divisors))]
    shapes = [[k, size // max(k, 1)], [size], [k, 1, size // max(k, 1)]]
    return {**entry, "shape": shapes[rng.integers(3)]}


def overwritten(data, entry, rng):
    """One number of the array replaced by an extreme one."""
    begin, end = entry["data_offsets"]
    width = {"F64": 8, "I64": 8, "I32": 4, "U32": 4}.get(entry["dtype"], 1)
    changed = bytearray(data)
    if end > begin:
        at = begin + width * int(rng.integers((end - begin) // width))
        extreme = [0, 1, -1, 2**31 - 1, -(2**31), 1000, 2**63 - 1]
        value = np.int64(extreme[rng.integers(len(extreme))])
        changed[at : at + width] = value.tobytes()[:width]
    return bytes(changed)


def fault(path, X):
    """What is wrong with how a file is taken, or None."""
    try:
        model = pellucid.load(path)
    except ModelFileError as error:
        return "memory" if "Unable to allocate" in str(error) else None
    for method in (*METHODS, *ASKED_WITH_X, *ASKED_ALONE):
        if hasattr(model, method):
            try:
                answer = getattr(model, method)(*([] if method in ASKED_ALONE else [X]))
                if method.startswith("staged"):
                    list(answer)
            except PellucidError:
                pass
            except MemoryError:
                return "memory"
            except Exception as error:
                if hasattr(model, "_check_state"):
                    return f"{method} raised {type(error).__name__}: {error}"
    return None


def attack(cls, count, report):
    """All cases of one class; the first fault is written to `report` and ends it."""
    rng = np.random.default_rng(5)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    path = Path(tempfile.mkdtemp()) / "m"
    arrays = (numbers_for(cls, rng, 60, 3), numbers_for(cls, rng, 30, 500))
    for X in (training_table(rng, cls=cls), *arrays):
        fitted(cls, X, rng).save(path)
        assert pellucid.load(path) is not None
        for i, forged in zip(range(count), forgeries(path.read_bytes(), rng)):
            report(f"crash or hang at case {i} of {type(X).__name__} {X.shape}")
            signal.alarm(SECONDS)
            path.write_bytes(forged)
            found = fault(path, X)
            if found:
                return report(f"{found} at case {i} of {type(X).__name__} {X.shape}")
    return report("ok")


def main(count):
    """One process per class: what it last reported is what happened."""
    warnings.simplefilter("ignore")
    for cls in estimators():
        with tempfile.TemporaryFile("w+") as file:

            def report(text, file=file):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()

            child = os.fork()
            if child == 0:
                try:
                    attack(cls, count, report)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            file.seek(0)
            print(f"{cls.__name__}: {file.read()}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
