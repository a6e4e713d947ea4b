"""`python -m scorecard.house [path to src/pellucid]`: how the source is built, in figures.

Files per folder, lines, functions, depth of inheritance, repeated file names, documentation, and
words that the glossary replaces. Run it on the source before and after a change and compare.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.source_tree import PACKAGE, functions, statements

CYTHON = (".pyx", ".pxi", ".pxd")
# The words on the right of the glossary, as patterns; a word inside a name counts too.
WORDS = {
    "division, divide": r"division|divide[sd]?",
    "slope": r"slopes?",
    "pace": r"paces?",
    "chance": r"chances?",
    "doubt": r"doubts?",
    "learner": r"learners?",
    "told, tells": r"told|tells?",
    "said, says": r"said|says?",
    "locked": r"locked",
    "foretold": r"foretold",
    "nought": r"noughts?",
    "gap": r"gaps?",
    "speak": r"speak(?:s|ers?)?|spoken?",
    "lent": r"lent",
    "crew": r"crew",
    "wishes": r"wishes",
    "so many": r"so many",
    "such ones": r"such ones?",
    "keep their word": r"keep (?:its|their) words?",
}
Row = tuple[str, object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of one source tree."""
    given = sys.argv[1:] if arguments is None else arguments
    package = Path(given[0]).resolve() if given else PACKAGE
    for part in (folders, lines, function_lengths, repeated_names, habits, words):
        _print(part.__name__.replace("_", " "), part(package))
    classes = _public_classes(package)
    _print("inheritance", inheritance(classes))
    _print("documentation", documentation(package, classes))
    return 0


def _print(title: str, rows: Iterator[Row]) -> None:
    print(f"\n{title}")
    for name, value in rows:
        print(f"  {name:44} {value}")


def folders(package: Path) -> Iterator[Row]:
    """Python files per folder, the fullest first."""
    counts = Counter(p.parent.relative_to(package).as_posix() for p in package.rglob("*.py"))
    yield from counts.most_common()


def lines(package: Path) -> Iterator[Row]:
    """Files, lines, and lines of code (without docstrings, comments and blank lines)."""
    for kind, suffixes in (("Python", (".py",)), ("Cython", CYTHON)):
        paths = _files(package, *suffixes)
        yield f"{kind} files", len(paths)
        yield f"{kind} lines", sum(_length(path) for path in paths)
        yield f"{kind} lines of code", sum(_code(path) for path in paths)
        yield f"{kind}, longest file", max((_length(path) for path in paths), default=0)


def function_lengths(package: Path) -> Iterator[Row]:
    """Lines of code of the functions in Python files."""
    lengths = sorted(f.length for path in _files(package, ".py") for f in functions(path))
    yield "functions", len(lengths)
    yield "median", statistics.median(lengths)
    yield "90 % are at most", lengths[int(0.9 * len(lengths))]
    yield "above 40 lines", sum(length > 40 for length in lengths)
    yield "above 50 lines", sum(length > 50 for length in lengths)
    yield "longest", lengths[-1]


def repeated_names(package: Path) -> Iterator[Row]:
    """Names of Python files (not `__init__`) that are used more than once."""
    counts = Counter(p.name for p in _files(package, ".py") if p.stem != "__init__")
    repeated = {name: count for name, count in counts.items() if count > 1}
    yield "names used more than once", len(repeated)
    yield from sorted(repeated.items(), key=lambda item: (-item[1], item[0]))


def habits(package: Path) -> Iterator[Row]:
    """Ways of writing that readers stumble over, counted in Python files."""
    texts = [path.read_text() for path in _files(package, ".py")]
    patterns = {
        "relative imports": r"^[ \t]*from \.",
        "hasattr": r"\bhasattr\(",
        "isinstance(_, np.ndarray)": r"isinstance\([^\n]*\bnp\.ndarray\b",
        "vars(self), __dict__": r"\bvars\(self\)|\.__dict__\b",
        "imports inside functions": r"^[ \t]+(?:from [\w.]+ import|import \w)",
    }
    for name, pattern in patterns.items():
        yield name, sum(len(re.findall(pattern, text, re.M)) for text in texts)


