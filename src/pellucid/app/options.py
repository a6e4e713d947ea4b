"""Command-line options made from the table of settings.

A setting has the same name on the command line, in the environment (`PELLUCID_*`) and in a file.
Precedence: command line, environment, nearest file, default.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pellucid.comparison.planning.settings import BY_NAME, KINDS, SETTINGS, Setting, Settings
from pellucid.errors import ParameterError

SHORT = {"target": ("-t",), "jobs": ("-j",), "seed": ("--random-state",)}
LISTS = ("list", "columns")
FILES = ("pellucid.toml", "pyproject.toml")
# Options of the command line that a file may set too, besides the settings of a comparison.
OWN = (
    "data", "out", "force", "strict", "fail_under", "format", "json", "open", "no_rows",
    "no_progress", "color", "quiet", "verbose", "memory",
)  # fmt: skip
# Options whose parameters have another name in Python, and aliases of settings.
PARAMETERS = {"format": "format_", "open": "open_", "json": "as_json"}
ALIASES = {"random_state": "seed"}


class Whole(click.types.StringParamType):
    """Names of columns; blanks in an environment variable do not split them."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return [rv]


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def option(setting: Setting) -> Callable:
    """The click option of a setting; `Settings` checks the values."""
    names = (*SHORT.get(setting.name, ()), flag(setting.name), setting.name)
    more: dict[str, Any] = {}
    if setting.kind in LISTS:
        more["multiple"] = True
    if setting.kind == "columns":
        more["type"] = Whole()
    shown = setting.help
    if setting.choices:
        shown += f" [{'|'.join(setting.choices)}]"
    if setting.default not in (None, ()):
        shown += f" Default: {setting.default}."
    return click.option(
        *names, default=None, help=shown, envvar=variables(setting.name),
        metavar="TEXT" if setting.name in ("metric", "positive") else KINDS[setting.kind].metavar,
        **more,
    )  # fmt: skip


def variables(name: str) -> list[str]:
    """The environment variables of a setting: its own name, then its aliases."""
    other = [alias for alias, meant in ALIASES.items() if meant == name]
    return [f"PELLUCID_{word.upper()}" for word in (name, *other)]


def setting_options(*names: str) -> Callable:
    """Add options for some settings to a command; without names, for all settings."""
    chosen = [BY_NAME[name] for name in names] if names else list(SETTINGS)

    def add(command: Callable) -> Callable:
        for setting in reversed(chosen):
            command = option(setting)(command)
        return command

    return add


def config_option(command: Callable) -> Callable:
    """Add `--config FILE`; without it, the nearest settings file of the parent folders is read."""

    def load(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        path = Path(value) if value else nearest(Path.cwd())
        if path is not None:
            values = read_config(path, required=value is not None)
            named = {PARAMETERS.get(name, name): setting for name, setting in values.items()}
            ctx.default_map = {**named, **(ctx.default_map or {})}
            ctx.meta["pellucid.config"] = os.path.relpath(path) if values else ""
        return value

    return click.option(
        "--config", is_eager=True, callback=load, metavar="FILE", expose_value=False,
        envvar="PELLUCID_CONFIG",
        help="Read settings from FILE; default: the nearest pellucid.toml or pyproject.toml.",
    )(command)  # fmt: skip


def nearest(folder: Path) -> Path | None:
    """The nearest settings file in a folder or its parents."""
    for place in (folder, *folder.parents):
        for name in FILES:
            path = place / name
            if path.is_file() and (name == FILES[0] or read_config(path, required=False)):
                return path
    return None


def read_config(path: Path, required: bool) -> dict[str, Any]:
    """The settings in a file; names have underscores."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is not valid TOML: {error}.") from None
    table = content.get("tool", {}).get("pellucid")
    if table is None:
        table = content if path.name != "pyproject.toml" else {}
    out = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        name = ALIASES.get(name, name)
        if name not in BY_NAME and name not in OWN:
            from pellucid.data.io.source import did_you_mean

            raise ParameterError(
                f"{path}: unknown setting {key!r}.{did_you_mean(name, [*BY_NAME, *OWN])}"
            )
        listed = name in BY_NAME and BY_NAME[name].kind in LISTS
        out[name] = ([value] if isinstance(value, str) else value) if listed else value
    if required and not out:
        raise ParameterError(f"{path} contains no Pellucid settings.")
    return out


def gather_settings(ctx: click.Context, values: dict[str, Any]) -> Settings:
    """Checked settings, and the source of each."""
    source = click.core.ParameterSource
    words: dict[Any, str] = {
        source.COMMANDLINE: "command line",
        source.ENVIRONMENT: "environment",
        source.DEFAULT_MAP: ctx.meta.get("pellucid.config") or "file",
    }
    given, sources = {}, {}
    for name, value in values.items():
        if name not in BY_NAME:
            continue
        where = words.get(ctx.get_parameter_source(name), "default")
        if where == "environment":
            where = f"environment PELLUCID_{name.upper()}"
        if BY_NAME[name].kind == "list" and value:
            value = ",".join(value)
        if where != "default":
            given[name], sources[name] = value, where
    return Settings.of(given, sources)


def toml_text(values: dict[str, Any], comment: str = "") -> str:
    """Settings as a TOML file."""
    lines = [f"# {comment}"] if comment else []
    for name, value in values.items():
        lines.append(f"{name.replace('_', '-')} = {toml_value(value)}")
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """A value in TOML: as in JSON, but without the character DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
