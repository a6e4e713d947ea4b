"""Colour for terminals: it follows the marks that the plain text has anyway, and adds no meaning.

The colours are of middle lightness: each has a contrast of at least 3.9 on black and on white. They
are used where a terminal listens, unless NO_COLOR, CLICOLOR=0 or `--color never` says otherwise;
FORCE_COLOR, CLICOLOR_FORCE and `--color always` ask for them in pipes too.
"""

from __future__ import annotations

import os
import re
from typing import Any

# {role: (number in the palette of 256 colours, or None for the terminal's own; red, green, blue)}
PALETTE = {
    "error": (160, (0xD7, 0x00, 0x00)),
    "warning": (130, (0xAF, 0x5F, 0x00)),
    "good": (28, (0x00, 0x87, 0x00)),
    "strong": (None, None),
}
LABELS = {"error": "error", "warning": "warning", "gate": "error"}
# A line that matches: its groups are painted in these roles, the rest stays as it is.
RULES = (
    (r"^(.*<- (?:recommended|leading))$", ("good",)),
    (r"^((?:checks  )?) *(!!(?: [A-Z]\d+)?) ", ("strong", "error")),
    (r"^((?:checks  )?) *(!(?: [A-Z]\d+)?) ", ("strong", "warning")),
    (r"^(checks)? +(ok)  ", ("strong", "good")),
    (r"^ *-? *\w+ .*?\b(failed|timed out)\b: ", ("warning",)),
    (r"^(LEADERBOARD|TEST SET|NOTES|WROTE|NEXT|data|checks|plan)  ", ("strong",)),
)
_RULES = tuple((re.compile(pattern), roles) for pattern, roles in RULES)


def colour_wanted(choice: str, stream: Any) -> bool:
    """Whether a stream is coloured: `choice` ("auto", "always", "never"), then the environment."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if _is_set("FORCE_COLOR") or _is_set("CLICOLOR_FORCE"):
        return True
    if os.environ.get("CLICOLOR") == "0" or os.environ.get("TERM") == "dumb":
        return False
    return bool(stream.isatty())


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


def paint(text: str, role: str) -> str:
    """Text in the colour of a role, bold."""
    if not text:
        return text
    number = PALETTE[role][0]
    code = "1" if number is None else f"1;38;5;{number}"
    return f"\x1b[{code}m{text}\x1b[0m"


def painted(text: str) -> str:
    """Lines of a board, of checks or of progress with their marks in colour."""
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    for pattern, roles in _RULES:
        found = pattern.match(line)
        if found:
            out, end = "", 0
            for group, role in enumerate(roles, 1):
                if found.group(group):
                    out += line[end : found.start(group)] + paint(found.group(group), role)
                    end = found.end(group)
            return out + line[end:]
    return line
