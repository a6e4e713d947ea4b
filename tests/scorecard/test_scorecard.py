"""The scorecard finds its tests, tells kept from broken, and sizes follow its word."""

import importlib
import json
import subprocess
import sys

import pytest

from scorecard import __main__ as card
from scorecard.rows import ROWS, Row
from tests.source_tree import ROOT


def test_every_row_has_tests_that_exist():
    for row in ROWS:
        assert all((ROOT / path).exists() for path in row.tests), row.name
        assert row.tests or hasattr(importlib.import_module(row.module), "check"), row.name
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.fixture
def outcomes(tmp_path, monkeypatch):
    """A row over two tests of which one fails if asked to."""
    path = tmp_path / "test_outcome.py"
    path.write_text("def test_right(): pass\ndef test_wrong(): assert 1 == 2\n")

    def rows(only):
        row = Row("toy", "a promise", "a mark", (str(path),), only)
        monkeypatch.setattr(card, "ROWS", (row,))

    return rows


@pytest.mark.parametrize(("only", "kept"), [("right", True), ("wrong", False), ("none", False)])
def test_a_row_is_kept_if_some_test_ran_and_none_failed(only, kept, outcomes, tmp_path, capsys):
    outcomes(only)
    assert card.main(["--quick", "--json", str(tmp_path / "card.json")]) == int(not kept)
    written = json.loads((tmp_path / "card.json").read_text())[0]
    assert written["kept"] is kept and written["failed"] == int(only == "wrong")
    assert capsys.readouterr().out.startswith("kept" if kept else "BROKEN")


def test_an_unknown_row_is_named(capsys):
    assert card.main(["tres"]) == 2
    assert "unknown row: tres" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "count"), [("full", 900), ("few", 3)])
def test_sizes_follow_the_variable(word, count):
    code = "from tests.sizes import cases; print(len(cases(3, 900)))"
    run = [sys.executable, "-c", code]
    done = subprocess.run(
        run, cwd=ROOT, env={"PELLUCID_SCORECARD": word}, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(count), done.stderr
