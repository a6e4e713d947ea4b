"""Colour for terminals. It highlights marks and headings of the plain text and adds no meaning.

Every colour has a contrast of at least 3.9 on black and on white. Terminals get colour unless NO_COLOR,
CLICOLOR=0, TERM=dumb or `--color never` is set; FORCE_COLOR, CLICOLOR_FORCE and `--color always` turn it
on for pipes and files too.
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
# (pattern, roles): the first pattern that matches a line paints its groups in these roles.
RULES = (
    (r"^(.*<- (?:recommended|leading))$", ("good",)),
    (r"^((?:checks  )?) *(!!(?: [A-Z]\d+)?) ", ("strong", "error")),
    (r"^((?:checks  )?) *(!(?: [A-Z]\d+)?) ", ("strong", "warning")),
    (r"^(checks)? +(ok)  ", ("strong", "good")),
    (r"^ *-? *\w+ .*?\b(failed|timed out)\b: ", ("warning",)),
    (r"^(LEADERBOARD|TEST SET|NOTES|WROTE|NEXT|data|checks|plan|limits)  ", ("strong",)),
    (r"^(classification|regression|searched:|parameters|learned|columns|provenance)$", ("strong",)),
    (r"^(row \d+ -> \S+)", ("strong",)),
)
_UNDERLINE = re.compile(r"(?=-)[- ]+$")  # the line below the heads of a table
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
    """Lines of a result, of checks or of progress with their marks and headings in colour."""
    lines = text.split("\n")
    heads = [bool(_UNDERLINE.match(below)) for below in lines[1:]] + [False]
    return "\n".join(
        paint(line, "strong") if head else _line(line) for line, head in zip(lines, heads)
    )


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
