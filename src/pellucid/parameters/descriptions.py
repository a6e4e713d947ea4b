"""The "Parameters" and "Attributes" sections of help, written from the declarations."""

import inspect
import re
from typing import Any

from pellucid.parameters.declarations import REQUIRED, Parameter, attributes_of, parameters_of

WIDTH = 96


def with_sections(cls: type, prose: str) -> str:
    """The prose of a docstring with the sections of `cls` in it, before its examples."""
    about, examples, rest = inspect.cleandoc(prose).partition("\nExamples\n--------\n")
    parameters = [_entry(n, _kind(p), p.description) for n, p in parameters_of(cls).items()]
    attributes = [_entry(n, _type(a.type), a.description) for n, a in attributes_of(cls).items()]
    sections = _section("Parameters", parameters) + _section("Attributes", attributes)
    return about.rstrip() + "\n" + sections + (f"\n{examples.lstrip()}{rest}" if examples else "")


def _section(title: str, entries: list[str]) -> str:
    return "\n".join(["", title, "-" * len(title), *entries, ""]) if entries else ""


def _entry(name: str, kind: str, description: str) -> str:
    from textwrap import fill

    lines = fill(description, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{name} : {kind}\n{lines}" if kind else f"{name}\n{lines}"


def _kind(own: Parameter) -> str:
    default = "" if own.default is REQUIRED else f", default={own.default!r}"
    return f"{own.check.brief()}{default}"


def _type(annotation: Any) -> str:
    """`np.ndarray` as "ndarray"; `Any` as ""."""
    if annotation is Any:
        return ""
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        return annotation.__name__
    return re.sub(r"(\w+\.)+(?=\w)", "", str(annotation)).replace(" | ", " or ")
