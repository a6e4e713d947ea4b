"""The scorecard counts what was tried and what was bad, survives crashes, and continues."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from html import escape

import pytest

from scorecard import __main__ as card
from scorecard.checks import relations
from scorecard.page import page
from scorecard.rows import ROWS, Row
from scorecard.runner import Case, Limits, tally
from tests.oracles import shared
from tests.source_tree import ROOT

LIMITS = Limits(seconds=1)


def fine():
    pass


def wrong():
    raise ValueError("no")


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    time.sleep(60)


def test_every_fault_is_counted_and_ends_no_other_case():
    checks = {"a": fine, "b": wrong, "c": crash, "d": fine, "e": hang, "f": fine}
    found = tally([Case(*pair) for pair in checks.items()], None, LIMITS)
    assert (found.wanted, found.tried, sorted(found.bad)) == (6, 6, ["b", "c", "e"])
    assert "ValueError" in found.bad["b"] and "no" in found.bad["b"]
    assert found.bad["c"] == "died of signal 11" and found.bad["e"] == "took more than 1 s"


def test_a_child_has_no_more_memory_than_allowed():
    found = tally([Case("big", partial(bytearray, 1 << 33))], None, Limits(10, 4 << 30))
    assert "MemoryError" in found.bad["big"]


def test_a_journal_is_continued_and_nothing_is_tried_twice(tmp_path):
    journal, seen = tmp_path / "work" / "row.jsonl", tmp_path / "seen"

    def note(key):
        with seen.open("a") as file:
            file.write(key)

    def cases(keys):
        return [Case(key, partial(note, key)) for key in keys]

    assert tally(cases("ab"), journal, LIMITS).tried == 2
    journal.write_bytes(journal.read_bytes() + b'["c", "')  # killed while it wrote
    assert tally(cases("abcd"), journal, LIMITS).tried == 4
    assert tally(cases("abcd"), journal, LIMITS).tried == 4
    assert seen.read_text() == "abcd"
    assert tally(cases("xyz"), journal, LIMITS, seconds=-1).tried == 0


def test_what_cases_measure_is_kept_and_summarized(monkeypatch, tmp_path, capsys):
    cases = [Case(f"case {n}", partial(dict, seconds=n)) for n in (1.0, 2.0, 6.0)]
    monkeypatch.setattr(Row, "find_cases", lambda row: lambda share: [*cases, Case("silent", fine)])
    for _ in range(2):  # the second time from the journal
        assert card.main(["svm", "--work", str(tmp_path), "--json", str(tmp_path / "card")]) == 0
        assert "seconds: median 2, largest 6 of 3" in capsys.readouterr().out
        (found,) = json.loads((tmp_path / "card").read_text())
        assert found["tried"] == 4 and found["measured"]["case 2.0"] == {"seconds": 2.0}


def test_a_run_that_is_killed_inside_a_row_loses_none_of_its_cases(tmp_path):
    journal = tmp_path / "row.jsonl"
    cases = [Case("a", fine), Case("b", wrong), Case("c", hang)]
    child = os.fork()
    if child == 0:
        tally(cases, journal, Limits(10))
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 2:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = tally(cases, journal, LIMITS, seconds=-1)
    assert (found.tried, sorted(found.bad)) == (2, ["b"])


def test_every_row_has_cases_or_figures_or_a_reason():
    assert [row.number for row in ROWS] == list(range(1, 25))
    assert [row.number for row in ROWS if row.reason] == [22]
    for row in ROWS:
        if row.cases:
            first = next(iter(row.find_cases()(0.01)))
            assert callable(first.check) and first.key


@pytest.mark.parametrize("name", ["least squares", "svm", "files", "diagnoses", "trees"])
def test_a_row_at_one_percent(name, tmp_path, capsys):
    if name == "least squares":
        shared.path("nist_norris.csv")
    out = tmp_path / "card.json", tmp_path / "card.html"
    assert card.main([name, "--quick", "--json", str(out[0]), "--page", str(out[1])]) == 0
    (found,) = json.loads(out[0].read_text())
    assert found["verdict"] == "kept" and found["tried"] == found["wanted"] > 0
    assert (
        capsys.readouterr().out.startswith("kept")
        and escape(found["promise"]) in out[1].read_text()
    )


def test_cases_without_reference_data_are_skipped_and_tried_later(monkeypatch, tmp_path, capsys):
    journal, line = (
        tmp_path / "journal",
        [Case("a", partial(pytest.skip, "no data")), Case("b", fine)],
    )
    found = tally(line, journal, LIMITS)
    assert (found.wanted, found.tried, found.bad) == (2, 1, {})
    assert found.skipped == {"a": "skipped: no data"}
    assert tally([Case("a", wrong)], journal, LIMITS).bad.keys() == {"a"}
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path / "nowhere"))
    assert card.main(["least squares", "--quick"]) == 0
    assert capsys.readouterr().out.startswith("part")


def test_a_broken_promise_is_seen(monkeypatch, capsys):
    """Trees grown on the target in reverse: the oracle notices."""
    honest = relations.grow

    def reversed_target(table, y, *rest):
        return honest(table, y[::-1].copy(), *rest)

    monkeypatch.setattr(relations, "grow", reversed_target)
    assert card.main(["trees", "--quick"]) == 1
    assert capsys.readouterr().out.startswith("BROKEN")


def test_a_page_escapes_what_it_shows():
    row = Row(1, "<b>", "p", "m")
    result = {"number": row.number, "row": row.name, "promise": "p", "mark": "m", "wanted": 1}
    text = page([{**result, "tried": 1, "bad": 1, "verdict": "BROKEN", "detail": ["<script>"]}])
    assert "<b>" not in text and "<script>" not in text and "&lt;script&gt;" in text


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
