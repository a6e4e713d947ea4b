"""Reads our own source as text: modules, imports, functions, lengths. Imports none of it."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pellucid"
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Import:
    """One imported name: `target` is the full dotted path of a module (or of a name inside it)."""

    path: Path
    line: int
    target: str

    @property
    def package(self) -> str:
        """The top-level package, e.g. `numpy`."""
        return self.target.split(".")[0]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} imports {self.target}"


@dataclass(frozen=True)
class Function:
    """A function and its code lines: without docstring, comments and blank lines."""

    path: Path
    line: int
    name: str
    length: int

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line} {self.name} ({self.length} lines)"


@dataclass(frozen=True)
class Statement:
    """A logical line: how deep it is indented, its words, and the physical lines with code."""

    depth: int
    words: tuple[str, ...]
    first: int
    lines: frozenset[int]


def source_files(*suffixes: str) -> list[Path]:
    """The files of the package with one of the suffixes, sorted."""
    return sorted(p for p in PACKAGE.rglob("*") if p.suffix in suffixes and p.is_file())


def unit(path: Path) -> str:
    """The part of the package a file belongs to: `tree` for tree/nodes.py, `base` for base.py."""
    return path.relative_to(PACKAGE).parts[0].split(".")[0]


def statements(path: Path) -> Iterator[Statement]:
    """The logical lines of a .py or .pyx file; docstrings are left out."""
    depth, line = 0, []
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE:
            if any(t.type != tokenize.STRING for t in line):
                spans = (range(t.start[0], t.end[0] + 1) for t in line)
                words = tuple(t.string for t in line)
                yield Statement(depth, words, line[0].start[0], frozenset().union(*spans))
            line = []
        elif token.type not in SILENT:
            line.append(token)


def _function_name(words: tuple[str, ...]) -> str | None:
    """The name if the statement opens a function (Python's or Cython's), else None."""
    opens = words[0] in ("def", "async") and "def" in words[:2]
    if words[0] in ("cdef", "cpdef") and words[-1] == ":" and words[1] != "class":
        opens = "(" in words
    return words[words.index("(") - 1] if opens else None


def functions(path: Path) -> list[Function]:
    """All functions of a file, nested ones too; the signature counts, decorators do not."""
    body = list(statements(path))
    found = []
    for start, head in enumerate(body):
        if (name := _function_name(head.words)) is None:
            continue
        lines = set(head.lines)
        for statement in body[start + 1 :]:
            if statement.depth <= head.depth:
                break
            lines |= statement.lines
        found.append(Function(path, head.first, name, len(lines)))
    return found


def _is_module(dotted: str) -> bool:
    place = PACKAGE.parent.joinpath(*dotted.split("."))
    suffixes = (".py", ".pyx", ".pxd")
    return place.is_dir() or any(place.with_name(place.name + s).is_file() for s in suffixes)


def _targets(node: ast.AST, path: Path) -> Iterator[str]:
    """Dotted paths that one syntax node imports; `import_module("x")` counts as an import."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = ("pellucid", *path.relative_to(PACKAGE).parts[:-1])
            kept = package[: len(package) - node.level + 1]
            base = ".".join((*kept, base) if base else kept)
        for alias in node.names:
            full = f"{base}.{alias.name}"
            inside = base.split(".")[0] == "pellucid"
            yield full if base == "pellucid" or (inside and _is_module(full)) else base
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
            yield node.args[0].value


def hidden_imports(path: Path) -> list[int]:
    """Lines of a .py or .pyx file that import by a computed name, or run text as code."""
    if path.suffix != ".py":
        lines = enumerate(path.read_text().splitlines(), 1)
        return [
            n for n, line in lines if re.search(r"import_module|__import__|\b(exec|eval)\(", line)
        ]
    tree, found = ast.parse(path.read_text()), []
    plain = {  # calls with the name written out count as imports, see `_targets`
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    }
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "id", ""))
        uses = isinstance(node, ast.Attribute | ast.Name) and id(node) not in plain
        uses |= name in ("exec", "eval") and isinstance(node, ast.Name)
        if uses and name in ("import_module", "__import__", "exec", "eval"):
            found.append(node.lineno)
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            found += [node.lineno for alias in node.names if alias.asname]
    return found


def _python_imports(path: Path) -> Iterator[Import]:
    for node in ast.walk(ast.parse(path.read_text())):
        for target in _targets(node, path):
            yield Import(path, node.lineno, target)


def _cython_imports(path: Path) -> Iterator[Import]:
    for statement in statements(path):
        if statement.words[0] in ("import", "cimport", "from"):
            text = " ".join("import" if w == "cimport" else w for w in statement.words)
            for target in _targets(ast.parse(text).body[0], path):
                yield Import(path, statement.first, target)


def imports(path: Path) -> list[Import]:
    """All imports of a .py or .pyx file, also those inside functions."""
    read = _python_imports if path.suffix == ".py" else _cython_imports
    return list(read(path))
