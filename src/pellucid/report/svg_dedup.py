"""Shapes that many charts of a page have in common are written once and used by the others.

The training rows stand on the decision regions of every model, chance is the same line in every ROC
chart. Invariant: the page looks the same; only paths of charts are touched, since text of the table
is escaped and cannot hold one.
"""

from __future__ import annotations

import re
from collections import Counter

LONG = 150  # characters of a path that is worth a name
_PATH = re.compile(rf'<path d="[^"<>]{{{LONG},}}"[^<>]*/>')


def shared(page: str) -> str:
    """The page with every repeated long path written once."""
    counts, names = Counter(_PATH.findall(page)), dict[str, str]()

    def written(match: re.Match[str]) -> str:
        path = match.group()
        if counts[path] < 2:
            return path
        if path in names:
            return f'<use href="#{names[path]}"/>'
        names[path] = f"shape-{len(names)}"
        return f'<path id="{names[path]}"{path.removeprefix("<path")}'

    return _PATH.sub(written, page)
