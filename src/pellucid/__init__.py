"""Classical machine learning you can see through."""

import importlib
from typing import TYPE_CHECKING, Any

from pellucid.errors import PellucidError, PellucidWarning
from pellucid.names import ESTIMATORS, FUNCTIONS, MODULES

if TYPE_CHECKING:
    from pellucid.data import Table as Table

__version__ = "0.1.0"

_FAMILIES = {module.partition(".")[2] for module in ESTIMATORS} | set(MODULES)
__all__ = [
    "PellucidError",
    "PellucidWarning",
    "__version__",
    *sorted(FUNCTIONS),
    *sorted(_FAMILIES),
]


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return getattr(importlib.import_module(FUNCTIONS[name]), name)
    if name in _FAMILIES:
        return importlib.import_module(f"pellucid.{name}")
    raise AttributeError(f"module 'pellucid' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
