"""Rows 20 and 21: damaged and forged model files; files of every format version."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from scorecard.fuzz import targets
from scorecard.runner import Case, counted
from tests.persist import test_old_files, test_stored_classes


def hostile(share: float) -> Iterator[Case]:
    """Random bytes, bit flips, forged and sealed files, splices: 100,000 over all classes."""
    for number in counted(100_000, share):
        yield Case(f"model {number}", partial(targets.try_case, "model", number, 0))


def old(share: float) -> Iterator[Case]:
    """Files of every format version and of every class."""
    files = sorted(test_old_files.FILES.glob("*.pellucid"))
    for path in files:
        check = test_old_files.test_an_old_file_loads_and_answers_as_it_did
        yield Case(f"answers {path.stem}", partial(check, path, None))
    for path in sorted(test_stored_classes.FOLDER.glob("*.pellucid")):
        check = test_stored_classes.test_the_file_of_a_class_loads_and_answers_as_it_did
        yield Case(f"class {path.stem}", partial(check, path))
