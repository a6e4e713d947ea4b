"""`cached_property` without a lock.

Before Python 3.12, that of `functools` has one lock for all instances of a class. A property that waits
for other processes (`shard`) would hold it, and block a second part of the rows in the same process.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """A property that is computed once for each instance; threads may compute it at once."""

        def __init__(self, function: Any) -> None:
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return vars(instance).setdefault(self.name, self.function(instance))


__all__ = ["cached_property"]
