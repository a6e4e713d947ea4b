"""Frozen results: what a solver did, why a model predicted, what a summary says.

Invariant: a record is plain data (strings, numbers, tuples, arrays), checked when it is made and
never changed afterwards; it knows no model. What it looks like is drawn by `pellucid.draw`.
"""

from .explanation import Explanation
from .prototypes import Prototypes
from .recorder import HISTORY_ROWS, Recorder, Watch, watching
from .status import OK_CODES, Solution, Status
from .summary import SummaryTable

__all__ = [
    "HISTORY_ROWS",
    "OK_CODES",
    "Explanation",
    "Prototypes",
    "Recorder",
    "Solution",
    "Status",
    "SummaryTable",
    "Watch",
    "watching",
]
