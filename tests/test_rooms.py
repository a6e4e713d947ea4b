"""The house stays one that strangers can move into: rooms, names, declarations, and plain words."""

import ast
import inspect
import re
import textwrap
from collections import defaultdict

import pytest

from pellucid.parameters import parameters_of
from tests.contract.classes import public_classes
from tests.source_tree import PACKAGE, ROOT, source_files

MOST_FILES, MOST_CLASSES = 24, 6
# Files that play the same role in their folders may share a name.
ROLES = {
    "__init__", "base", "classifier", "cv_solver", "descent", "file_checks", "information", "l1",
    "losses", "objective", "path", "regressor", "solver",
}  # fmt: skip
COMMANDS = PACKAGE / "app" / "commands"  # named after what is typed
PLAIN = PACKAGE / "plain"  # named after the methods, like the files of the library
CLASSES = public_classes()

# Words that need their author beside them, and what the field says.
WORDS = {
    r"foretold": "cross-validation agrees",
    r"in the user's units": "on the original scale",
    r"keeps? (its|their) word": "calibration",
    r"locked (part|rows|test)": "test set",
    r"such ones": "say which",
    r"whoever": "say who",
    r"bends more": "more flexible",
    r"learners?": "base estimator",
    r"nought": "0, NaN or missing",
    r"speakers?": "contributions",
    r"crew": "worker pool",
    r"witness(es)?": "test",
    r"is told|are told|was told|were told": "is reported",
    r"is lent|was lent": "is a copy",
}
# In mathematics, and where the word is the field's own.
ALLOWED = {
    r"learners?": (
        "weak learner",
        "base learner",
        '"learner"',
        '"learners"',
    ),  # labels of random streams
}


def test_no_folder_holds_too_many_files():
    folders = {p.parent for p in source_files(".py")}
    sizes = {str(f.relative_to(ROOT)): len(list(f.glob("*.py"))) for f in folders}
    assert not {name: size for name, size in sizes.items() if size > MOST_FILES}


def test_a_file_name_is_used_once_or_says_the_same_everywhere():
    places = defaultdict(list)
    for path in source_files(".py"):
        if path.stem not in ROLES and path.parent != COMMANDS:
            place = "plain" if PLAIN in path.parents else ""
            places[place, path.stem].append(str(path.relative_to(PACKAGE)))
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_compiled_module_is_pasted_together():
    assert not source_files(".pxi")


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_inheritance_is_shallow(name):
    order = [cls.__name__ for cls in CLASSES[name].__mro__[:-1]]
    assert len(order) <= MOST_CLASSES, order


def test_no_estimator_writes_its_own_constructor():
    bases = {cls.__name__ for model in CLASSES.values() for cls in model.__mro__[:-1]}
    wrong = []
    for path in (p for p in source_files(".py") if PLAIN not in p.parents):  # no estimators there
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name in bases:
                own = {b.name for b in node.body if isinstance(b, ast.FunctionDef)}
                named = {t.id for b in node.body if isinstance(b, ast.Assign) for t in b.targets
                         if isinstance(t, ast.Name)}  # fmt: skip
                if own & {"__init__", "__new__"} or "_parameters" in named:
                    wrong.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert not wrong, wrong


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_parameter_comes_from_a_declaration(name):
    declared = parameters_of(CLASSES[name])
    assert list(inspect.signature(CLASSES[name]).parameters) == list(declared)
    assert all(parameter.description for parameter in declared.values())


def body(function):
    """The statements of a function without its docstring."""
    found = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0].body
    return [s for s in found if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def is_open(function):
    """Whether a method only refuses, or gives a constant: an answer that subclasses replace."""
    statements = body(function)
    if len(statements) != 1:
        return not statements
    only = statements[0]
    plain = (ast.Constant, ast.Tuple, ast.Dict)
    returns = isinstance(only, ast.Return) and isinstance(only.value, plain)
    return returns or isinstance(only, ast.Raise)


def function_of(member):
    member = getattr(member, "method", member)  # of `available_if`
    member = member.fget if isinstance(member, property) else member
    return member if inspect.isfunction(member) else None


def overridden():
    """(method, class) wherever a class replaces a method that a base of it has written."""
    ours = {cls for model in CLASSES.values() for cls in model.__mro__}
    for cls in (c for c in ours if c.__module__.startswith("pellucid")):
        for name, member in vars(cls).items():
            if name.startswith(("__", "set_")) or function_of(member) is None:
                continue
            base = next((b for b in cls.__mro__[1:] if name in vars(b)), object)
            before = function_of(vars(base).get(name))
            if before is not None and not is_open(before):
                yield name, cls.__name__


def test_every_override_has_a_reason():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    table = page.split("### Methods that are implemented twice")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]
    said = {(method.strip(" `"), cls.strip()) for methods, classes, reason in rows if reason.strip()
            for method in methods.split(",") for cls in classes.split(",")}  # fmt: skip
    found = set(overridden())
    assert not found - said, "state the reason in ARCHITECTURE.md, or do not override"
    assert {cls for _, cls in said} == {cls for _, cls in found}
    assert {method for method, _ in said} == {method for method, _ in found}