def words(package: Path) -> Iterator[Row]:
    """How often words that the glossary replaces occur, in names, comments and messages."""
    paths = _files(package, ".py", *CYTHON, ".html", ".pyi")
    whole = "\n".join(path.read_text() for path in paths)
    total = 0
    for name, pattern in WORDS.items():
        found = len(re.findall(rf"(?<![a-z])(?:{pattern})(?![a-z])", whole, re.I))
        total += found
        yield name, found
    yield "all of them", total


def inheritance(classes: dict[str, type]) -> Iterator[Row]:
    """Classes in the MRO of each public class, without `object`."""
    depths = {name: len(cls.__mro__) - 1 for name, cls in classes.items()}
    yield "public classes", len(depths)
    yield "mean", round(statistics.mean(depths.values()), 2)
    yield "deepest", max(depths.values())
    for depth, count in sorted(Counter(depths.values()).items(), reverse=True):
        yield f"{depth} classes", count


def documentation(package: Path, classes: dict[str, type]) -> Iterator[Row]:
    """Docstring lines, and parameters and attributes that have a description of their own."""
    paths = _files(package, ".py")
    share = sum(_docstring_lines(path) for path in paths) / sum(map(_length, paths))
    yield "docstring share of lines", f"{share:.1%}"
    parameters = [n for cls in classes.values() for n in inspect.signature(cls).parameters]
    described = sum(_described_parameters(cls) for cls in classes.values())
    yield "constructor parameters described", f"{described} of {len(parameters)}"
    entries = [e for cls in classes.values() for e in sections(cls)["Attributes"].items()]
    yield "attributes described", f"{sum(own for _, own in entries)} of {len(entries)} listed"


def sections(cls: type) -> dict[str, dict[str, bool]]:
    """{"Parameters" | "Attributes": {name: whether an indented description follows its header}}."""
    found: dict[str, dict[str, bool]] = {"Parameters": {}, "Attributes": {}}
    body = (inspect.getdoc(cls) or "").splitlines()
    current: dict[str, bool] | None = None
    for line, following in zip(body, [*body[1:], ""]):
        if following.startswith("---"):
            current = found.get(line.strip())
        elif current is not None and re.match(r"\w", line):
            header = re.split(r"\s*[:=]", line, maxsplit=1)[0]
            own = following.startswith(" ") and bool(following.strip())
            current |= {name.strip(" *`"): own for name in header.split(",")}
    return found


def _described_parameters(cls: type) -> int:
    known = sections(cls)["Parameters"]
    return sum(known.get(name, False) for name in inspect.signature(cls).parameters)


def _files(package: Path, *suffixes: str) -> list[Path]:
    return sorted(path for path in package.rglob("*") if path.suffix in suffixes)


def _length(path: Path) -> int:
    return len(path.read_text().splitlines())


def _code(path: Path) -> int:
    return len(set().union(*(statement.lines for statement in statements(path))))


def _docstring_lines(path: Path) -> int:
    """Lines of the docstrings of a module, its classes and functions."""
    total = 0
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first: Any = node.body[0]
            text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if text and isinstance(first.value.value, str):
                total += first.end_lineno - first.lineno + 1
    return total


def _public_classes(package: Path) -> dict[str, type]:
    """The estimators of the tree at `package`, which must be the one that Python imports."""
    sys.path.insert(0, str(package.parent))
    names = importlib.import_module("pellucid.names")
    if Path(names.__file__ or "").resolve().parent != package:
        raise SystemExit(f"Python imports {names.__file__}, which is not in {package}.")
    return {
        name: getattr(importlib.import_module(module), name)
        for module, members in names.ESTIMATORS.items()
        for name in members
    }


if __name__ == "__main__":
    sys.exit(main())
