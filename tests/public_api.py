"""What users can name, as plain data: classes, parameters with defaults, methods, commands.

`python -m tests.public_api` writes it to `public_api.json`, which `test_public_api.py` compares
with the package. Do that only after a deliberate change of the public interface: the difference of
the JSON then belongs to the change, and a line of CHANGELOG.md says what users must know.

Order counts where arguments are given by position, and nowhere else.
"""

import dataclasses
import importlib
import inspect
import json
import re
from pathlib import Path

import click

import pellucid
from pellucid.app.cli import cli

FILE = Path(__file__).with_name("public_api.json")
# Modules that the documentation imports from, beside the families of `pellucid.__all__`.
DOCUMENTED = ("pellucid.errors", "pellucid.data.datasets")
# Classes of results: users get instances and never import them. Change a path if a class moves.
RESULTS = {
    "Description": "pellucid.persist.description",
    "Explanation": "pellucid.records",
    "Prototypes": "pellucid.records",
    "Replay": "pellucid.replays",
    "Result": "pellucid.comparison.result",
    "Status": "pellucid.records",
    "SummaryTable": "pellucid.records",
}
EMPTY = inspect.Parameter.empty
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def snapshot() -> dict:
    """The public interface, ready for JSON."""
    top = {name: getattr(pellucid, name) for name in pellucid.__all__}
    modules = {f"pellucid.{name}" for name, value in top.items() if inspect.ismodule(value)}
    found = {"pellucid": {name: described(value) for name, value in top.items()}}
    for path in sorted(modules | {*DOCUMENTED}):
        found[path] = members(importlib.import_module(path))
    found["results"] = {
        name: described_result(getattr(importlib.import_module(path), name))
        for name, path in RESULTS.items()
    }
    found["command line"] = commands()
    return found


def members(module) -> dict:
    """The names of `__all__`; without it, the exceptions of the module, else all it defines."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = [n for n, v in public.items() if getattr(v, "__module__", "") == module.__name__]
    errors = [n for n in own if inspect.isclass(public[n]) and issubclass(public[n], Exception)]
    names = getattr(module, "__all__", None) or errors or own
    return {name: described(getattr(module, name)) for name in sorted(names)}


def described(value):
    """A class, a function, or the name of another kind of value."""
    if inspect.isclass(value):
        return described_class(value)
    if inspect.ismodule(value) and not callable(value):
        return "module"
    return signature(value) if callable(value) else type(value).__name__


def described_class(cls) -> dict:
    """Constructor, methods and properties; of an exception its bases."""
    if issubclass(cls, BaseException):
        return {"bases": sorted(c.__name__ for c in cls.__mro__[1:-1])}
    constructor = signature(cls)
    parameters = inspect.signature(cls).parameters
    return {"constructor": constructor, **contents(cls, [*parameters])}


def described_result(cls) -> dict:
    """Methods, properties and fields; users never call its constructor."""
    fields = [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]
    found = contents(cls, fields)
    return {**found, "properties": sorted(found["properties"] + fields)}


def contents(cls, without: list[str]) -> dict:
    """Methods with their signatures, and names of properties; plain class attributes are private."""
    methods, properties = {}, []
    for name in dir(cls):
        hidden = name.startswith("_") or re.fullmatch(r"set_\w+_request", name) or name in without
        if hidden or not hasattr(cls, name):  # some methods exist on a condition only
            continue
        if not hasattr(type(inspect.getattr_static(cls, name)), "__get__"):
            continue
        if not hasattr(cls, name):  # a method that this class can never have
            continue
        if callable(getattr(cls, name, None)):
            methods[name] = signature(getattr(cls, name))
        else:
            properties.append(name)
    return {"methods": methods, "properties": sorted(properties)}


def signature(function) -> dict:
    """Names and defaults: by position in order, by keyword only in any order."""
    positional, keywords = [], {}
    for parameter in inspect.signature(function).parameters.values():
        text = str(parameter.replace(annotation=EMPTY, default=EMPTY))
        shown = default(parameter.default)
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[text] = shown
        elif parameter.kind in POSITIONAL:
            positional.append(text if shown is None else f"{text}={shown}")
        else:
            positional.append(text)
    return {"positional": positional, "keywords": keywords}


def default(value) -> str | None:
    """The text of a default, without addresses in memory; None if there is no default."""
    if value is EMPTY:
        return None
    return value.__name__ if callable(value) else re.sub(r" at 0x\w+", "", repr(value))


def commands() -> dict:
    """{command: {option: how it is given}}."""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {"pellucid": options(cli), **{name: options(own) for name, own in found.items()}}


def options(command) -> dict:
    """Arguments by name and options by all their spellings."""
    return {
        " ".join([*option.opts, *option.secondary_opts]): {
            "kind": option.param_type_name,
            "type": kind_of(option.type.to_info_dict()),
            "default": chosen(option.default),
            "required": option.required,
            "nargs": option.nargs,
            "multiple": getattr(option, "multiple", False),
            "flag": getattr(option, "is_flag", False),
            "variable": option.envvar,
        }
        for option in command.params
    }


def kind_of(info: dict) -> dict:
    """Versions of click describe a type in other words, but agree on these."""
    return {key: info[key] for key in ("param_type", "choices", "min", "max") if key in info}


def chosen(value) -> str | None:
    """The default of an option; versions of click have several values for "none"."""
    none = value is None or value is False or "UNSET" in repr(value)
    return None if none else repr(value)


def flat(tree, path: str = "") -> dict[str, str]:
    """{path: text}, for a difference that names the place."""
    if isinstance(tree, dict) and tree:
        parts = (flat(part, f"{path} > {name}" if path else name) for name, part in tree.items())
        return {key: text for part in parts for key, text in part.items()}
    return {path: json.dumps(tree)}


def differences(stored: dict, found: dict) -> list[str]:
    """One line per place that was added, removed or changed."""
    old, new = flat(stored), flat(found)
    lines = [f"removed: {key} was {old[key]}" for key in old.keys() - new.keys()]
    lines += [f"added: {key} is {new[key]}" for key in new.keys() - old.keys()]
    both = [key for key in old.keys() & new.keys() if old[key] != new[key]]
    return sorted(lines + [f"changed: {key} was {old[key]}, is {new[key]}" for key in both])


if __name__ == "__main__":
    FILE.write_text(json.dumps(snapshot(), indent=1, sort_keys=True) + "\n")
