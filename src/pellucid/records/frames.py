"""A table of plain columns in the caller's kind of data frame.

Invariant: no data frame package is imported unless the caller names it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pellucid.errors import ParameterError

_BACKENDS = {
    "pandas": ("pandas", "DataFrame"),
    "polars": ("polars", "DataFrame"),
    "arrow": ("pyarrow", "table"),
}


def frame(columns: dict[str, list[Any]], backend: str | None = None) -> Any:
    """The columns as they are, or as the data frame of a package that is installed.

    Parameters
    ----------
    columns : name -> values.
    backend : None for the plain dict, "pandas", "polars" or "arrow".
    """
    if backend is None:
        return columns
    if backend not in _BACKENDS:
        raise ParameterError(
            f"The 'backend' parameter of frame must be None, 'pandas', 'polars' or 'arrow'. "
            f"Got {backend!r} instead."
        )
    package, maker = _BACKENDS[backend]
    try:
        module = import_module(package)
    except ImportError as error:
        raise ParameterError(
            f"frame(backend={backend!r}) needs the package {package}, which is not installed."
        ) from error
    return getattr(module, maker)(columns)


def unused(name: str, taken: set[str]) -> str:
    """`(name)` in as many parentheses as it takes to differ from the user's columns."""
    name = f"({name})"
    while name in taken:
        name = f"({name})"
    return name
