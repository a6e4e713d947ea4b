"""Keeps the code of `pellucid.plain` that method pages show equal to its source.

A block that opens with ```` ```python plain/trees/decision_tree.py CART.grow ```` shows that method;
several names show several parts, no name the whole file without its docstring. Run
`python docs/excerpts.py` after a change of the source. The tests compare all blocks with it.
"""

import ast
import re
import textwrap
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PACKAGE = DOCS.parent / "src" / "pellucid"
BLOCK = re.compile(r"^```python (plain/\S+\.py)([^\n]*)\n(.*?)^```$", re.M | re.S)


def excerpt(path: str, names: list[str]) -> str:
    """The source of the named functions, classes and methods (`Class.method`), or of the whole file."""
    text = (PACKAGE / path).read_text()
    body = ast.parse(text).body
    lines = text.splitlines()
    if not names:
        return "\n".join(lines[body[0].end_lineno :]).strip("\n") + "\n"
    parts = []
    for name in names:
        node, inner = None, body
        for part in name.split("."):
            (node,) = (n for n in inner if part in _names(n))
            inner = getattr(node, "body", [])
        parts.append(textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno])))
    return "\n\n\n".join(parts) + "\n"


def _names(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return [getattr(node, "name", ""), *(t.id for t in targets if isinstance(t, ast.Name))]


def filled(page: str) -> str:
    """The text of a page with all of its blocks of plain code taken from the source."""
    return BLOCK.sub(lambda m: f"```python {m[1]}{m[2]}\n{excerpt(m[1], m[2].split())}```", page)


def main() -> None:
    """Rewrite the method pages whose blocks are not the source."""
    for path in sorted((DOCS / "methods").glob("*.md")):
        text = path.read_text()
        if path.stem != "template" and filled(text) != text:
            path.write_text(filled(text))
            print(path.relative_to(DOCS))


if __name__ == "__main__":
    main()
