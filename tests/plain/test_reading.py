"""The constructions are found by name, short, and numbered: what makes them readable."""

import inspect
import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pellucid import plain
from pellucid.app.cli import cli
from pellucid.plain import METHODS
from tests.source_tree import statements

CONSTRUCTIONS = [made for several in METHODS.values() for made in several]
MODULES = sorted({made.__module__ for made in CONSTRUCTIONS})
LONGEST = 80  # lines of code, without docstring, comments and blank lines


def shown(*arguments):
    return CliRunner().invoke(cli, ["show", *arguments])


@pytest.mark.parametrize("method", METHODS)
def test_show_plain_prints_the_source(method):
    result = shown(method, "--plain")
    assert result.exit_code == 0
    for made in METHODS[method]:
        assert inspect.getsource(sys.modules[made.__module__]) in result.output
    assert result.output.count('\n"""') >= len({made.__module__ for made in METHODS[method]})


@pytest.mark.parametrize("name", ["LinearRegression", "leastsquares", "LeastSquares", "lm"])
def test_a_class_or_an_alias_names_its_method(name):
    assert shown(name, "--plain").output.startswith("# pellucid.plain.linear.least_squares\n")


def test_sources_as_json():
    (module,) = json.loads(shown("ols", "--plain", "--json").output)
    assert module == "pellucid.plain.linear.least_squares"


def test_an_unknown_method_is_named():
    result = shown("olss", "--plain")
    assert result.exit_code and "no plain construction of 'olss'" in str(result.exception)
    assert "'ols'" in str(result.exception)


def test_plain_needs_a_method():
    assert "--plain needs the name of a method. Methods: ols," in str(shown("--plain").exception)


def test_a_method_comes_before_an_alias():
    """For comparisons, 'glm' stands for logistic and Poisson regression."""
    assert list(json.loads(shown("glm", "--plain", "--json").output)) == [
        "pellucid.plain.linear.glm"
    ]


def test_every_construction_is_listed_and_public():
    files = {p for p in Path(plain.__file__).parent.rglob("*.py") if p.stem != "__init__"}
    assert {inspect.getsourcefile(made) for made in CONSTRUCTIONS} == set(map(str, files))
    assert all(getattr(plain, made.__name__) is made for made in CONSTRUCTIONS)


def code_lines(path):
    """Lines that hold code: no docstrings, comments or blank lines."""
    return frozenset().union(*(statement.lines for statement in statements(path)))


@pytest.mark.parametrize("module", MODULES)
def test_a_construction_is_short_and_numbered(module):
    path = Path(sys.modules[module].__file__)
    assert len(code_lines(path)) <= LONGEST
    docstring, _, code = path.read_text().partition('"""\n\n')
    steps = set(re.findall(r"^(\d)\. ", docstring, re.M))
    marked = set(re.findall(r"# step (\d)", code))
    assert steps and steps == marked, "the steps of the docstring and of the code differ"
