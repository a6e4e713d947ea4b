"""README and every page of docs/ are executed: code, commands, links, and the list of differences.

On a page, `python` blocks run in order in one namespace (with `>>>` as doctests), lines that begin
with `$` in `console` blocks run in a shell and must print what stands below them. All of it runs in
an empty folder, so a page shows everything it needs. Other kinds of blocks are not executed.
"""

import ast
import doctest
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.source_tree import PACKAGE, ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOP = sorted(ROOT.glob("*.md"))
# Pages with whole comparisons: several processes, several seconds.
LONG = [ROOT / "docs" / "compare.md", ROOT / "docs" / "blends.md"]
ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, int, str]]:
    """The fenced blocks of a page: kind, line of its first line, text."""
    found, start, kind = [], 0, ""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("```") and not start:
            start, kind = number, line[3:].strip()
        elif line.startswith("```"):
            found.append((kind, start + 1, "\n".join(lines[start : number - 1]) + "\n"))
            start = 0
    return found


def run_python(text: str, names: dict, page: Path, line: int) -> None:
    """Execute a block in the page's namespace; errors point at the line of the page."""
    where = str(page.relative_to(ROOT))
    if ">>>" not in text:
        exec(compile("\n" * (line - 1) + text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, where, where, line - 1)
    heard = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=ELLIPSIS, verbose=False)
    runner.run(test, out=heard.write, clear_globs=False)
    names.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, heard.getvalue()


def run_console(text: str, page: Path, line: int) -> None:
    """Run each `$ command` with this environment's programs first; compare what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        shell = ["bash", "-c", command]
        done = subprocess.run(
            shell, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        printed = done.stdout + done.stderr
        where = f"{page.name}:{line}: $ {command}\n{printed}"
        if not expected.startswith("error"):
            assert done.returncode == 0, where
        assert doctest.OutputChecker().check_output(expected, printed, ELLIPSIS), where


def page_to_run(page: Path):
    """A page as a parameter of `test_page_runs`."""
    marks = [pytest.mark.slow] if page in LONG else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [page_to_run(page) for page in PAGES])
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for kind, line, text in blocks(page):
        if kind == "python":
            run_python(text, names, page, line)
        elif kind == "console":
            run_console(text, page, line)


@pytest.mark.parametrize("page", sorted({*PAGES, *TOP}), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    local = [link.split("#")[0] for link in links if not re.match(r"https?:|mailto:|#", link)]
    dead = [link for link in local if not (page.parent / link).exists()]
    assert not dead, f"{page.name} links to {dead}"


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [str(p.relative_to(ROOT / "docs")) for p in (ROOT / "docs").rglob("*.md")]
    lost = [p for p in pages if p != "index.md" and f"]({p})" not in index]
    assert not lost, f"docs/index.md does not link to {lost}"


def test_the_index_names_every_estimator():
    index = (ROOT / "docs" / "index.md").read_text()
    # Read from the file: other tests put classes of their own into the list.
    listed = runpy.run_path(str(PACKAGE / "names.py"))["ESTIMATORS"]
    public = {name for names in listed.values() for name in names}
    assert set(re.findall(r"`(\w+)`", index)) == public


def outline(svg: str) -> str:
    """A picture without its numbers and its image: the last digits may differ between machines."""
    svg = re.sub(r"data:image/png;base64,[^\"]+", "", svg)
    return re.sub(r"-?\d+\.?\d*", "0", svg)


def test_pictures_are_what_the_code_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    pictures = {name: drawn["standalone"](make()) for name, make in drawn["PICTURES"].items()}
    kept = {path.name: path.read_text() for path in (ROOT / "docs" / "img").glob("*.svg")}
    assert pictures.keys() == kept.keys()
    for name, svg in pictures.items():
        ElementTree.fromstring(svg)
        assert outline(svg) == outline(kept[name]), f"run python docs/pictures.py: {name} changed"


METHODS = [p for p in sorted((ROOT / "docs" / "methods").glob("*.md")) if p.stem != "template"]


@pytest.mark.parametrize("page", METHODS, ids=lambda p: p.stem)
def test_method_pages_have_one_shape(page):
    text = page.read_text()
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert headings[:3] == ["Concept", "Construction", "Use"], "see docs/methods/template.md"
    construction, use = text.split("## Construction")[1].split("## Use")
    assert "](../../src/pellucid/" in construction, "link to the source of the construction"
    assert "```python" in use, "show the use as code, which the tests run"


ENTRY = re.compile(r"- \*\*(?P<where>.+?)\.\*\* (?P<text>.+) Test: `(?P<test>tests/\S+::\S+)`")


def differences() -> dict[str, list[str]]:
    """The entries of docs/differences.md by section, each on one line."""
    sections = re.split(r"^## ", (ROOT / "docs" / "differences.md").read_text(), flags=re.M)[1:]
    found = {}
    for section in sections:
        title, _, text = section.partition("\n")
        found[title] = [" ".join(e.split()) for e in re.split(r"^(?=- )", text, flags=re.M)[1:]]
    return found


ENTRIES = [entry for entries in differences().values() for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[4:74])
def test_every_difference_has_a_test(entry):
    parts = ENTRY.fullmatch(entry)
    assert parts, (
        f"write '- **where.** What each library does, and why. Test: `file::test`': {entry}"
    )
    assert "scikit-learn" in parts["text"] and "Pellucid" in parts["text"], entry
    path, _, name = parts["test"].partition("::")
    assert (ROOT / path).is_file(), f"no such test file: {path}"
    defined = {
        node.name
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    wanted = {part.split("[")[0] for part in name.split("::")}
    assert wanted <= defined, f"{path} has no test called {name}"


def test_differences_are_sorted():
    sections = differences()
    titles = [title.lower() for title in sections]
    assert titles[1:] == sorted(titles[1:]), "after 'Every estimator', sections are sorted by title"
    for title, entries in sections.items():
        places = [ENTRY.fullmatch(entry)["where"].lower() for entry in entries]
        assert places and places == sorted(places), f"sort the entries of section {title!r}"


def test_readme_shows_the_commands():
    text = (ROOT / "README.md").read_text()
    assert "pip install . && pellucid compare penguins" in text
    assert "pip install '.[test]' && pytest" in text


def page_with(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    "text",
    [
        "```python\nraise ValueError\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n",
        "```console\n$ echo this\nthat\n```\n",
        "```console\n$ exit 3\n```\n",
    ],
)
def test_a_wrong_page_is_noticed(tmp_path, monkeypatch, text):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    with pytest.raises((AssertionError, ValueError)):
        test_page_runs(page_with(tmp_path, text), tmp_path, monkeypatch)
