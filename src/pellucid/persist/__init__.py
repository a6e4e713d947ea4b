"""Model files: one safetensors file that holds data and never code.

`save` writes a model, `load` rebuilds it with equal bits, `describe` looks inside without building
anything. The parts: `container` (bytes on disk <-> checked header and buffer), `encoder` (Python
values -> JSON tree and tensors), `tree_reader` (the walk over that tree) with `decoder` (-> values) and
`description` (-> texts), `checks` (of the single parts of a tree), `fitted_state` (of whole models),
`allowed_classes` (the only classes a file may name), `format1_labels` (how format 1 named them).
Invariant: whatever bytes a file holds, reading it gives a model that passes all checks or a
`ModelFileError`; no module outside `names.py` is imported for it and no pickle is read.

A file is `safetensors` with one metadata key, `pellucid`, whose JSON text reads

    {"sha256": ..., "format": 2, "reader": "0.1", "model": {...}, "provenance": {...}}

- `sha256` is taken over the whole file with these 64 digits as zeros: every changed bit shows.
- `reader` is the first release that can read the file; unknown keys are skipped.
- JSON's null, booleans, strings, finite floats, integers below 2**53 and arrays mean themselves (an
  array is a list). Every object is tagged by `@`: float (inf, nan), int, bytes, date, datetime,
  scalar, str_, bytes_, tuple, set, frozenset, dict, array, objects, texts, numbers, repeat, csr,
  record, same (a record again), estimator.
- A record or an estimator names its class by a label: a word of `names.py` such as "Nodes" or
  "DummyClassifier", never the path of a module. Labels do not change when classes move.
- Arrays are tensors named after the attribute that holds them.

`load` reads every format since 1. Format 1 differs only in its paths ("pellucid.tree.nodes.Nodes")
in place of labels.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pellucid.persist.container import FORMAT, open_file, write_file

if TYPE_CHECKING:
    from pellucid.persist.description import Description

__all__ = ["FORMAT", "describe", "load", "save"]


def save(
    model: Any, path: str | os.PathLike[str], provenance: dict[str, Any] | None = None
) -> None:
    """Write `model` to `path`; the same model gives the same bytes.

    The file appears whole or not at all: it is written beside its destination and renamed.

    Parameters
    ----------
    model : estimator
        A Pellucid estimator, fitted or not, with all its parameters; or a model of a formula.
    path : str or path
        Where to write; an existing file is replaced.
    provenance : dict, optional
        Where the model comes from, such as `{"data_sha256": ..., "metric": {...}}`; the versions
        of Pellucid, NumPy and Python are added.

    Raises
    ------
    CannotSaveError
        A parameter or learned attribute is code, a foreign estimator or another object that is
        not data; the text names it.
    PellucidError
        The file cannot be written.
    """
    from pellucid.persist.encoder import encode

    write_file(path, *encode(model, provenance))


def load(path: str | os.PathLike[str]) -> Any:
    """Rebuild the model that `save` wrote to `path`, equal to the last bit.

    No code can run from a file: only classes of Pellucid are built, sizes are checked before
    memory is taken and meaning afterwards.

    Raises
    ------
    ModelFileError
        There is no such file, it is damaged, not a model, or needs a newer Pellucid.
    """
    from pellucid.persist.decoder import decode

    return decode(open_file(path))


def describe(path: str | os.PathLike[str]) -> Description:
    """What a model file holds, found without building the model and without importing NumPy."""
    from pellucid.persist.description import describe_contents

    return describe_contents(open_file(path))
