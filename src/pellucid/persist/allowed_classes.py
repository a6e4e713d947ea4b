"""Which classes a model file may name: the labels of `names.py` and no others.

A label is a word such as "DummyClassifier" or "Nodes": it names the class, and `names.py` says
where that class is found today. Files of format 1 hold paths instead, see `format1_labels.py`.
Invariant: nothing here imports other modules than those listed in `names.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pellucid import names
from pellucid.errors import ModelFileError
from pellucid.persist.format1_labels import FORMAT_1


def estimator_label(cls: type) -> str | None:
    """The label among the estimators: the name of the class."""
    return _label(cls, _estimators(cls.__name__))


def record_label(cls: type) -> str | None:
    """The label among the parts, which are data: fields that a constructor takes."""
    return _label(cls, names.PARTS)


def is_model(cls: type) -> bool:
    """Whether a file may hold an object of this class by itself."""
    return estimator_label(cls) is not None or record_label(cls) in names.WRAPPERS


def find_estimator(text: Any, version: int) -> Any:
    """The estimator class that a file of this format version calls `text`."""
    return _class_at(estimator_place(text, version))


def find_record(text: Any, version: int) -> Any:
    """The class of a part that a file of this format version calls `text`."""
    return _class_at(_place(text, version, names.PARTS))


def estimator_place(text: Any, version: int) -> str:
    """Where users import the estimator from, such as `pellucid.dummy.DummyClassifier`."""
    return _place(text, version, _estimators(label_in(text, version)))


def label_in(text: Any, version: int) -> str | None:
    """The label that `text` stands for in a file of this format version, if it can be one."""
    if type(text) is not str:
        return None
    return FORMAT_1.get(text) if version == 1 else text


def _estimators(label: str | None) -> dict[str, str]:
    """The place of the estimator with this label, if there is one."""
    for module, members in names.ESTIMATORS.items():
        if label in members:
            return {label: f"{module}.{label}"}
    return {}


def _label(cls: type, places: dict[str, str]) -> str | None:
    """The label under which `_place` and `_class_at` give back `cls`."""
    for label, place in places.items():
        if place.endswith(f".{cls.__name__}") and _class_at(place) is cls:
            return label
    return None


def _place(text: Any, version: int, places: dict[str, str]) -> str:
    label = label_in(text, version)
    if label is None or label not in places:
        raise ModelFileError(f"it names the class {str(text)[:80]!r}, which Pellucid does not have")
    return places[label]


def _class_at(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)
