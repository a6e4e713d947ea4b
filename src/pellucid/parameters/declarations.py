"""One declaration for each parameter and each learned attribute, in the body of its class.

    class Lasso(LinearPredictor):
        alpha: float = positional(
            default=1.0, check=Real(0, None), description="Strength of the penalty.", kw_only=False
        )
        tol: float = param(1e-4, Real(0, None), "Largest accepted duality gap.")
        n_jobs: int | None = shared.N_JOBS                # a shared declaration
        coef_: np.ndarray = learned("Coefficients, shape (n_features,).")

Constructor, checks, error messages and help are made from these. Subclasses inherit them; a
declaration of the same name replaces the inherited one at its place, and `changed` replaces some of
its fields. The objects are taken out of the class, so that an unfitted estimator has no `coef_`.
"""

from functools import cache
from inspect import Parameter as Signed
from inspect import get_annotations
from typing import Any, Literal

from pellucid.parameters.constraints import Constraint, Ignored

REQUIRED = Signed.empty  # the default of a parameter that has none


class Parameter:
    """A constructor parameter."""

    def __init__(
        self,
        default: Any,
        check: Constraint,
        text: str,
        kw_only: bool = True,
        last: bool = False,
        after: str = "",
        before: str = "",
        type: Any = Any,
    ) -> None:
        self.default, self.check, self.text, self.type = default, check, text, type
        self.kw_only, self.last, self.after, self.before = kw_only, last, after, before

    @property
    def description(self) -> str:
        """What the parameter does, or why it does nothing."""
        if not isinstance(self.check, Ignored):
            return self.text
        return f"{self.text} No effect: {self.check.reason}".strip()

    def replace(self, *, description: str | None = None, **fields: Any) -> "Parameter":
        """The same declaration with other fields (`default`, `check`, `description`, ...)."""
        words = {} if description is None else {"text": description}
        return Parameter(**vars(self) | words | fields)


class Attribute:
    """An attribute that fit sets."""

    def __init__(self, description: str, type: Any = Any) -> None:
        self.description, self.type = description, type


class Change:
    """Other fields for an inherited parameter."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields


def param(
    default: Any, check: Constraint, description: str = "", *, last: bool = False, after: str = "",
    before: str = "",
) -> Any:  # fmt: skip
    """Declare a keyword-only parameter.

    `last` puts it behind all others, as our own parameters stand behind scikit-learn's, and before
    those of a base class that are `last` too; `after` and `before` put it next to an inherited one. A
    parameter whose check is `Ignored` needs no description.
    """
    return Parameter(default, check, description, last=last, after=after, before=before)


def positional(
    *, default: Any, check: Constraint, description: str, kw_only: Literal[False]
) -> Any:
    """Declare a parameter that can be given by position.

    Type checkers read `default=` and `kw_only=False` from the call, so both are written there.
    """
    return Parameter(default, check, description, kw_only)


def changed(**fields: Any) -> Any:
    """Change `default`, `check`, `description`, ... of an inherited parameter."""
    return Change(fields)


def learned(description: str, *, init: Literal[False] = False) -> Any:
    """Declare an attribute that fit sets."""
    return Attribute(description)


def take_declarations(cls: type) -> dict[str, Any]:
    """Remove the declarations from the namespace of a class and return them by name."""
    own = {k: v for k, v in vars(cls).items() if isinstance(v, Parameter | Attribute | Change)}
    for name in own:
        delattr(cls, name)
    return own


@cache
def parameters_of(cls: type) -> dict[str, Parameter]:
    """Parameters of a class in the order of its signature."""
    found: dict[str, Parameter] = {}
    depth: dict[str, int] = {}
    for place, base in reversed([*enumerate(cls.__mro__)]):
        types = get_annotations(base)
        for name, own in vars(base).get("_declared", {}).items():
            depth.setdefault(name, place)
            kind = types.get(name, Any)
            if isinstance(own, Parameter):
                found[name] = own.replace(type=kind)
            elif isinstance(own, Change):
                found[name] = found[name].replace(**own.fields, type=kind)
    return {name: found[name] for name in _ordered(found, depth)}


@cache
def checks_of(cls: type) -> dict[str, Constraint]:
    """The constraint of each parameter, sorted by name."""
    found = parameters_of(cls)
    return {name: found[name].check for name in sorted(found)}


@cache
def accepted_of(cls: type) -> set[Any]:
    """Combinations of plain values that the constraints of a class have accepted."""
    return set()


@cache
def attributes_of(cls: type) -> dict[str, Attribute]:
    """Learned attributes and public properties of fitted models, those of the class itself first."""
    found: dict[str, Attribute] = {}
    for base in cls.__mro__:
        types = get_annotations(base)
        for name, own in vars(base).get("_declared", {}).items():
            if isinstance(own, Attribute):
                found.setdefault(name, Attribute(own.description, types.get(name, Any)))
        for name, own in vars(base).items():
            if isinstance(own, property) and name.endswith("_") and not name.startswith("_"):
                found.setdefault(name, _of_property(own))
    return found


def _of_property(own: property) -> Attribute:
    text = " ".join((own.__doc__ or "").split("\n\n")[0].split())
    return Attribute(text, get_annotations(own.fget).get("return", Any) if own.fget else Any)


def _ordered(found: dict[str, Parameter], depth: dict[str, int]) -> list[str]:
    """Positional ones, then the rest from base to subclass, then the `last` from subclass to base."""
    names = sorted(found, key=lambda n: (found[n].kw_only, found[n].last, found[n].last * depth[n]))
    for name, own in found.items():
        if own.after or own.before:
            names.remove(name)
            names.insert(names.index(own.after or own.before) + bool(own.after), name)
    return names
