"""The architecture is what ARCHITECTURE.md says: levels, doors, sizes, what predicting imports."""

import json
import re
import subprocess
import sys

import pytest

from tests.source_tree import PACKAGE, ROOT, functions, hidden_imports, imports, source_files, unit

PAGE = (ROOT / "ARCHITECTURE.md").read_text()
CYTHON = {"cython", "libc", "libcpp", "cpython"}
TARGET, LIMIT, LOOP_LIMIT, FILE_LIMIT = 40, 60, 80, 400


def read_levels() -> dict[str, int]:
    """{part: height}, from the picture; a line is `level  names  description`."""
    picture = re.search(r"```levels\n(.*?)```", PAGE, re.S).group(1)
    rows = [re.split(r"\s{2,}", line.strip()) for line in picture.splitlines()]
    order = sorted({row[0] for row in rows})
    return {name: order.index(row[0]) for row in rows for name in row[1].split()}


def read_list(start: str) -> str:
    """The paragraph that begins with `start`."""
    return re.search(rf"^{start}(.*?)\n\n", PAGE, re.S | re.M).group(1)


LEVELS = read_levels()
HIDDEN = len(LEVELS)  # a part that the picture lacks may import all and be imported by none
SIDEWAYS = set(re.findall(r"`(\w+) -> (\w+)`", read_list("Sideways:")))
DOORS = {
    package: set(re.findall(r"`(\w+)`", door)) | ({"*"} if door.startswith("everywhere") else set())
    for package, door in re.findall(r"^\| (\w+) \| (.*) \|$", PAGE, re.M)
    if package != "package"
}
SOURCES = source_files(".py", ".pyx", ".pxd", ".pxi")
IMPORTS = [imported for path in SOURCES for imported in imports(path)]


def parts() -> set[str]:
    """What the package consists of: its folders and the modules beside them."""
    folders = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").is_file()}
    return folders | {p.stem for p in PACKAGE.glob("*.py") if p.stem != "__init__"}


def allowed(importer: str, imported: str) -> bool:
    """Down, within one part, or a sideways edge of the page."""
    if importer == imported or (importer, imported) in SIDEWAYS:
        return True
    return LEVELS.get(imported, HIDDEN) < LEVELS.get(importer, HIDDEN)


def test_the_picture_shows_the_parts_that_exist():
    assert parts() == LEVELS.keys(), "ARCHITECTURE.md and src/pellucid differ: draw new parts"


def test_sideways_edges_stay_on_one_level():
    assert all(LEVELS[a] == LEVELS[b] for a, b in SIDEWAYS)
    families = {name for name, level in LEVELS.items() if level == LEVELS["tree"]}
    between = {edge for edge in SIDEWAYS if edge[0] in families}
    assert between == {("ensemble", "tree"), ("mixture", "cluster")}


def test_imports_only_point_down():
    wrong = []
    for found in IMPORTS:
        importer = unit(found.path)
        if found.package != "pellucid" or importer == "__init__":
            continue
        below = found.target.split(".")[1:2]
        if not below or below[0] not in LEVELS.keys() | {"__version__"}:
            wrong.append(f"{found}: the top-level names are for users; import the module")
        elif below[0] in LEVELS and not allowed(importer, below[0]):
            wrong.append(f"{found}: {importer} may not import {below[0]}")
    assert not wrong, "\n".join(wrong)


def test_every_package_has_one_door():
    wrong = []
    for found in IMPORTS:
        if found.package in sys.stdlib_module_names | CYTHON | {"pellucid"}:
            continue
        doors = DOORS.get(found.package, set())
        if "*" not in doors and unit(found.path) not in doors:
            wrong.append(f"{found}: allowed in {sorted(doors) or 'no part; see ARCHITECTURE.md'}")
        if found.target.startswith("scipy.stats"):
            wrong.append(f"{found}: takes long to import; scipy.special has the functions")
    assert not wrong, "\n".join(wrong)


def test_plain_constructions_need_only_numpy():
    found = [i for i in IMPORTS if unit(i.path) == "plain"]
    known = sys.stdlib_module_names | {"numpy"}
    wrong = [str(i) for i in found if i.package not in known and ".plain" not in i.target]
    assert found and not wrong, "\n".join(wrong)


def test_imports_by_computed_names_are_on_the_page():
    """An import that the levels cannot see must be known, with its reason."""
    listed = set(re.findall(r"^\| `([\w/]+\.py)` \|", PAGE, re.M))
    found = {str(path.relative_to(PACKAGE)) for path in SOURCES if hidden_imports(path)}
    assert found == listed


HIDDEN_IMPORTS = [
    "import importlib\nimportlib.import_module(name)",
    "from importlib import import_module\nimport_module(name)",
    "from importlib import import_module as load\nload('sklearn')",
    "import importlib\nload = importlib.import_module\nload('sklearn')",
    "__import__(name)",
    "exec('import pandas')",
    "eval(text)",
]


