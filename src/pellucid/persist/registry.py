"""Which classes a model file may name: those of `names.py`, by module and name, and no others.

Invariant: nothing here imports other modules than those listed in `names.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pellucid import names
from pellucid.errors import ModelFileError


def _label(cls: type, listed: dict[str, tuple[str, ...]]) -> str | None:
    """The name, such as `pellucid.dummy.DummyClassifier`, under which `_find` gives back `cls`."""
    for module, classes in listed.items():
        if cls.__name__ in classes and getattr(import_module(module), cls.__name__, None) is cls:
            return f"{module}.{cls.__name__}"
    return None


def estimator_label(cls: type) -> str | None:
    """The name among the estimators."""
    return _label(cls, names.ESTIMATORS)


def record_label(cls: type) -> str | None:
    """The name among the records and options, which are data: fields that a constructor takes."""
    return next(filter(None, (_label(cls, listed) for listed in _data())), None)


def is_model(cls: type) -> bool:
    """Whether a file may hold an object of this class by itself."""
    return estimator_label(cls) is not None or _label(cls, names.WRAPPERS) is not None


def _data() -> tuple[dict[str, tuple[str, ...]], ...]:
    return names.RECORDS, names.OPTIONS, names.WRAPPERS


def find_estimator(text: Any) -> Any:
    """The estimator class that a file calls `text`."""
    return _find(text, names.ESTIMATORS)


def find_record(text: Any) -> Any:
    """The class of records or options that a file calls `text`."""
    return _find(text, *_data())


def _find(text: Any, *lists: dict[str, tuple[str, ...]]) -> Any:
    module, _, name = text.rpartition(".") if type(text) is str else ("", "", "")
    if not any(name in listed.get(module, ()) for listed in lists):
        raise ModelFileError(f"it names the class {str(text)[:80]!r}, which Pellucid does not have")
    return getattr(import_module(module), name)
