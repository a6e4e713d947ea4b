"""Compare many models on one table, honestly. `pellucid.compare(table, target)` does it all.

The parts: `settings` (what can be told), `material` (the table and its roles), `plan` (everything
decided beforehand), `run` (children and clock), `journal` (what is done), `statistics` and `board`
(what may be concluded), `session` (one run from start to end), `result`.
"""

import sys
import types
from typing import Any

__all__ = ["compare"]


def compare(data: Any, target: Any = None, **options: Any) -> Any:
    """Compare all suitable models on a table; see `pellucid.compare.api.compare`."""
    from pellucid.compare.api import compare as run

    return run(data, target, **options)


class _Callable(types.ModuleType):
    """The package itself can be called, because `pellucid.compare` names both."""

    def __call__(self, data: Any, target: Any = None, **options: Any) -> Any:
        return compare(data, target, **options)


sys.modules[__name__].__class__ = _Callable
