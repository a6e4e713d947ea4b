"""Descriptions of parameters that many functions share, in the docstring of each function.

Invariant: a shared parameter is described once, in a table of its package; `help()` shows it everywhere.
"""

import inspect
import re
import textwrap
from collections.abc import Mapping
from typing import Any

HEAD = "Parameters\n----------\n"
EXAMPLE = re.compile(r"^(?:Examples\n-|>>> )", re.M)


def describe_parameters(module: dict[str, Any], texts: Mapping[str, str]) -> None:
    """Add to the docstrings of a module's public functions the parameters that they leave out."""
    for function in map(module.__getitem__, module["__all__"]):
        missing = undescribed(function) if inspect.isfunction(function) else []
        entries = [f"{name} : {texts[name]}" for name in missing if name in texts]
        if entries:
            lines = [textwrap.fill(entry, 96, subsequent_indent="    ") for entry in entries]
            function.__doc__ = _with_entries(inspect.getdoc(function) or "", "\n".join(lines))


def undescribed(function: Any) -> list[str]:
    """The parameters of a function that its docstring has neither as an entry nor in backticks."""
    text = inspect.getdoc(function) or ""
    return [
        name
        for name in inspect.signature(function).parameters
        if not re.search(rf"`{name}\b|^(\w+, )*{name}(, \w+)*( :|$)", text, re.M)
    ]


def _with_entries(text: str, entries: str) -> str:
    """First among the parameters; a new section stands before the examples."""
    if HEAD in text:
        return text.replace(HEAD, f"{HEAD}{entries}\n", 1)
    found = EXAMPLE.search(text)
    about, examples = (
        (text, "") if found is None else (text[: found.start()], text[found.start() :])
    )
    return f"{about.rstrip()}\n\n{HEAD}{entries}\n\n{examples}".rstrip()
