"""The encoding of a text: by its byte order mark, by its zero bytes, UTF-8, else cp1252.

Invariant: bytes that are valid UTF-8 are read as UTF-8. All others are read as cp1252 (what Excel
writes on Windows) only if every byte means something there and the letters stand as in words of
Western Europe; a note then shows such a word. Anything else is an error.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from pellucid.data.io.source import Source
from pellucid.errors import DataError

_BOMS = {  # the mark of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# What stands in no text of cp1252, and would be a letter of another encoding there.
_FOREIGN = re.compile(
    rb"[\x81\x8d\x8f\x90\x9d]"  # means nothing
    rb"|[A-Za-z\xc0-\xff][\x82-\x84\x86-\x89\x8b\x93\x94\x98\x9b\xa1-\xa9\xac\xae-\xb3\xb6\xb8-\xba"
    rb"\xbc-\xbf\xd7\xf7][A-Za-z\xc0-\xff]"  # a mark between two letters
    rb"|[a-z][\x8a\x8c\x8e\x9f]"  # a capital after a small letter
)
_RUN = re.compile(rb"[\x80-\xff]{3,}")  # words without any plain letter
_UTF8_PAIR = re.compile(rb"(?<![\x80-\xff])[\xc2-\xdf][\x80-\xbf](?![\x80-\xff])")
_MOST = 0.2  # of the bytes above 127 in such runs and pairs


def find_encoding(source: Source, head: bytes, note: Callable[[str], None]) -> str:
    """The encoding of a text; a note unless it is UTF-8."""
    encoding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), None)
    encoding = encoding or _sniff_width(head)
    if encoding != "utf-8":
        note(f"{source.name} is written in {encoding[:6].upper()}, as its byte order mark shows.")
        return encoding
    if is_utf8(source):
        return "utf-8"
    data = bytes(source.content())
    bad = _first_fault(data)
    word, line = _word(data, bad.start), data.count(b"\n", 0, bad.start) + 1
    if not _looks_western(data):
        raise _unknown(source, data, bad, word, line)
    note(
        f"{source.name} is not UTF-8: it is read as cp1252 (Windows), where line {line} holds "
        f"{word!r}. If that is wrong, name its encoding (--encoding)."
    )
    return "cp1252"


def needs_encoding(source: Source) -> bool:
    """Whether the source is a text without a byte order mark."""
    head = source.head()
    marked = head.startswith((*_BOMS, b"PAR1", b"PK")) or _sniff_width(head) != "utf-8"
    return not marked and not is_utf8(source)


def is_utf8(source: Source) -> bool:
    """Whether all bytes are valid UTF-8; looks at them in parts."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    stream, pending = source.open(), False
    try:
        while part := bytes(stream.read(1 << 20)):
            if pending or not part.isascii():
                decoder.decode(part)
                pending = bool(decoder.getstate()[0])  # half a character at the end
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except OSError as error:
        raise source.broken(f"its compression is damaged ({error})") from None
    return True


def _sniff_width(head: bytes) -> str:
    """UTF-32 or UTF-16 without its mark: of plain words and numbers most other bytes are 0."""
    first = head[:400]
    if first.count(0) > 0.7 * len(first):
        return "utf-32-be" if first[:1] == b"\0" else "utf-32-le"
    for name, zeros in (("utf-16-le", first[1::2]), ("utf-16-be", first[::2])):
        if zeros.count(0) > 0.4 * len(first):
            return name
    return "utf-8"


def _first_fault(data: bytes) -> UnicodeDecodeError:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error
    raise DataError("bytes changed while they were read. Read the file again.")


def _looks_western(data: bytes) -> bool:
    """Whether the bytes above 127 stand where texts in cp1252 have their letters and marks."""
    if _FOREIGN.search(data):
        return False
    high = len(data) - len(data.translate(None, bytes(range(128, 256))))
    odd = sum(len(found[0]) for form in (_RUN, _UTF8_PAIR) for found in form.finditer(data))
    return odd <= _MOST * high


def _unknown(
    source: Source, data: bytes, bad: UnicodeDecodeError, word: str, line: int
) -> DataError:
    """The error for bytes that are neither UTF-8 nor cp1252."""
    where = f"byte 0x{data[bad.start]:02x} at offset {bad.start}, line {line}"
    if _UTF8_PAIR.search(data):
        return DataError(
            f"{source.name} is not UTF-8: {where} ({word!r}), though other lines are. Correct that "
            "line, or name the encoding of the file (--encoding)."
        )
    return DataError(
        f"{source.name} is not UTF-8: {where}; nor is it cp1252 (Windows), which would read "
        f"{word!r} there. Name its encoding (--encoding): cp1250, cp1251, cp850, mac-roman, "
        "gb18030, shift-jis, ..."
    )


def _word(data: bytes, at: int) -> str:
    """The word around a byte, as cp1252."""
    begin, end = max(at - 15, 0), at + 15
    before, after = (part.decode("cp1252", "replace") for part in (data[begin:at], data[at:end]))
    start = max(before.rfind(c) for c in " ,;\t\n\r|\"'") + 1
    stop = min((after.find(c) for c in " ,;\t\n\r|\"'" if c in after), default=len(after))
    return before[start:] + after[:stop]


def not_utf8(source: Source, data: bytes) -> DataError:
    """The error for bytes that are not UTF-8, with the first bad one."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return wrong_encoding(source, data, error, "utf-8")
    return DataError(f"{source.name} holds cells that are not text.")


def wrong_encoding(
    source: Source, data: bytes, error: UnicodeDecodeError, encoding: str
) -> DataError:
    """The error for a byte that the encoding does not have: offset, line, what it might be."""
    at = error.start
    line = data.count(b"\n", 0, at) + 1
    begin = data.rfind(b"\n", 0, at) + 1
    word = data[max(begin, at - 12) : at + 12].splitlines()[0]
    other = "latin-1" if set(word) & set(b"\x81\x8d\x8f\x90\x9d") else "cp1252"  # not in cp1252
    return DataError(
        f"{source.name} is not {encoding.upper()}: byte 0x{data[at]:02x} at offset {at}, line "
        f"{line}. If it comes from Windows or an older program, use encoding={other!r} (--encoding "
        f"{other}); the place then reads {word.decode(other)!r}."
    )