@pytest.mark.parametrize("text", HIDDEN_IMPORTS)
def test_hidden_imports_are_seen(text, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(text)
    assert hidden_imports(path)
    path.write_text("import importlib\nimportlib.import_module('json')\nmodel.eval_set = 1")
    assert not hidden_imports(path)


def test_functions_are_short():
    python = [f for path in source_files(".py") for f in functions(path)]
    loops = [f for path in source_files(".pyx", ".pxd", ".pxi") for f in functions(path)]
    too_long = [f for f in python if f.length > LIMIT] + [f for f in loops if f.length > LOOP_LIMIT]
    assert not too_long, "\n".join(map(str, too_long))
    above = [f for f in python if f.length > TARGET]
    assert len(above) < 0.03 * len(python), "\n".join(map(str, above))


def test_files_are_short():
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES}
    too_long = [f"{p.relative_to(ROOT)} ({n} lines)" for p, n in lengths.items() if n > FILE_LIMIT]
    assert not too_long, "\n".join(too_long)


def test_module_names_say_what_is_inside():
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    folders = [PACKAGE, *(ROOT / name for name in ("tests", "benchmarks", "scorecard"))]
    names = [p.relative_to(ROOT) for folder in folders for p in folder.rglob("*.py*")]
    wrong = [str(p) for p in names if vague & {word.strip("_") for word in (*p.parts[:-1], p.stem)}]
    assert not wrong, wrong


def test_every_folder_of_tests_is_a_package():
    # Two test files may then have one name, and helpers are imported by their full names.
    folders = {p.parent for p in (ROOT / "tests").rglob("*.py")}
    wrong = [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").is_file()]
    assert not wrong, sorted(wrong)


def test_every_module_says_what_lives_there():
    opening = re.compile(r'r?"""\S.{15,}|# \S.{15,}')
    silent = [str(p.relative_to(ROOT)) for p in SOURCES if not opening.match(p.read_text())]
    assert not silent, silent


def test_every_compiled_module_has_types():
    wrong = [str(p) for p in source_files(".pyx") if not p.with_suffix(".pyi").is_file()]
    assert not wrong, wrong


def project_texts():
    """Every text of the project, as (path, text); what tools leave behind is not looked at."""
    kinds = {
        ".py",
        ".pyx",
        ".pyi",
        ".pxd",
        ".pxi",
        ".md",
        ".toml",
        ".txt",
        ".html",
        ".svg",
        ".build",
        ".json",
        "",
    }
    for top in ("src", "tests", "docs", "benchmarks", "scorecard", "examples", ".ci"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and path.suffix in kinds and "__pycache__" not in path.parts:
                yield path, path.read_text()
    for path in sorted(p for p in ROOT.iterdir() if p.is_file() and p.suffix in kinds - {""}):
        yield path, path.read_text()


def test_the_project_speaks_of_itself_alone():
    # Written so that this file does not match itself.
    foreign = re.compile(r"/[w]ork/|/[t]mp/|/[r]oot/|/[h]ome/\w")
    wrong = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path, text in project_texts()
        for match in foreign.finditer(text)
    ]
    assert not wrong, "\n".join(wrong)


# One process fits and saves every public estimator, the next one loads and predicts: each prints
# what it has imported. A model's file is named after its class.
CHILD = """
import importlib, json, sys
import numpy as np
from pellucid.names import ESTIMATORS

folder, phase = sys.argv[1:]
X = np.random.default_rng(0).random((40, 3))
y = np.arange(40) % 2 + 1  # labels, numbers and positive amounts alike
done = []
for module, names in ESTIMATORS.items():
    for name in names:
        path = f"{folder}/{name}.pellucid"
        if phase == "fit":
            cls = getattr(importlib.import_module(module), name)
            cls(**getattr(cls, "_check_params", {})).fit(X, y).save(path)
        else:
            from pellucid.persist import load
            model = load(path)
            asks = ("predict", "transform", "kneighbors")
            if not hasattr(model, "embedding_"):  # its points are all it has: new rows have no place
                next(getattr(model, ask) for ask in asks if hasattr(model, ask))(X)
        done.append(name)
print(json.dumps({"done": done, "modules": sorted(sys.modules)}))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """{phase: modules that the process had imported at its end}."""
    folder = str(tmp_path_factory.mktemp("models"))
    loaded = {}
    for phase in ("fit", "predict"):
        command = [sys.executable, "-W", "ignore", "-c", CHILD, folder, phase]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["done"], "no public estimator was found"
        loaded[phase] = set(answer["modules"])
    return loaded


@pytest.mark.parametrize("phase", ["fit", "predict"])
def test_fit_save_load_predict_stay_light(imported, phase):
    heavy = {
        "sklearn",
        "pandas",
        "polars",
        "pyarrow",
        "scipy.stats",
        "matplotlib",
        "rich",
        "jinja2",
    }
    assert not imported[phase] & heavy


def test_loading_and_predicting_needs_no_scipy(imported):
    assert not [name for name in imported["predict"] if name.split(".")[0] == "scipy"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    '''Doc.\n\n    More.'''\n    # why\n\n    return x\n", [("f", 2)]),
        (
            "def f(\n    x,\n):\n    def g():\n        return x\n    return g\n",
            [("f", 6), ("g", 2)],
        ),
        ("cdef inline double f(double[::1] x) noexcept nogil:\n    return x[0]\n", [("f", 2)]),
        ("cdef class A:\n    cpdef int g(self):\n        return 1\n", [("g", 2)]),
        ("cdef int n = len(x)\ncdef extern from 'math.h':\n    double exp(double)\n", []),
    ],
)
def test_the_ruler_measures_code_only(tmp_path, text, expected):
    path = tmp_path / "sample.pyx"
    path.write_text(text)
    assert [(f.name, f.length) for f in functions(path)] == expected
