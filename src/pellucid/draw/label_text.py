"""Untrusted text made fit for a drawing: cleaned, measured, shortened, escaped.

Invariant: what leaves `clean` is one line without control or direction-changing characters and is
valid in XML; what leaves `escape` is valid in an element or a quoted attribute.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

ELLIPSIS = "…"
LONGEST_LABEL = 200
_MARKS_PER_CHARACTER = 3
# Invisible characters that change the direction of text or hide it; the joiners of emoji stay.
_DIRECTION = dict.fromkeys(
    [0x061C, 0x200B, 0x200E, 0x200F, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
# Widths in em of DejaVu Sans, the widest of the usual sans-serif faces: estimates err upwards.
_WIDTHS = {
    **dict.fromkeys("ijlI|!.,:;'` ", 0.35),
    **dict.fromkeys('ftr()[]-"/\\*', 0.42),
    **dict.fromkeys("mwMWQO%@&", 0.90),
    **dict.fromkeys("ABCDEGHKNRUVXYZ+=<>~#", 0.72),
}


def clean(label: object, limit: int = LONGEST_LABEL) -> str:
    """Any label as one displayable line of at most `limit` characters.

    >>> clean("a\\tb\\x00")
    'a b'
    """
    raw = str(label)
    if len(raw) <= limit and raw.isascii() and raw.isprintable():  # nothing to clean but blanks
        return " ".join(raw.split())
    spaced = " ".join(raw[: 4 * limit].translate(_DIRECTION).split())
    text = " ".join("".join(_displayable(spaced)).split())
    if len(text) > limit or len(raw) > 4 * limit:
        return _cut(text, limit - 1)
    return text


def distinct(labels: Iterable[object], limit: int = LONGEST_LABEL) -> list[str]:
    """Cleaned labels; those that would be equal are numbered.

    >>> distinct(["degree, full time", "degree, part time", "none"], 8)
    ['degree,…', 'degr (2)', 'none']
    """
    out: list[str] = []
    for label in labels:
        name, number = clean(label, limit), 1
        while name in out:
            number += 1
            mark = f" ({number})"
            name = clean(
                clean(label, limit)[: limit - len(mark)].rstrip(ELLIPSIS + " ") + mark, limit
            )
        out.append(name)
    return out


def _displayable(text: str) -> list[str]:
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category == "Cs" or ord(character) & 0xFFFE == 0xFFFE:
            kept.append("\ufffd")
        elif category != "Cc" and marks <= _MARKS_PER_CHARACTER:
            kept.append(character)
    return kept


def _cut(text: str, length: int) -> str:
    """The first characters and an ellipsis, never cutting a mark or joiner from its character."""
    while 0 < length < len(text) and _joined(text, length):
        length -= 1
    return text[:length].rstrip() + ELLIPSIS


def _joined(text: str, at: int) -> bool:
    return unicodedata.combining(text[at]) != 0 or bool(_JOINERS & {text[at], text[at - 1]})


def escape(text: str) -> str:
    """Text for an element or a double-quoted attribute."""
    return html.escape(text, quote=True)


@lru_cache(maxsize=4096)
def width(text: str) -> float:
    """Upper estimate of the printed width, in em."""
    return sum(map(_em, text))


def _em(character: str) -> float:
    if character.isascii():
        return _WIDTHS.get(character, 0.63)
    if unicodedata.combining(character) or character in _JOINERS:
        return 0.0
    return 1.1 if unicodedata.east_asian_width(character) in "WF" else 0.75


def fit(text: str, em: float) -> str:
    """The text, shortened with an ellipsis if it is wider than `em`.

    Of `column=level`, `column <= number` and `column missing`, the column is shortened if the rest
    fits into half of the width; otherwise levels of one column would look the same. Of
    `class: column`, both parts are shortened.

    >>> fit("10: a very long name of a class", 10)
    '10: a very long n…'
    """
    if width(text) <= em + 1e-9:  # the sum of parts rounds
        return text
    kept = " <= " if " <= " in text else " " if text.endswith(" missing") else "="
    column, equals, level = text.rpartition(kept)
    if column and 0 < width(level) <= em / 2 - 1:
        return fit(column, em - width(equals + level)) + equals + level
    first, colon, second = text.partition(": ")
    if first and second:
        room = em - width(colon)
        own = min(width(second), max(room / 2, room - width(first)))
        return fit(first, room - own) + colon + fit(second, own)
    used, length = 1.0, 0  # the ellipsis itself
    for character in text:
        used += _em(character)
        if used > em:
            break
        length += 1
    return _cut(text, length)


def wrap(text: str, em: float, lines: int) -> list[str]:
    """The text on at most `lines` lines of at most `em`, the last one shortened if need be."""
    words = text.split(" ")
    result: list[str] = []
    while words and len(result) < lines - 1:
        taken = 1
        while taken < len(words) and width(" ".join(words[: taken + 1])) <= em:
            taken += 1
        result.append(fit(" ".join(words[:taken]), em))
        words = words[taken:]
    return [*result, fit(" ".join(words), em)] if words else result


def cells(text: str) -> int:
    """Number of columns the text takes on a terminal."""
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.category(character) in ("Mn", "Me") or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, columns: int, right: bool = False) -> str:
    """The text with blanks after it, or before it if `right`, to fill `columns` on a terminal."""
    blanks = " " * (columns - cells(text))
    return blanks + text if right else text + blanks


def fit_cells(text: str, columns: int) -> str:
    """The text, shortened with an ellipsis if it takes more than `columns` on a terminal."""
    if cells(text) <= columns:
        return text
    used, length = 1, 0
    for character in text:
        used += _cell(character)
        if used > columns:
            break
        length += 1
    return _cut(text, length)
