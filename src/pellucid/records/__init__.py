"""Frozen results: what a solver did, why a model predicted, what a summary contains.

Invariant: a record is plain data (strings, numbers, tuples, arrays), checked when it is made and
never changed afterwards; it does not depend on a model. `pellucid.draw` draws it.
"""

from pellucid.records.coefficient_table import SummaryTable
from pellucid.records.explanation import Explanation
from pellucid.records.prototypes import Prototypes
from pellucid.records.recorder import HISTORY_ROWS, Recorder, thinned
from pellucid.records.status import OK_CODES, Solution, Status
from pellucid.records.watch import (
    Watch,
    WatchedFit,
    converting,
    converting_x,
    fitting,
    is_watched,
    unwatched,
    watching,
)
from pellucid.records.watched_step import Step

__all__ = [
    "HISTORY_ROWS",
    "OK_CODES",
    "Explanation",
    "Prototypes",
    "Recorder",
    "Solution",
    "Status",
    "Step",
    "SummaryTable",
    "Watch",
    "WatchedFit",
    "converting",
    "converting_x",
    "fitting",
    "is_watched",
    "thinned",
    "unwatched",
    "watching",
]
