"""Where a source can be changed: comparisons, signs, constants, logic and whole statements.

Works on tokens, so that Python and Cython are read alike. Signatures, declarations, imports, texts and
error messages are left alone: a change there is either a compile error or no fault of a computation.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

# In the order in which they are tried: those with quick tests first.
FAMILIES = (
    "discriminant_analysis", "mixture", "manifold", "decomposition", "cluster", "naive_bayes",
    "numerics", "neighbors", "svm", "neural_network", "tree", "ensemble", "data", "linear_model",
)  # fmt: skip
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+",
    "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=",
}  # fmt: skip
WORDS = {
    "and": "or", "or": "and", "not": "", "True": "False", "False": "True", "min": "max",
    "max": "min", "fmin": "fmax", "fmax": "fmin", "break": "continue", "continue": "break",
}  # fmt: skip
BINARY = set("+-*/")
UNTOUCHED = {
    "def", "cpdef", "class", "import", "from", "cimport", "@", "raise", "ctypedef", "include", "global",
    "nonlocal", "assert", "with", "warn", "extern", "struct",
}  # fmt: skip
CAST = re.compile(r"<\s*(?:const\s+|unsigned\s+)*[A-Za-z_][\w.]*(?:\s*\[[^\]]*\])?(?:\s*\*+)?\s*>")
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Mutant:
    """One change: in `file`, at `line` and `column` (from 1 and 0), `old` becomes `new`.

    `text` is the line without its indentation, `offset` the place in it and `repeat` the number of equal
    lines above it. They name the mutant, so that its name stays valid when other lines are changed.
    """

    file: str
    line: int
    column: int
    old: str
    new: str
    text: str = ""
    offset: int = 0
    repeat: int = 0

    @property
    def key(self) -> str:
        above = f" | below {self.repeat} equal lines" if self.repeat else ""
        return f"{self.file} | {self.text} | {self.offset}: {self.old} -> {self.new}{above}"

    def applied(self, source: str) -> str:
        """The source with the change."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        end = self.column + len(self.old)
        if text[self.column : end] != self.old:
            raise ValueError(f"{self.key}: the source has {text[self.column : end]!r} there")
        lines[self.line - 1] = text[: self.column] + self.new + text[end:]
        return "".join(lines)


def mutants(source: str, file: str) -> list[Mutant]:
    """All mutants of a source."""
    lines = source.splitlines()
    found = []
    declaring = -1  # column of the struct, enum or extern block that a statement stands in
    for tokens in statements(source):
        column = tokens[0].start[1] if tokens else 0
        if column > declaring >= 0:
            continue
        declaring = column if _is_declaring(tokens) else -1
        if not _is_changeable(tokens):
            continue
        first = [t.string for t in tokens].index("=") if tokens[0].string == "cdef" else 0
        found += [m for i in range(first, len(tokens)) for m in _at(tokens, i, lines, file)]
        found += _deletions(tokens, lines, file)
    return _named(found, lines)


def _named(found: list[Mutant], lines: list[str]) -> list[Mutant]:
    """The mutants with what names them."""
    texts = [line.strip() for line in lines]
    above: list[int] = []
    counts: Counter[str] = Counter()
    for text in texts:
        above.append(counts[text])
        counts[text] += 1
    return [
        replace(m, text=texts[i], offset=m.column - lines[i].index(texts[i]), repeat=above[i])
        for m in found
        for i in [m.line - 1]
    ]


def statements(source: str) -> Iterator[list[tokenize.TokenInfo]]:
    """The tokens of each logical line."""
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NEWLINE:
            yield statement
            statement = []
        elif token.type not in SKIPPED:
            statement.append(token)


def _is_declaring(tokens: list[tokenize.TokenInfo]) -> bool:
    words = {token.string for token in tokens[:4]}
    return bool(words & {"cdef", "ctypedef"}) and bool(
        words & {"enum", "struct", "extern", "union"}
    )


def _is_changeable(tokens: list[tokenize.TokenInfo]) -> bool:
    if not tokens or tokens[0].type == tokenize.STRING or tokens[0].string in UNTOUCHED:
        return False
    if tokens[0].string == "cdef":  # a declaration, unless it computes a first value
        return tokens[-1].string != ":" and any(t.string == "=" for t in tokens)
    return True


def _at(tokens: list[tokenize.TokenInfo], i: int, lines: list[str], file: str) -> Iterator[Mutant]:
    token = tokens[i]
    old, (line, column) = token.string, token.start
    if any(m.start() <= column < m.end() for m in CAST.finditer(lines[line - 1])):
        return
    if token.type == tokenize.OP and old in OPERATORS:
        before = tokens[i - 1] if i else None
        value = before is not None and (
            before.type in (tokenize.NAME, tokenize.NUMBER) or before.string in (")", "]")
        )
        is_word = before is not None and before.string in ("return", "in", "and", "or", "not", "if")
        if old not in BINARY or (value and not is_word):
            yield Mutant(file, line, column, old, OPERATORS[old])
    elif token.type == tokenize.NAME and old in WORDS:
        after = tokens[i + 1].string if i + 1 < len(tokens) else ""
        keyword = old == "not" and (after == "in" or tokens[i - 1].string == "is")
        if not keyword and after != "=":
            yield Mutant(file, line, column, old, WORDS[old])
    elif token.type == tokenize.NUMBER and not _is_index(tokens, i):
        yield Mutant(file, line, column, old, _other_number(old))


def _is_index(tokens: list[tokenize.TokenInfo], i: int) -> bool:
    """Whether a number stands alone in brackets, or names an axis: no arithmetic."""
    around = (
        tokens[i - 1].string if i else "",
        tokens[i + 1].string if i + 1 < len(tokens) else "",
    )
    return around == ("[", "]") or (around[0] == "=" and tokens[i - 2].string in ("axis", "ndmin"))


def _other_number(text: str) -> str:
    value = ast.literal_eval(text)
    if isinstance(value, int):
        return "0" if value == 1 else str(value + 1)
    return f"(1.5 * {text})" if value else "1.0"


def _deletions(tokens: list[tokenize.TokenInfo], lines: list[str], file: str) -> Iterator[Mutant]:
    """A statement of one line that changes a variable, left out."""
    if len({t.start[0] for t in tokens}) != 1 or tokens[0].type != tokenize.NAME:
        return
    text = [t.string for t in tokens]
    if tokens[0].string in ("cdef", "return", "if", "for", "while", "elif", "else", "pass", "try"):
        return
    if any(word in text for word in ("+=", "-=", "*=", "/=")) or ("=" in text and "[" in text):
        line, column = tokens[0].start
        old = lines[line - 1][column : tokens[-1].end[1]]
        yield Mutant(file, line, column, old, "pass")
