"""All drawn mutants in one build: each changed statement asks at run time whether its mutant is active.

    a = b + c      becomes      if pl_hit(17):
                                    a = b - c
                                else:
                                    a = b + c

`pl_hit(17)` also notes that the place was reached, so that one run of the tests without a mutant tells
which of them can notice it at all. The number of the active mutant comes from the environment.
"""

from __future__ import annotations

import tokenize
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from scorecard.mutants.sites import Mutant, statements

SLOTS = 1 << 14  # numbers of mutants are below it
BLOCKS = {"if", "elif", "while"}
KEPT = {"else", "try", "finally", "except", "case", "match"}
OPENING, CLOSING = set("([{"), set(")]}")
C_HEADER = f'''
cdef extern from *:
    """
    #ifndef PELLUCID_MUTANT_SWITCH
    #define PELLUCID_MUTANT_SWITCH
    #include <stdlib.h>
    #include <unistd.h>
    static int pl_active_ = -1;
    static char pl_unseen_[{SLOTS}], *pl_seen_ = pl_unseen_;
    static void pl_begin_(void) {{{{
        const char *active = getenv("PELLUCID_MUTANT"), *place = getenv("PELLUCID_SEEN");
        char *rest;
        if (place && strtol(place, &rest, 10) == (long) getpid())
            pl_seen_ = (char *) strtoull(rest + 1, NULL, 10);
        pl_active_ = active ? atoi(active) : 0;
    }}}}
    static inline int pl_hit_(int i) {{{{
        if (pl_active_ < 0) pl_begin_();
        pl_seen_[i] = 1;
        return i == pl_active_;
    }}}}
    #endif
    """
    bint {{name}} "pl_hit_"(int) noexcept nogil

'''
PYTHON_HEADER = "from mutant_switch import pl_hit\n"
SWITCH = f'''"""Which mutant is active, and which places were reached."""
import ctypes
import os

SEEN = (ctypes.c_char * {SLOTS})()
ACTIVE = 0


def activate(number):
    global ACTIVE
    ACTIVE = number
    os.environ["PELLUCID_MUTANT"] = str(number)
    os.environ["PELLUCID_SEEN"] = f"{{os.getpid()}}:{{ctypes.addressof(SEEN)}}"


def pl_hit(i):
    SEEN[i] = 1
    return i == ACTIVE


activate(int(os.environ.get("PELLUCID_MUTANT", "0")))
'''


def switched(source: str, file: str, mutants: Mapping[int, Mutant]) -> tuple[str, set[int]]:
    """The source with all its mutants, by number, and the numbers that have no place in it."""
    function = "pl_hit_px" if file.endswith(".pxd") else "pl_hit"
    lines, refused = source.splitlines(keepends=True), set()
    wanted = defaultdict(dict)
    for number, mutant in mutants.items():
        wanted[mutant.line][number] = mutant
    all_statements = list(statements(source))
    for tokens in reversed(all_statements):
        if not tokens:
            continue
        first, last = tokens[0].start, tokens[-1].end
        here = {n: m for line in range(first[0], last[0] + 1) for n, m in wanted[line].items()}
        if here:
            text, left_out = _statement(lines, tokens, here, function)
            refused |= left_out
            lines[first[0] - 1 : last[0]] = [text]
    place = next((t[0].start[0] for t in all_statements if t and not _is_head(t)), 1) - 1
    compiled = not file.endswith(".py")
    header = C_HEADER.format(name=function) if compiled else PYTHON_HEADER
    # `lines` is shorter now, but everything above the first statement with code is as it was.
    return "".join([*lines[:place], header, *lines[place:]]), refused


def _is_head(tokens: list[tokenize.TokenInfo]) -> bool:
    return tokens[0].type == tokenize.STRING or tokens[0].string in ("import", "from", "cimport")


