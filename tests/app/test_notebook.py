"""A comparison in a notebook: one display, drawn anew, that ends as one line."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import pellucid
from pellucid.app.notebook import framed


class Handle:
    """What `display(..., display_id=True)` gives."""

    def __init__(self, shown):
        self.pages = [shown.data]

    def update(self, shown):
        self.pages.append(shown.data)


@pytest.fixture
def shown(monkeypatch):
    """A stand-in for IPython that keeps what is displayed."""
    handles, shell = [], SimpleNamespace(kernel=object())

    def display(thing, display_id=False):
        assert display_id
        handles.append(Handle(thing))
        return handles[-1]

    package, displays = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: shell
    displays.display, displays.HTML = display, lambda data: SimpleNamespace(data=data)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    return SimpleNamespace(handles=handles, shell=shell)


def run(**settings):
    return pellucid.compare("penguins", models="tree", effort="quick", cv=3, **settings)


def test_progress_shows_in_one_display_and_ends_clean(shown, capfd):
    result = run()
    (handle,) = shown.handles
    assert "waiting" in handle.pages[0] and len(handle.pages) > 2
    assert any("tree" in page and "fold" in page for page in handle.pages[1:-1])
    assert handle.pages[-1].startswith(framed("2 of 2 models compared in ")[:-12])
    assert capfd.readouterr() == ("", "")  # nothing beside the display
    card = result._repr_html_()
    assert "Leaderboard" in card and "tree" in card and "<script" not in card


def test_progress_can_be_declined(shown):
    run(progress=False)
    assert not shown.handles


def test_ipython_in_a_terminal_is_no_notebook(shown, capfd):
    del shown.shell.kernel
    run()
    assert not shown.handles and capfd.readouterr() == ("", "")


def test_ctrl_c_is_answered(shown):
    from pellucid.app.messages import Messages
    from pellucid.app.notebook import Notebook
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.comparison.planning.settings import Settings

    plan, _ = prepare("penguins", Settings.of({"models": "tree"}))
    with Notebook(Messages(), plan) as board:
        board.update({"event": "stopping", "times": 1})
        board.update({"event": "stopping", "times": 2})
    said = shown.handles[0].pages
    assert "stopping after the current fits" in said[1]
    assert "stopping" not in said[2] and "stopped" in said[2]
