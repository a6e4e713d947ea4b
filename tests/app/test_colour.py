"""Colour: where it is wanted, what it marks, and that it can be read on dark and light screens."""

import io
import os
import re
import subprocess
import sys

import pytest

from pellucid.app import cli
from pellucid.app.colour import PALETTE, colour_wanted, painted

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PELLUCID_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("choice", "settings", "piped", "terminal"),
    [
        ("auto", {}, False, True),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, False, True),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"FORCE_COLOR": "0"}, False, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("auto", {"CLICOLOR": "0"}, False, False),
        ("auto", {"CLICOLOR": "0", "CLICOLOR_FORCE": "1"}, True, True),
        ("auto", {"TERM": "dumb"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
    ],
)
def test_where_colour_is_wanted(monkeypatch, choice, settings, piped, terminal):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert colour_wanted(choice, io.StringIO()) is piped
    assert colour_wanted(choice, Terminal()) is terminal


BOARD = """LEADERBOARD  accuracy
  =  tree      .9  best       <- recommended
  x  majority  .4  worse      baseline
  -  qda       failed: singular

! worse than cross-validation
!! D012 'boat' gives the answer away
checks  ! D003 one thing
        ok  no empty column
TEST SET  (used once)"""


def test_marks_are_painted_and_nothing_else_changes():
    shown = painted(BOARD)
    assert ESCAPE.sub("", shown) == BOARD
    roles = {
        line: {role for role, (number, _) in PALETTE.items() if f";{number}m" in line}
        for line in shown.splitlines()
    }
    found = [sorted(own) for own in roles.values()]
    warning, good = ["warning"], ["good"]
    assert found == [[], good, [], warning, [], warning, ["error"], warning, good, []]


@pytest.mark.parametrize("role", [name for name, (number, _) in PALETTE.items() if number])
def test_colours_can_be_read_on_black_and_on_white(role):
    number, rgb = PALETTE[role]
    cube, steps = number - 16, (0, 95, 135, 175, 215, 255)
    assert rgb == (steps[cube // 36], steps[cube // 6 % 6], steps[cube % 6])
    linear = [((v / 255 + 0.055) / 1.055) ** 2.4 if v > 10 else v / 255 / 12.92 for v in rgb]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    assert min((light + 0.05) / 0.05, 1.05 / (light + 0.05)) >= 3.8


def test_the_option_is_heard_by_every_command(capsys, monkeypatch):
    for choice, coloured in (("always", True), ("never", False), ("auto", False)):
        assert cli.run(["check", "iris", "--color", choice]) == 0
        assert ("\x1b[" in capsys.readouterr().out) is coloured
        assert cli.run(["show", "nothing", "--color", choice]) == 2
        assert ("\x1b[" in capsys.readouterr().err) is coloured
    monkeypatch.setenv("PELLUCID_COLOR", "always")
    assert cli.run(["check", "iris"]) == 0 and "\x1b[" in capsys.readouterr().out


def test_heads_of_tables_and_results_are_bold(capsys, tmp_path, monkeypatch):
    """In every command that prints text: the colours take nothing away and add nothing else."""
    monkeypatch.chdir(tmp_path)
    run = ["iris", "--models", "tree", "--effort", "quick", "--cv", "3", "-o", "runs/r", "-qq"]
    assert cli.run(["compare", *run]) == 0
    capsys.readouterr()
    commands = (
        ["models"], ["runs"], ["explain", "runs/r"], ["show", "tree"], ["show", "runs/r/model.pellucid"],
    )  # fmt: skip
    for command in commands:
        assert cli.run([*command, "--color", "never"]) == 0
        plain = capsys.readouterr().out
        assert cli.run([*command, "--color", "always"]) == 0
        coloured = capsys.readouterr().out
        assert "\x1b[" in coloured and ESCAPE.sub("", coloured) == plain, command


def test_json_is_never_coloured(capsys):
    assert cli.run(["check", "iris", "--color", "always", "--json"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def on_a_terminal(columns, *arguments, **settings):
    """What the command shows on a terminal of so many columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    code = "from pellucid.app.cli import main; main()"
    env = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | settings
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=theirs, stderr=theirs, env=env
    ) as child:
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # its end is closed
                break
            if not more:
                break
            shown += more
        assert child.wait() in (0, 2)
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 110])
def test_errors_wrap_on_a_terminal_and_are_coloured(columns):
    shown = on_a_terminal(columns, "show", "tre")
    lines = ESCAPE.sub("", shown).splitlines()
    assert shown.startswith("\x1b[1;38;5;160merror:\x1b[0m 'tre' is not a method")
    assert len(lines) > 1 and max(map(len, lines)) <= columns
    assert "Did you mean 'tree'?" in " ".join(lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert "\x1b" not in on_a_terminal(columns, "show", "tre", NO_COLOR="1")
