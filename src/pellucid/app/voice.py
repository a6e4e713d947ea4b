"""What the command line says besides its results: notes and warnings, on stderr, as much as asked.

`-v`, `-q` and their doubles mean the same in every command; a command takes them with
`@voice_options` and the voice itself with `@click.pass_obj`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import click


@dataclass
class Voice:
    """How much the user wants to hear: `-v` adds one, `-q` takes one away."""

    level: int = 0
    said: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        """Something worth knowing; silent with -q."""
        if self.level >= 0:
            click.echo(f"note: {text}", err=True)

    def warn(self, text: str) -> None:
        """Something that may make the result wrong; silent with -qq."""
        if self.level >= -1:
            click.echo(f"warning: {text}", err=True)

    def show_warning(self, message, category, filename, lineno, file=None, line=None) -> None:
        """A Python warning as one line, said once; where it comes from only with -vv."""
        where = f" ({category.__name__}, {filename}:{lineno})" if self.level >= 2 else ""
        text = f"{message}{where}"
        if text not in self.said:
            self.said.add(text)
            self.warn(text)


def _counter(names: tuple[str, str], sign: int, help: str) -> Callable:
    def change(ctx: click.Context, option: click.Parameter, value: int) -> None:
        ctx.ensure_object(Voice).level += sign * value

    return click.option(
        *names, count=True, is_eager=True, expose_value=False, callback=change, help=help,
        envvar=f"PELLUCID_{names[1].strip('-').upper()}",
    )  # fmt: skip


def voice_options(command: Callable) -> Callable:
    """Give a command `-v` and `-q`, read first, so that they hold for errors in other options."""
    less = _counter(("-q", "--quiet"), -1, "No notes; -qq: no warnings either.")
    more = _counter(("-v", "--verbose"), +1, "Say more; -vv also shows where an error came from.")
    return more(less(command))
