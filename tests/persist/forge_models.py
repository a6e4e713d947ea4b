"""Forges files of every public estimator and uses what loads; run as a child, for it might crash.

`python -m tests.persist.forge_models COUNT` prints the name of each case before it runs, so that
the last line tells where a crash or hang happened, and ends with `done`. A forged file is either
refused with `ModelFileError`, or gives a model whose methods end normally or with an exception.
"""

import faulthandler
import importlib
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import pellucid
from pellucid import names, persist
from pellucid.errors import ModelFileError, PellucidError
from tests.persist.forgery import mutated, parts, sealed

SECONDS = 20
METHODS = ("predict", "predict_proba", "decision_function", "transform", "explain", "apply")
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


def training_table(rng, n=60):
    """Two numbers, one of them with gaps, and a category with 40 levels."""
    import pyarrow

    gaps = [None if i % 7 == 0 else float(x) for i, x in enumerate(rng.normal(size=n))]
    levels = [None if i % 11 == 0 else f"l{i % 40}" for i in range(n)]
    return pyarrow.table({"a": rng.normal(size=n), "b": gaps, "c": levels})


def fitted(cls, X, rng):
    """The class with the parameters its checks use, fitted on a table or on numbers only."""
    model = cls(**cls._check_params)
    n = len(X)
    target = {"classes": np.repeat(["no", "so", "yes"], n)[::3], "none": None}
    y = target.get(model._target, rng.normal(size=n))
    return model.fit(X) if y is None else model.fit(X, y)


def forgeries(raw, rng):
    """An endless run of changed files: document, table of tensors, numbers in the data."""
    table, document, data = parts(raw)
    numbers = np.frombuffer(data, np.uint8)
    while True:
        yield sealed(table, mutated(document, rng, STRANGE), data)
        yield sealed(mutated(table, rng, STRANGE), document, data)
        changed = numbers.copy()
        entry = table[list(table)[rng.integers(len(table))]]
        begin, end = entry["data_offsets"]
        width = {"F64": 8, "I64": 8, "I32": 4, "U32": 4}.get(entry["dtype"], 1)
        if end > begin:
            at = begin + width * rng.integers((end - begin) // width)
            extreme = [0, 1, -1, 2**31 - 1, -(2**31), 1000, np.iinfo(np.int64).max]
            value = np.int64(extreme[rng.integers(len(extreme))])
            changed[at : at + width] = np.frombuffer(value.tobytes(), np.uint8)[:width]
        yield sealed(table, document, changed.tobytes())


def use(model, X):
    """Call every method; an exception is a clean end, a crash or hang is what we look for."""
    for method in METHODS:
        if hasattr(type(model), method):
            try:
                getattr(model, method)(X)
            except PellucidError:
                pass
            except Exception as error:
                print(f"    {method}: {type(error).__name__}: {error}", flush=True)


def main(count):
    rng = np.random.default_rng(5)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    X = training_table(rng)
    path = Path(tempfile.mkdtemp()) / "m"
    for cls in estimators():
        for rows in (X, np.asarray(rng.normal(size=(60, 3)))):
            model = fitted(cls, rows, rng)
            model.save(path)
            assert persist.load(path) is not None
            raw = path.read_bytes()
            for i, forged in zip(range(count), forgeries(raw, rng)):
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                print(cls.__name__, type(rows).__name__, i, flush=True)
                path.write_bytes(forged)
                try:
                    again = pellucid.load(path)
                except ModelFileError:
                    continue
                use(again, rows)
    faulthandler.cancel_dump_traceback_later()
    print("done")


if __name__ == "__main__":
    main(int(sys.argv[1]))
