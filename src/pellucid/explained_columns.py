"""Contributions of encoded columns, added up over the columns of the user's table."""

from typing import Any

import numpy as np


def explanation(self: Any, parts: Any) -> Any:
    """An `Explanation`: contributions of encoded columns added up over the user's columns."""
    if not isinstance(parts, dict):  # `Prototypes` explain by rows, not by columns
        return parts
    self._finite((parts["prediction"], parts["contributions"]))
    contributions, d = parts["contributions"], self.schema_.n_columns
    if contributions.shape[1] != d:  # every column of the user has at least one encoded column
        starts = np.searchsorted(self.schema_.owner, np.arange(d))
        contributions = np.add.reduceat(contributions, starts, axis=1)
    from pellucid.records import Explanation

    own = tuple(self.__dict__["classes_"].tolist()) if "classes_" in self.__dict__ else None
    return Explanation(
        base=parts["base"], contributions=contributions, prediction=parts["prediction"],
        columns=self.schema_.columns, classes=parts.get("classes", own), scale=parts["scale"],
        method=parts["method"],
    )  # fmt: skip
