"""Messages of the command line: results on stdout; notes, warnings and errors on stderr.

`-v`, `-q` and `--color` mean the same in every command; a command takes them with `@message_options`
and the `Messages` with `@click.pass_obj`. On a terminal, messages are wrapped at its width; elsewhere
each is one line.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click

# Names in a file must not control the terminal; the last two ranges turn the direction of what follows.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


@dataclass
class Messages:
    """The verbosity (`-v` adds one, `-q` subtracts one) and the colour of messages."""

    level: int = 0
    shown: set[str] = field(default_factory=set)
    colour: str = "auto"

    def note(self, text: str) -> None:
        """Print a note, unless -q was given."""
        if self.level >= 0:
            self.write("note", text)

    def warn(self, text: str) -> None:
        """Print a warning, unless -qq was given."""
        if self.level >= -1:
            self.write("warning", text)

    def show_warning(self, message, category, filename, lineno, file=None, line=None) -> None:
        """Print a Python warning on one line, and only once; with -vv also where it was raised."""
        where = f" ({category.__name__}, {filename}:{lineno})" if self.level >= 2 else ""
        text = f"{message}{where}"
        if text not in self.shown:
            self.shown.add(text)
            self.warn(text)

    def write(self, label: str, text: str) -> None:
        """Print `label: text` on stderr, whatever the level."""
        from pellucid.app.colour import LABELS, colour_wanted, paint
        from pellucid.report.screen import packed, terminal_width

        width = terminal_width(sys.stderr)
        text = " ".join(CONTROL.sub(" ", text).split())
        lines = [f"{label}: {text}"]
        if width is not None:
            lines = packed(text.split(" "), f"{label}: ", "  ", width)
        if label in LABELS and colour_wanted(self.colour, sys.stderr):
            head, rest = lines[0][: len(label) + 1], lines[0][len(label) + 1 :]
            lines[0] = paint(head, LABELS[label]) + rest
        click.echo("\n".join(lines), err=True, color=True)

    def show(self, text: str, err: bool = False) -> None:
        """Print text on stdout or stderr, with its marks in colour if wanted."""
        from pellucid.app.colour import colour_wanted, painted

        wanted = colour_wanted(self.colour, sys.stderr if err else sys.stdout)
        click.echo(painted(text) if wanted else text, nl=False, err=err, color=True)


def as_json_text(value: Any, **options: Any) -> str:
    """JSON without a character that controls a terminal: `json` itself escapes only some of them."""
    parts = json.dumps(value, ensure_ascii=False, **options).split("\n")  # of the indentation
    return "\n".join(
        CONTROL.sub(lambda found: json.dumps(found.group())[1:-1], part) for part in parts
    )


def file_size(path: Path) -> str:
    """The size of a file for people, such as 7 KB or 0.5 MB."""
    n = path.stat().st_size
    return f"{n / 1e6:.1f} MB" if n >= 1e5 else f"{max(1, round(n / 1e3))} KB"


def _counter(names: tuple[str, str], sign: int, help: str) -> Callable:
    def change(ctx: click.Context, option: click.Parameter, value: int) -> None:
        ctx.ensure_object(Messages).level += sign * value

    return click.option(
        *names, count=True, is_eager=True, expose_value=False, callback=change, help=help,
        envvar=f"PELLUCID_{names[1].strip('-').upper()}",
    )  # fmt: skip


def _colour() -> Callable:
    def choose(ctx: click.Context, option: click.Parameter, value: str) -> None:
        ctx.ensure_object(Messages).colour = value

    return click.option(
        "--color", default="auto", is_eager=True, expose_value=False, callback=choose,
        type=click.Choice(["auto", "always", "never"]), envvar="PELLUCID_COLOR",
        help="Colour the output; auto: only on a terminal, and not if NO_COLOR is set.",
    )  # fmt: skip


def message_options(command: Callable) -> Callable:
    """Add `-v`, `-q` and `--color`; they are read first, to apply to errors in other options."""
    less = _counter(("-q", "--quiet"), -1, "Print no notes; -qq: no warnings either.")
    more = _counter(
        ("-v", "--verbose"), +1, "Print more; -vv also prints the traceback of an error."
    )
    return more(less(_colour()(command)))


def format_options(*choices: str, envvar: str | None = None) -> Callable:
    """Add `--format`, passed on as `format_`, and `--json`, short for `--format json`."""

    def add(command: Callable) -> Callable:
        @wraps(command)
        def run(*args: Any, format_: str, as_json: bool, **given: Any) -> Any:
            return command(*args, format_="json" if as_json else format_, **given)

        form = click.option(
            "--format", "format_", default="text", envvar=envvar, type=click.Choice(choices),
            help="Format of the result on stdout.",
        )  # fmt: skip
        return form(json_option("Short for --format json.")(run))

    return add


def json_option(help: str = "Print JSON.") -> Callable:
    """Add `--json`, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, envvar="PELLUCID_JSON", help=help)


memory_option = click.option(
    "--memory", metavar="SIZE",
    help="Memory that may be used, such as 2GB; larger tables use scratch files. Default: "
    "PELLUCID_MEMORY, or half of the machine's memory.",
)  # fmt: skip