# What a method may write on `self`: the template of fitting on its working copy, and what users ask for.
WRITERS = {
    ("Clusterer", "_after_fit"), ("Estimator", "_replace_learned"), ("Estimator", "_store"),
    ("TSNE", "set_output"), ("Transformer", "set_output"), ("TreeModel", "prune"),
    ("Blend", "set_params"), ("SklearnEstimator", "set_params"),
}  # fmt: skip


def test_no_method_leaves_anything_on_self():
    wrong = set()
    for cls in {
        c for model in CLASSES.values() for c in model.__mro__ if "pellucid" in c.__module__
    }:
        for name, member in vars(cls).items():
            function = function_of(member)
            if function is None or name.startswith("__"):
                continue
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
                stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if stored and ast.unparse(node.value) == "self":
                    wrong.add((cls.__name__, name))
    assert not wrong - WRITERS, "pass it on as an argument"


# What `hasattr` may ask: attributes of tables, numbers, splitters, foreign estimators and the system.
FOREIGN = {
    "__args__", "__array__", "__arrow_c_stream__", "__dask_graph__", "__index__", "__iter__",
    "__len__", "__sklearn_clone__", "__sklearn_tags__", "all", "cat", "check", "classes_",
    "collect_batches", "collect_schema", "column_names", "columns", "count_rows", "cursor",
    "decision_function", "dtype", "estimators_", "execution_state", "explain",
    "feature_importances_", "fetch_record_batch", "fit", "formula", "get_n_splits", "get_params",
    "getloadavg", "iloc", "item", "kernel", "kinds", "lazy", "num_rows", "predict", "predict_proba",
    "read", "register_at_fork", "save", "scanner", "sched_getaffinity", "sched_setaffinity",
    "schema", "schema_", "score", "set_output", "shape", "split", "take", "terms_", "to_dict",
    "to_numpy", "to_pandas", "to_pydatetime", "to_pylist", "toarray", "to_delayed",
    "tocsr", "tolist", "values",
    "with_columns",
    # A wrapper around an estimator, which a model file may hold, has only some of these.
    "_check_parameters", "_check_state", "_input_spec", "predict_to",
    "_proba",  # `available_if`: some classifiers have it only for some parameters
}  # fmt: skip


def test_hasattr_asks_objects_of_others_only():
    wrong = []
    for path in source_files(".py"):
        if {"plot", "replays"} & set(path.relative_to(PACKAGE).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr":
                asked = node.args[1]
                if isinstance(asked, ast.Constant) and asked.value not in FOREIGN:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {asked.value}")
    assert not wrong, wrong


def texts():
    for path in source_files(".py", ".pyx", ".pxd", ".pxi"):
        yield path, path.read_text()
    for folder, pattern in (
        (ROOT / "docs", "*.md"),
        (PACKAGE / "report", "*.html"),
        (ROOT, "*.md"),
    ):
        for path in folder.rglob(pattern) if folder != ROOT else folder.glob(pattern):
            yield path, path.read_text()


@pytest.mark.parametrize("word", sorted(WORDS))
def test_private_words_do_not_come_back(word):
    allowed = ALLOWED.get(word, ())
    wrong = []
    for path, text in texts():
        for number, line in enumerate(text.splitlines(), 1):
            for other in allowed:
                line = line.replace(other, "")
            if re.search(rf"\b(?:{word})\b", line, re.I):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert not wrong, f"say {WORDS[word]!r}:\n" + "\n".join(wrong)


def test_no_function_is_written_twice():
    """Bodies of at least three statements that are equal but for the names of variables."""
    seen: dict[str, str] = {}
    twice = []
    for path in source_files(".py"):
        if "plain" in path.parts:  # the constructions are read one at a time
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or _size(node) < 3:
                continue
            where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
            first = seen.setdefault(_shape(node), where)
            if first != where:
                twice.append((first, where))
    assert not twice


def _size(node: ast.FunctionDef) -> int:
    inside = [n for stmt in _code(node) for n in ast.walk(stmt)]
    return sum(isinstance(n, ast.stmt) for n in inside)


def _code(node: ast.FunctionDef) -> list[ast.stmt]:
    return node.body[ast.get_docstring(node) is not None :]


def _shape(node: ast.FunctionDef) -> str:
    """The code with its own variables numbered in the order in which they appear."""
    body = ast.parse("\n".join(ast.unparse(stmt) for stmt in _code(node)))
    own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    own |= {
        n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    numbers: dict[str, int] = {}
    for n in ast.walk(body):
        if isinstance(n, ast.Name) and n.id in own:
            n.id = f"v{numbers.setdefault(n.id, len(numbers))}"
    return ast.dump(body)
