"""The `pellucid` command: it finds the sub-command and reports every failure as one line.

Start-up imports click and nothing else that takes time; the module of a command is imported when the
command is called. Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 a gate
(--strict, --fail-under, a check) failed, 2 wrong usage, wrong data or an internal error, 130
interrupted, 143 terminated.
"""

import importlib
import os
import signal
import sys
import warnings

import click

from pellucid.app.messages import Messages

LITTLE_MEMORY = 1 << 31
# Address space that the libraries need. With less, OpenBLAS ends the process or loops for ever.
LEAST_MEMORY = 800 << 20
LESS_MEMORY = "Use a smaller table or fewer processes (-j 1), or raise the memory limit."
# {command: its line in `pellucid --help`}, so that help imports no command.
COMMANDS = {
    "check": "Check a table for target leakage, row IDs and duplicates.",
    "compare": "Compare all suitable models on a table and recommend one.",
    "completion": "Print the completion script for a shell.",
    "explain": "Explain the predictions of a model, row by row.",
    "fit": "Fit one model to a table of any size and save it.",
    "init": "Write a settings file with all defaults.",
    "models": "List the models that a comparison runs.",
    "predict": "Predict the rows of a file with a saved model.",
    "report": "Write or open the report of a run.",
    "runs": "List the runs in a folder.",
    "show": "Show a method, a model file or a run.",
}


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The click command, from the module of the same name."""
        if cmd_name not in COMMANDS:
            return None
        if (limit := _memory_limit()) < LEAST_MEMORY:
            least = f"{LEAST_MEMORY >> 20} MB"
            raise click.ClickException(
                f"not enough memory: the limit of this process (ulimit -v) is {int(limit) >> 20} MB, "
                f"and NumPy, SciPy and Arrow need {least} of address space. Raise the limit."
            )
        module = importlib.import_module(f"pellucid.app.commands.{cmd_name}")
        return getattr(module, cmd_name)

    def resolve_command(self, ctx: click.Context, args: list[str]):
        """Resolve the command; an unknown name gets the nearest one as a suggestion."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" Commands: {', '.join(COMMANDS)}."
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


def print_version(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    """`--version`: the installed version."""
    if value and not ctx.resilient_parsing:
        from pellucid import __version__

        click.echo(f"pellucid {__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "PELLUCID"},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    allow_from_autoenv=False,
    callback=print_version,
    help="Show the version and exit.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Classical machine learning you can see through.

    Everything runs on this machine: no network access, no telemetry.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def one_line(error: BaseException) -> str:
    """The message of an error on one line."""
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "pellucid"
        text = error.format_message()
        text += f"{'' if text[-1] in '.?' else '.'} See '{command} --help'."
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


def report(error: BaseException, messages: Messages) -> int:
    """Print `error: ...` and return the exit code; with -vv also print the traceback."""
    from pellucid.errors import PellucidError

    if messages.level >= 2:
        import traceback

        traceback.print_exception(error)
    text = one_line(error)
    ours = isinstance(error, (PellucidError, OSError, click.ClickException))
    # Under a limit, what fails to load or to start raises errors of other types.
    starved = not ours and _little_memory()
    if starved or (isinstance(error, MemoryError) and not isinstance(error, PellucidError)):
        text = f"not enough memory{f' ({text})' if text else ''}. {LESS_MEMORY}"
    elif not ours:
        text = (
            f"internal: {type(error).__name__}: {text.rstrip('.')}. Please report this with the output "
            "of -vv."
        )
    messages.write("error", text)
    return 2


def call(arguments: list[str], messages: Messages) -> int:
    """Find the command and run it; errors are raised."""
    if "_PELLUCID_COMPLETE" in os.environ:  # click prints the completions and exits
        cli.main(prog_name="pellucid")
    try:
        with cli.make_context("pellucid", arguments, obj=messages) as ctx:
            cli.invoke(ctx)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    return 0


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    messages = Messages()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = messages.show_warning
        try:
            return call(arguments, messages)
        except BrokenPipeError:
            # Discard buffered output, so that exit does not raise again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            return 130
        except Exception as error:
            return report(error, messages)


def _memory_limit() -> float:
    """The bytes of address space that this process may have (`ulimit -v`)."""
    try:
        import resource
    except ImportError:  # Windows
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _little_memory() -> bool:
    """Whether the address space is limited so much that modules may not load."""
    return _memory_limit() < LITTLE_MEMORY


def main() -> None:
    """The entry point of the `pellucid` command."""
    if _little_memory():  # so that OpenBLAS and Arrow reserve less
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    # On SIGTERM (timeout, docker stop) exit normally, so that the shared copy of the table is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: what would go there is discarded
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        code = run(sys.argv[1:])
    except Exception:  # too little memory even for the modules that print the message
        if not _little_memory():
            raise
        os.write(2, f"error: not enough memory. {LESS_MEMORY}\n".encode())
        code = 2
    sys.exit(code)
