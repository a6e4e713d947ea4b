"""The mutation machinery: sensible places, exact changes, and outcomes that are told apart."""

import pytest

from scorecard.mutants.__main__ import FAMILIES, drawn, selections
from scorecard.mutants.laboratory import ROOT, Laboratory
from scorecard.mutants.sites import Mutant, mutants

SOURCE = '''
"""Text with a < b."""
from math import sqrt
cdef int f(double a = 1.0) nogil:
    cdef double* x = <double*> place
    cdef Py_ssize_t n = a - 1
    if a < -b and not c[0]:
        total += x[i]  # < 3
    raise ValueError("a < b")
    return -total * 0.5, x.sum(axis=1), d is not None
'''


def test_places_that_compute_are_found_and_others_are_not():
    found = {(m.line, m.old, m.new) for m in mutants(SOURCE, "f.pyx")}
    assert found == {
        (6, "-", "+"), (6, "1", "0"),
        (7, "<", "<="), (7, "and", "or"), (7, "not", ""),
        (8, "+=", "-="), (8, "total += x[i]", "pass"),
        (10, "*", "/"), (10, "0.5", "(1.5 * 0.5)"),
    }  # fmt: skip


def test_a_mutant_changes_its_place_alone_and_refuses_another_source():
    mutant = Mutant("f", 7, 9, "<", "<=")
    changed = mutant.applied(SOURCE).splitlines()
    assert changed[6] == "    if a <= -b and not c[0]:"
    assert [a == b for a, b in zip(changed, SOURCE.splitlines())].count(False) == 1
    with pytest.raises(ValueError, match="the source has"):
        mutant.applied(SOURCE.replace("if a", "if  a"))


def test_the_draw_is_repeatable_and_half_of_it_is_compiled():
    first = drawn(100, seed=3)
    assert first == drawn(200, seed=3)[:100] != drawn(100, seed=4)
    assert sum(m.file.endswith(".py") for m in first) == 50
    for mutant in first:
        mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8"))


def test_every_family_has_tests():
    for family in FAMILIES:
        for selection in selections(f"src/pellucid/{family}/x.py"):
            assert (ROOT / selection[0]).exists()


def test_outcomes_are_told_apart_and_the_source_comes_back(tmp_path, monkeypatch):
    laboratory = Laboratory(tmp_path)
    source = laboratory.source / "m.py"
    source.parent.mkdir()
    source.write_text("a = 1\n")
    words = {"a = 1\n": "passed", "a = 2\n": "failed", "a = 3\n": "hung", "a = 4\n": "passed"}
    monkeypatch.setattr(Laboratory, "test", lambda self, selection: words[source.read_text()])
    for new, outcome in (("2", "killed"), ("3", "hung"), ("4", "survived")):
        assert laboratory.outcome(Mutant("m.py", 1, 4, "1", new), [()]) == outcome
        assert source.read_text() == "a = 1\n"


def test_a_test_that_fails_without_a_change_kills_nothing(tmp_path, monkeypatch):
    laboratory = Laboratory(tmp_path)
    laboratory.source.mkdir()
    (laboratory.source / "m.py").write_text("a = 1\n")
    monkeypatch.setattr(Laboratory, "test", lambda self, selection: "failed")
    with pytest.raises(SystemExit, match="fails on the unchanged sources"):
        laboratory.outcome(Mutant("m.py", 1, 4, "1", "2"), [("tests/x",)])
