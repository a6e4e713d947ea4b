"""The mutation machinery: sensible places, exact changes, and outcomes that are told apart."""

import signal

import pytest

from scorecard.mutants.__main__ import drawn, stages
from scorecard.mutants.card import share_of
from scorecard.mutants.laboratory import ROOT, Laboratory, Reach, chosen
from scorecard.mutants.schemata import PYTHON_HEADER, switched
from scorecard.mutants.sites import FAMILIES, Mutant, mutants

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
    first = drawn(100, seed=3, only="/tree/")
    assert first == drawn(200, seed=3, only="/tree/")[:100] != drawn(100, seed=4, only="/tree/")
    assert sum(m.file.endswith(".py") for m in first) == 50
    for mutant in first:
        mutant.applied((ROOT / mutant.file).read_text(encoding="utf-8"))


def test_the_draw_takes_the_families_in_turn():
    families = [m.file.split("/")[2] for m in drawn(48, seed=3)]
    assert set(families) == set(FAMILIES) and families[:24] == families[24:]


def test_the_name_of_a_mutant_survives_changes_of_other_lines():
    names = {m.key for m in mutants(SOURCE, "f.pyx")}
    moved = SOURCE.replace("cdef int f", "x = 3\n\ncdef int f").replace("    ", "        ")
    assert len(names) == 9 and names == {m.key for m in mutants(moved, "f.pyx") if m.line != 4}
    first, second = mutants("x = x + y\nx = x + y\n", "f.py")
    assert first.key != second.key


def test_every_family_has_tests():
    for family in FAMILIES:
        for files in stages(f"src/pellucid/{family}/x.py"):
            assert files and all((ROOT / file).exists() for file in files)


COMPUTES = """
LIMIT = 2


def f(n, flag=False):
    total = 0
    for i in range(1, n):
        if total < LIMIT and not flag:
            total += i * 2
        if flag or total == 6:
            total -= 1
        else:
            total = total + (
                i - 3)
    return total / 2
"""


def test_an_active_mutant_computes_what_the_changed_source_does():
    numbered = dict(enumerate(mutants(COMPUTES, "f.py"), 1))
    text, refused = switched(COMPUTES, "f.py", numbered)
    text = text.replace(PYTHON_HEADER, "")
    assert len(numbered) > 10 and not refused

    def results(source, active):
        space = {"pl_hit": lambda number: number == active}
        exec(compile(source, "f.py", "exec"), space)
        return [space["f"](n, flag) for n in range(5) for flag in (False, True)]

    assert results(text, 0) == results(COMPUTES, 0)
    changed = 0
    for number, mutant in numbered.items():
        assert results(text, number) == results(mutant.applied(COMPUTES), 0)
        changed += results(text, number) != results(text, 0)
    assert changed > 3


def test_compiled_sources_keep_declarations_and_steps_of_ranges():
    source = """
cdef enum:
    LANES = 8
cdef int f(int n) nogil:
    cdef int m = n - 1, k = 0
    for i in range(n - 1, -1, -1):
        k += i
"""
    found = mutants(source, "f.pyx")
    assert {m.line for m in found} == {5, 6, 7}
    text, refused = switched(source, "f.pyx", dict(enumerate(found, 1)))
    assert "    if pl_hit(1):\n        m = (n + 1)\n" in text
    assert len(refused) == 1 and "), -1):" in text  # the step
    assert 'bint pl_hit "pl_hit_"(int) noexcept nogil' in text


class Answers:
    """A server whose tests end as listed, by the active mutant."""

    reached = {3}

    def __init__(self, codes):
        self.codes = codes

    def test(self, tests, active=0, seconds=0.0, record=None):
        return {"code": self.codes[active], "failed": "t.py::test_b" if self.codes[active] else ""}


def test_outcomes_are_told_apart(tmp_path):
    laboratory = Laboratory(tmp_path)
    laboratory.warm = Answers({0: 0, 1: 1, 2: 0, 3: -signal.SIGXCPU, 4: -signal.SIGSEGV})
    words = [laboratory.outcome(n, ["t.py::test_a"], 1.0) for n in (1, 2, 3, 4)]
    assert words == ["killed", "survived", "hung", "killed"]


def test_a_test_that_fails_without_a_mutant_kills_nothing(tmp_path):
    laboratory = Laboratory(tmp_path)
    laboratory.warm = Answers({0: 1, 1: 1})
    assert laboratory.outcome(1, ["t.py::test_a"], 1.0) == "unsound"
    assert share_of({"a": "unsound"}).total == 0


def test_a_mutant_meets_the_quickest_tests_that_reach_it():
    reaches = [
        Reach("slow", 9.0, frozenset({1})),
        Reach("quick", 1.0, frozenset({1, 2})),
        Reach("other", 0.1, frozenset({2})),
    ]
    assert chosen(1, reaches, budget=5.0) == [(["quick"], 1.0)]
    assert chosen(1, reaches, budget=50.0) == [(["quick"], 1.0), (["slow"], 9.0)]
    assert chosen(3, reaches) == []
    assert chosen(0, reaches, budget=2.0) == [(["other"], 0.1), (["quick"], 1.0)]
