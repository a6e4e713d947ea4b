"""The expressions of a formula that a model file may contain.

formulaic evaluates the parts of a formula as Python, and a model file must never run code.
Invariant: `columns_of` accepts only numbers, strings, columns, arithmetic, comparisons and calls of
the functions listed here, whose evaluation takes time and memory in proportion to the table;
everything else is rejected, on saving and on loading. An expression has one spelling, the one that
Python prints: comments, line breaks and unusual quotes, which two parsers might read differently,
are rejected too.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable
from typing import Any

CONTRASTS = ("SAS", "custom", "diff", "helmert", "poly", "sum", "treatment")
CODINGS = ("Diff", "Helmert", "Poly", "Sum", "Treatment")  # contrasts under patsy's names
BASES = ("bs", "cc", "cr", "cs", "poly")  # functions whose arguments set the number of columns
FUNCTIONS = (
    *BASES, *CODINGS, "C", "I", "Q", "center", "exp", "exp10", "exp2", "lag", "log", "log10", "log2",
    "scale", "standardize",
)  # fmt: skip
NUMPY = (
    "abs", "absolute", "arccos", "arcsin", "arctan", "cbrt", "ceil", "clip", "cos", "cosh", "exp",
    "exp2", "expm1", "fabs", "floor", "fmax", "fmin", "hypot", "isfinite", "isnan", "log", "log10",
    "log1p", "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum", "rint", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "where",
)  # fmt: skip
_HOMES = {"contr": CONTRASTS, "np": NUMPY}
MAX_LENGTH, MAX_DEPTH, MAX_POWER, MAX_DEGREE = 100_000, 50, 16, 100
_UNARY = (ast.USub, ast.UAdd, ast.Invert)
_BINARY = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr,
)  # fmt: skip
_COMPARE = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_LISTS = (ast.List, ast.Tuple, ast.Dict)
_QUOTED = re.compile(r"`([^`'\"\\]+)`")
_PLACE = "_quoted_{}_"


class UnsafeExpression(ValueError):
    """A part of a formula that a model file may not contain; the message is that part."""


def columns_of(text: str) -> tuple[str, ...]:
    """The columns that an expression uses; `UnsafeExpression` if a file may not contain it."""
    tree, names = _tree(text)
    return tuple(dict.fromkeys(names.get(name, name) for name in _columns(tree)))


def multiplied(text: str) -> set[str]:
    """The columns that an expression multiplies: repeated strings could fill the memory."""
    tree, names = _tree(text)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Mod):
            found |= {names.get(name, name) for name in _columns(node, ast.Compare)}
    return found


def _tree(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The syntax tree, with placeholders for quoted names, and the names by placeholder."""
    quoted: list[str] = []

    def place(found: re.Match[str]) -> str:
        quoted.append(found[1])
        return _PLACE.format(len(quoted) - 1)

    if len(text) > MAX_LENGTH or "\\" in text or _PLACE.split("{")[0] in text:
        raise UnsafeExpression(text[:80])
    code = _QUOTED.sub(place, text)
    if any(map(keyword.iskeyword, quoted)):
        raise UnsafeExpression(text[:80])
    try:
        tree = ast.parse(code, mode="eval").body
        _check(tree)
    except UnsafeExpression:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnsafeExpression(text[:80]) from None
    names = {_PLACE.format(i): name for i, name in enumerate(quoted)}
    placed = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in names]
    if ast.unparse(tree) != code or sorted(placed) != sorted(names):
        raise UnsafeExpression(text[:80])
    return tree, names


