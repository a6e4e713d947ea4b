"""Public names, signatures, defaults and commands change only on purpose.

After a deliberate change: `python -m tests.public_api` (see there).
"""

import copy
import json

import pytest

from tests.public_api import FILE, differences, signature, snapshot

STORED = json.loads(FILE.read_text())


def test_the_public_interface_is_the_stored_one():
    lines = differences(STORED, snapshot())
    assert not lines, "\n".join(
        ["The public interface differs from public_api.json (tests/public_api.py):", *lines]
    )


PLACE = "pellucid.linear_model > Ridge > constructor"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c["keywords"].pop("step"), f"removed: {PLACE} > keywords > step"),
        (lambda c: c["keywords"].update(gamma="1"), f"added: {PLACE} > keywords > gamma"),
        (lambda c: c["keywords"].update(step="2"), f"changed: {PLACE} > keywords > step"),
        (lambda c: c["positional"].append("x"), f"changed: {PLACE} > positional"),
    ],
)
def test_a_difference_names_its_place(change, expected):
    changed = copy.deepcopy(STORED)
    change(changed["pellucid.linear_model"]["Ridge"]["constructor"])
    (line,) = differences(STORED, changed)
    assert line.startswith(expected)


def test_only_the_order_of_positional_parameters_counts():
    assert signature(lambda a, *, b=1, c=2: 0) == signature(lambda a, *, c=2, b=1: 0)
    assert signature(lambda a, b: 0) != signature(lambda b, a: 0)
    assert signature(lambda a: 0) != signature(lambda a=None: 0) != signature(lambda *, a=None: 0)
    assert signature(lambda *a: 0) != signature(lambda a: 0)
