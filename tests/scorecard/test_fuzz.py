"""The fuzzer: what was ever bad is taken well, inputs can be made again, faults are seen."""

import os

import pytest

import pellucid
from pellucid.errors import PellucidError
from scorecard.fuzz import command, corpus, targets
from scorecard.runner import tally


def test_what_was_ever_bad_is_taken_well():
    found = tally(corpus.cases(), None, command.LIMITS)
    assert found.tried == found.wanted >= 10 and not found.bad


@pytest.mark.parametrize("target", targets.TARGETS)
def test_inputs_are_made_again_from_their_numbers(target):
    assert targets.made(target, 3, 1) == targets.made(target, 3, 1)
    assert len({repr(targets.made(target, i, 1)) for i in range(8)}) > 4


def test_a_few_hundred_inputs(capsys):
    assert command.main(["--count", "60", "--seed", "7"]) == 0
    assert "0 bad" in capsys.readouterr().out


def test_many_forged_models_have_the_right_digest(tmp_path):
    """Otherwise the digest would hide all that comes after it."""
    refusals = []
    for number in range(60):
        path = tmp_path / "m"
        path.write_bytes(targets.made("model", number, 2))
        try:
            pellucid.load(path)
            refusals.append("loaded")
        except PellucidError as error:
            refusals.append(str(error))
    behind = [r for r in refusals if "SHA-256" not in r and "header" not in r and "begin" not in r]
    assert len(behind) > 20 and "loaded" in refusals


def test_a_fault_is_seen(monkeypatch):
    monkeypatch.setattr(targets, "read", lambda *args, **named: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        targets.table_target("csv").judge(b"a\n1\n")
    with pytest.raises(AssertionError, match=r"os\.system"), targets.only_data():
        os.system("true")


def test_an_unknown_target_is_named(capsys):
    assert command.main(["nonsense"]) == 2
    assert "unknown target" in capsys.readouterr().err
