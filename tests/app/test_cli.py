"""The command itself: help, version, one-line errors, exit codes, quiet pipes, a light start."""

import json
import os
import subprocess
import sys
from importlib.metadata import version

import click
import pytest

from pellucid.app import cli
from pellucid.app.messages import Messages, as_json_text, message_options
from pellucid.errors import DataError

EVERY = ", ".join(cli.COMMANDS)
COMMAND = [sys.executable, "-c", "from pellucid.app.cli import main; main()"]


def pellucid(*arguments, **settings):
    """Run the command in a process of its own, as a shell does."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, **settings)


@pytest.fixture
def failing(monkeypatch):
    """A command that raises whatever it is given."""

    def install(error):
        @click.command()
        @message_options
        def predict():
            raise error

        monkeypatch.setattr(cli.LazyGroup, "get_command", lambda *_: predict)

    return install


def test_version():
    done = pellucid("--version")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"pellucid {version('pellucid')}\n",
        "",
    )


def test_help_lists_every_command_and_promises_no_network():
    done = pellucid("--help")
    assert done.returncode == 0
    assert all(f"  {name}  " in done.stdout for name in cli.COMMANDS)
    assert "no network" in done.stdout


def test_alone_it_shows_help():
    alone, asked = pellucid(), pellucid("-h")
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, asked.stdout, "")


def test_a_shell_can_complete():
    done = pellucid(env={"_PELLUCID_COMPLETE": "bash_source", "PATH": os.environ["PATH"]})
    assert "_pellucid_completion" in done.stdout


def test_help_starts_light():
    code = (
        "import json, sys\nfrom pellucid.app.cli import run\nrun(['--help'])\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    heavy = {
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "pyarrow",
        "narwhals",
        "rich",
        "jinja2",
        "asyncio",
    }
    assert not loaded & heavy


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name, capsys):
    assert cli.run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: pellucid {name}" in shown and "--verbose" in shown and "--quiet" in shown
    command = cli.cli.get_command(click.Context(cli.cli), name)
    assert command.name == name
    assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predit"], "No such command 'predit'. Did you mean 'predict'? See 'pellucid --help'."),
        (["zzz"], f"No such command 'zzz'. Commands: {EVERY}. See 'pellucid --help'."),
        (["predict"], "Missing argument 'MODEL'. See 'pellucid predict --help'."),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(arguments, message, capsys):
    assert cli.run(arguments) == 2
    heard = capsys.readouterr()
    assert (heard.out, heard.err) == ("", f"error: {message}\n")


def test_errors_are_one_line_without_traceback(failing, capsys):
    failing(DataError("column 'a'\n   is not there."))
    assert cli.run(["predict"]) == 2
    assert capsys.readouterr().err == "error: column 'a' is not there.\n"


def test_vv_shows_where_an_error_came_from(failing, capsys):
    failing(DataError("no"))
    assert cli.run(["predict", "-vv"]) == 2
    heard = capsys.readouterr().err
    assert "Traceback" in heard and heard.endswith("error: no\n")


def test_an_internal_error_says_so(failing, capsys):
    failing(ZeroDivisionError("oops"))
    assert cli.run(["predict"]) == 2
    assert capsys.readouterr().err.startswith("error: internal: ZeroDivisionError: oops.")


def test_an_operating_system_error_names_the_file(failing, capsys):
    failing(PermissionError(13, "Permission denied", "secret.csv"))
    assert cli.run(["predict"]) == 2
    assert capsys.readouterr().err == "error: secret.csv: Permission denied\n"


def test_ctrl_c_is_130(failing, capsys):
    failing(KeyboardInterrupt())
    assert cli.run(["predict"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_pipe_is_quiet():
    shell = f'set -o pipefail; {sys.executable} -c "{COMMAND[2]}" --help | true'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(("level", "heard"), [(0, "nw"), (-1, "w"), (-2, "")])
def test_quiet_silences_notes_then_warnings(level, heard, capsys):
    messages = Messages(level)
    messages.note("n")
    messages.warn("w")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "".join({"n": "note: n\n", "w": "warning: w\n"}[c] for c in heard)


@pytest.mark.parametrize("arguments", [["runs"], ["show", "--help"], ["compare", "--help"]])
def test_looking_starts_light(arguments, tmp_path):
    code = (
        f"import json, sys\nfrom pellucid.app.cli import run\nrun({arguments!r})\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "rich", "jinja2"}


@pytest.mark.skipif(os.name != "posix", reason="only a POSIX shell can close standard output")
def test_closed_standard_output_is_no_failure():
    line = " ".join(f"'{part}'" for part in [*COMMAND, "models"])
    done = subprocess.run(f"{line} >&-", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", ["", "malloc of size 131136 failed"])
def test_too_little_memory_is_said_and_is_no_internal_error(failing, capsys, text):
    failing(MemoryError(text))
    assert cli.run(["predict"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: not enough memory") and text in said and "internal" not in said


def test_under_a_memory_limit_modules_that_do_not_load_are_no_internal_error(
    failing, capsys, monkeypatch
):
    failing(ImportError("libarrow.so: failed to map segment from shared object"))
    assert cli.run(["predict"]) == 2
    assert "internal: ImportError" in capsys.readouterr().err
    monkeypatch.setattr(cli, "_little_memory", lambda: True)
    assert cli.run(["predict"]) == 2
    assert capsys.readouterr().err.startswith("error: not enough memory (libarrow.so: failed")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit may not be enforced")
@pytest.mark.parametrize("limit", [120, 300, 790])
def test_a_command_that_cannot_load_says_so_in_one_line(limit):
    """Under 300 MB, OpenBLAS would ask for memory for ever."""
    import resource

    size = limit << 20
    done = pellucid(
        "check", "penguins",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"error: not enough memory: the limit of this process (ulimit -v) is {limit} MB, and NumPy, "
        "SciPy and Arrow need 800 MB of address space. Raise the limit.\n"
    )


def test_json_holds_no_character_that_controls_a_terminal():
    value = {"\x9b31m": ["\u202eb", "grün\x7f\x1b\n"]}
    for options in ({}, {"indent": 1}):
        text = as_json_text(value, **options)
        assert json.loads(text) == value and "grün" in text
        assert not set(text) & set("\x9b\u202e\x7f\x1b") and ("\n" in text) == bool(options)


def test_messages_hold_no_character_that_turns_their_direction(capsys):
    Messages().warn("\u202eabc\u2066\x9b")
    assert capsys.readouterr().err == "warning: abc\n"
