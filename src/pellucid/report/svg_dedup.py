"""Write SVG paths that several charts of a page share only once.

For example, the decision regions of all models show the same training rows. Invariant: the page looks
the same; only paths of charts change, because text from the table is escaped and cannot contain one.
"""

from __future__ import annotations

import re
from collections import Counter

LONG = 150  # characters; shorter paths are not worth sharing
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
