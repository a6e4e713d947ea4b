"""How many random cases a test draws: few in CI, all of them for `python -m scorecard`."""

import os

# Set by the scorecard; then tests that draw cases draw as many as a release asks for.
VARIABLE = "PELLUCID_SCORECARD"
FULL = os.environ.get(VARIABLE) == "full"


def cases(few: int, full: int) -> range:
    """So many cases: `few` in CI, `full` before a release."""
    return range(full if FULL else few)