def width_of(text: str) -> int:
    """Upper bound on the columns of an expression that `columns_of` accepts, without levels."""
    tree = ast.parse(_QUOTED.sub("x", text), mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return max((_basis_size(call) for call in calls if _called(call) in BASES), default=1)


def _basis_size(call: ast.Call) -> int:
    """Degree plus degrees of freedom plus knots: an upper bound on the columns of a basis."""
    inside = [node for node in ast.walk(call) if isinstance(node, ast.List | ast.Tuple)]
    stated = sum(
        node.value
        for node in [*call.args[1:], *(k.value for k in call.keywords if k.arg in ("df", "degree"))]
        if isinstance(node, ast.Constant) and type(node.value) is int
    )
    return stated + sum(len(node.elts) for node in inside) + 5


def _called(node: ast.AST) -> str:
    """The name of the function that a node calls; empty if it is not a call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _columns(tree: ast.AST, outside: type[ast.AST] | tuple[()] = ()) -> list[str]:
    """The names of columns in a tree, without those below nodes of the type `outside`."""
    skipped = {id(p) for n in ast.walk(tree) if isinstance(n, outside) for p in ast.walk(n)}
    nodes = [node for node in ast.walk(tree) if id(node) not in skipped]
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    functions |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    names = []
    for node in nodes:
        if isinstance(node, ast.Name) and id(node) not in functions and node.id not in FUNCTIONS:
            names.append(node.id)
        elif isinstance(node, ast.Call) and _called(node) == "Q":
            names.append(str(getattr(node.args[0], "value", "")))
    return names


def _check(node: ast.AST, depth: int = 0) -> None:
    rule = _RULES.get(type(node))
    if rule is None or depth > MAX_DEPTH or not rule(node):
        raise UnsafeExpression(ast.unparse(node)[:80])
    parts = ast.iter_child_nodes(node)
    if isinstance(node, ast.Call):
        parts = iter([*node.args, *(entry.value for entry in node.keywords)])
    elif isinstance(node, ast.Attribute):
        return
    for part in parts:
        if isinstance(part, ast.expr):
            _check(part, depth + 1)


def _constant(node: ast.Constant) -> bool:
    value = node.value
    if type(value) is str:
        return value.isprintable() and not set("'\"\\`") & set(value)
    return value is None or type(value) in (bool, float) or (
        type(value) is int and abs(value) < 1 << 53
    )  # fmt: skip


def _operation(node: ast.BinOp) -> bool:
    """Accept numbers only: a repeated string, or powers of powers, could fill the memory."""
    sides = (node.left, node.right)
    texts = any(isinstance(s, _LISTS) or type(getattr(s, "value", 0)) is str for s in sides)
    if texts or not isinstance(node.op, _BINARY):
        return False
    if not isinstance(node.op, ast.Pow):
        return True
    inside = list(ast.walk(node.left))
    power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
    return (
        any(isinstance(part, ast.Name) for part in inside)
        and not any(isinstance(part, ast.Pow) for part in inside)
        and isinstance(power, ast.Constant)
        and isinstance(power.value, int | float)
        and power.value <= MAX_POWER
    )


def _function(node: ast.Call) -> str:
    """Where the called function comes from: "np", "contr" or "own"; empty if it is not listed."""
    if isinstance(node.func, ast.Attribute):
        home = getattr(node.func.value, "id", "")
        return home if node.func.attr in _HOMES.get(home, ()) else ""
    return "own" if isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS else ""


def _call(node: ast.Call) -> bool:
    home, name = _function(node), _called(node)
    if not home or (home == "np" and node.keywords):
        return False
    if not all(entry.arg and not entry.arg.startswith("_") for entry in node.keywords):
        return False
    if name == "Q":
        return len(node.args) == 1 and type(getattr(node.args[0], "value", None)) is str
    if home == "contr" or name in CODINGS:
        return True
    # The first argument must use a column: functions of strings or lists alone could grow without bound.
    first = node.args[0] if node.args else ast.List([])
    uses_column = any(
        isinstance(part, ast.Name) or _called(part) == "Q" for part in ast.walk(first)
    )
    return uses_column and not isinstance(first, _LISTS) and (name not in BASES or _basis(node))


def _basis(node: ast.Call) -> bool:
    """Whether all sizes are small literal numbers."""
    sizes = [*node.args[1:], *(k.value for k in node.keywords if k.arg in ("df", "degree"))]
    values = [s.value if isinstance(s, ast.Constant) else s for s in sizes]
    return all(
        v is None
        or isinstance(v, bool | ast.List | ast.Tuple)
        or (type(v) is int and v <= MAX_DEGREE)
        for v in values
    )


_CODINGS = tuple(f"contr.{name}" for name in CONTRASTS)
_RULES: dict[type, Callable[[Any], bool]] = {
    ast.Attribute: lambda node: ast.unparse(node) in _CODINGS,
    ast.BinOp: _operation,
    ast.Call: _call,
    ast.Compare: lambda node: all(isinstance(op, _COMPARE) for op in node.ops),
    ast.Constant: _constant,
    ast.Dict: lambda node: all(isinstance(key, ast.Constant) for key in node.keys),
    ast.List: lambda node: True,
    ast.Name: lambda node: not node.id.startswith("__") and node.id not in _HOMES,
    ast.Tuple: lambda node: True,
    ast.UnaryOp: lambda node: isinstance(node.op, _UNARY),
}
