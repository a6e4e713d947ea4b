"""How the command line speaks: results on stdout; notes, warnings and errors on stderr.

`-v`, `-q`, their doubles and `--color` mean the same in every command; a command takes them with
`@voice_options` and the voice itself with `@click.pass_obj`. On a terminal messages are wrapped at
its width; elsewhere each is one line.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import click

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")  # a file's names must not steer the terminal


@dataclass
class Voice:
    """How much the user wants to hear: `-v` adds one, `-q` takes one away; and in which colours."""

    level: int = 0
    said: set[str] = field(default_factory=set)
    colour: str = "auto"

    def note(self, text: str) -> None:
        """Something worth knowing; silent with -q."""
        if self.level >= 0:
            self.tell("note", text)

    def warn(self, text: str) -> None:
        """Something that may make the result wrong; silent with -qq."""
        if self.level >= -1:
            self.tell("warning", text)

    def show_warning(self, message, category, filename, lineno, file=None, line=None) -> None:
        """A Python warning as one line, said once; where it comes from only with -vv."""
        where = f" ({category.__name__}, {filename}:{lineno})" if self.level >= 2 else ""
        text = f"{message}{where}"
        if text not in self.said:
            self.said.add(text)
            self.warn(text)

    def tell(self, label: str, text: str) -> None:
        """`label: text` on stderr, whatever the level."""
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
        """Text whose marks may be coloured, on stdout or stderr."""
        from pellucid.app.colour import colour_wanted, painted

        wanted = colour_wanted(self.colour, sys.stderr if err else sys.stdout)
        click.echo(painted(text) if wanted else text, nl=False, err=err, color=True)


def _counter(names: tuple[str, str], sign: int, help: str) -> Callable:
    def change(ctx: click.Context, option: click.Parameter, value: int) -> None:
        ctx.ensure_object(Voice).level += sign * value

    return click.option(
        *names, count=True, is_eager=True, expose_value=False, callback=change, help=help,
        envvar=f"PELLUCID_{names[1].strip('-').upper()}",
    )  # fmt: skip


def _colour() -> Callable:
    def choose(ctx: click.Context, option: click.Parameter, value: str) -> None:
        ctx.ensure_object(Voice).colour = value

    return click.option(
        "--color", default="auto", is_eager=True, expose_value=False, callback=choose,
        type=click.Choice(["auto", "always", "never"]), envvar="PELLUCID_COLOR",
        help="Colour the output; auto: on a terminal, unless NO_COLOR is set.",
    )  # fmt: skip


def voice_options(command: Callable) -> Callable:
    """Give a command `-v`, `-q` and `--color`, read first: they hold for errors in other options."""
    less = _counter(("-q", "--quiet"), -1, "No notes; -qq: no warnings either.")
    more = _counter(("-v", "--verbose"), +1, "Say more; -vv also shows where an error came from.")
    return more(less(_colour()(command)))
