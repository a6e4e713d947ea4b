"""Constructor and docstring of a class, made from its declarations when they are first needed.

Invariant: the constructor is a plain function with the signature of the declarations, and it stores
every argument untouched under its own name.
"""

from typing import Any

from pellucid.parameters.declarations import REQUIRED, Parameter, parameters_of


class Constructor:
    """The `__init__` of one class, compiled at its first use; importing a class compiles nothing."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        made = _made(self.cls)
        self.cls.__init__ = made  # type: ignore[misc]
        return made.__get__(instance, owner)


class Docstring:
    """The `__doc__` of a class, composed when it is first read."""

    def __init__(self, prose: str) -> None:
        self.prose = prose

    def __get__(self, instance: Any, owner: type) -> str:
        from pellucid.parameters.descriptions import with_sections

        owner.__doc__ = text = with_sections(owner, self.prose)
        return text


def _made(cls: Any) -> Any:
    declared = parameters_of(cls)
    made = _compiled(declared)
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return made


def _compiled(declared: dict[str, Parameter]) -> Any:
    """`def __init__(self, alpha, *, C)` that stores all; defaults and types are set from outside."""
    free = [name for name, p in declared.items() if not p.kw_only]
    named = [name for name, p in declared.items() if p.kw_only]
    head = ", ".join(["self", *free, *(["*", *named] if named else [])])
    body = "\n".join(f"    self.{name} = {name}" for name in declared) or "    pass"
    space: dict[str, Any] = {}
    exec(f"def __init__({head}):\n{body}", space)
    made = space["__init__"]
    given = {n: p.default for n, p in declared.items() if p.default is not REQUIRED}
    made.__defaults__ = tuple(given[name] for name in free if name in given)
    made.__kwdefaults__ = {name: given[name] for name in named if name in given}
    made.__annotations__ = {n: p.type for n, p in declared.items()} | {"return": None}
    return made