def _statement(
    lines: list[str],
    tokens: list[tokenize.TokenInfo],
    mutants: Mapping[int, Mutant],
    function: str,
) -> tuple[str, set[int]]:
    (top, left), (bottom, right) = tokens[0].start, tokens[-1].end
    whole = "".join(lines[top - 1 : bottom])
    tail = lines[bottom - 1][right:]
    moved = {n: replace(m, line=m.line - top + 1) for n, m in mutants.items()}
    word = tokens[0].string
    if word in KEPT:
        return whole, set(mutants)
    if word in BLOCKS:
        return _pieces(whole, tokens, moved, function, _headed(tokens, 1))
    if word == "for":
        return _pieces(whole, tokens, moved, function, _ranged(tokens))
    if word == "cdef":
        return _declared(whole, tokens, moved, function, " " * left)
    body = [text.removesuffix(tail)[left:] for text in (m.applied(whole) for m in moved.values())]
    parts, indent = [], " " * left
    for number, text in zip(moved, body, strict=True):
        parts.append(
            f"{indent}{'el' if parts else ''}if {function}({number}):\n{indent}    {text}\n"
        )
    return "".join(parts) + f"{indent}else:\n{indent}    {whole[left:]}", set()


Span = tuple[int, int]  # of tokens


def _headed(tokens: list[tokenize.TokenInfo], first: int) -> list[Span]:
    """The condition of a block: up to the colon outside brackets."""
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.string in OPENING) - (token.string in CLOSING)
        if token.string == ":" and depth == 0 and i > first:
            return [(first, i)]
    return []


def _ranged(tokens: list[tokenize.TokenInfo]) -> list[Span]:
    """What a loop runs over: the first two arguments of `range`, or all of it."""
    names = [t.string for t in tokens]
    start = names.index("in") + 1
    if names[start] != "range":
        return _headed(tokens, start) if "cdef" not in names else []
    spans, depth, begin = [], 0, start + 2
    for i in range(start + 1, len(tokens)):
        depth += (names[i] in OPENING) - (names[i] in CLOSING)
        if (names[i] == "," and depth == 1) or (names[i] == ")" and depth == 0):
            spans.append((begin, i))
            begin = i + 1
        if depth == 0:
            break
    return spans[:2]


def _pieces(
    whole: str,
    tokens: list[tokenize.TokenInfo],
    mutants: Mapping[int, Mutant],
    function: str,
    spans: list[Span],
) -> tuple[str, set[int]]:
    """Expressions inside a statement, each as a choice between its mutants and itself."""
    top, refused = tokens[0].start[0], set(mutants)
    for begin, end in reversed(spans):
        inside = {}
        low, high = _at(whole, tokens[begin].start, top), _at(whole, tokens[end - 1].end, top)
        for number, mutant in mutants.items():
            place = _at(whole, (mutant.line + top - 1, mutant.column), top)
            if low <= place < high:
                gain = len(mutant.new) - len(mutant.old)
                inside[number] = mutant.applied(whole)[low : high + gain]
        if inside:
            original = whole[low:high]
            # Conditions may have different types; as truth values they are alike.
            truth = "not not " if tokens[0].string in BLOCKS else ""
            choices = "".join(f"{truth}({e}) if {function}({n}) else " for n, e in inside.items())
            whole = f"{whole[:low]}({choices}{truth}({original})){whole[high:]}"
            refused -= set(inside)
    return whole, refused


def _at(text: str, position: tuple[int, int], top: int) -> int:
    """The index of a position in the text of a statement that begins in line `top`."""
    lines = text.splitlines(keepends=True)
    return sum(len(line) for line in lines[: position[0] - top]) + position[1]


def _declared(
    whole: str,
    tokens: list[tokenize.TokenInfo],
    mutants: Mapping[int, Mutant],
    function: str,
    indent: str,
) -> tuple[str, set[int]]:
    """A declaration stays; the mutants of its first values are assigned after it."""
    top, depth, spans, begin = tokens[0].start[0], 0, [], None
    for i, token in enumerate(tokens):
        depth += (token.string in OPENING) - (token.string in CLOSING)
        if token.string == "=" and depth == 0 and begin is None:
            begin = i
        if begin is not None and token.string == "," and depth == 0:
            spans.append((begin, i))
            begin = None
    if begin is not None:
        spans.append((begin, len(tokens)))
    added, refused = "", set(mutants)
    for begin, end in spans:
        low, high = _at(whole, tokens[begin + 1].start, top), _at(whole, tokens[end - 1].end, top)
        for number, mutant in mutants.items():
            if low <= _at(whole, (mutant.line + top - 1, mutant.column), top) < high:
                gain = len(mutant.new) - len(mutant.old)
                value = mutant.applied(whole)[low : high + gain]
                name = tokens[begin - 1].string
                added += f"{indent}if {function}({number}):\n{indent}    {name} = ({value})\n"
                refused.discard(number)
    return whole + added, refused
