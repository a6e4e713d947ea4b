"""README and every page of docs/ are executed (`docs.site.pages`): code, commands, links, pictures, and
the list of differences.
"""

import ast
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.site import pages
from docs.site.pages import all_pages, check_pictures, outline, run_page
from tests.source_tree import PACKAGE, ROOT

PAGES = all_pages()
LINK = re.compile(r"\]\(([^)\s]+)\)")
TOP = sorted(ROOT.glob("*.md"))
# Pages with whole comparisons: several processes, several seconds.
LONG = [
    ROOT / "docs" / "compare.md",
    ROOT / "docs" / "blends.md",
    *(
        ROOT / "docs" / "guides" / f"{name}.md"
        for name in ("own_csv", "from_pycaret", "reading_a_comparison")
    ),
]


def page_to_run(page: Path):
    """A page as a parameter of `test_page_runs`."""
    marks = [pytest.mark.slow] if page in LONG else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [page_to_run(page) for page in PAGES])
def test_page_runs(page, tmp_path):
    run_page(page, tmp_path)
    check_pictures(page, tmp_path)


@pytest.mark.parametrize("page", sorted({*PAGES, *TOP}), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = []
    pages.outside_fences(page.read_text(), lambda s: links.extend(LINK.findall(s)) or "")
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


def test_pictures_are_what_the_code_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    pictures = {name: drawn["standalone"](make()) for name, make in drawn["PICTURES"].items()}
    for name, svg in pictures.items():
        ElementTree.fromstring(svg)
        kept = (ROOT / "docs" / "img" / name).read_text()
        assert outline(svg) == outline(kept), f"run python -m docs pictures: {name} changed"


def test_every_picture_is_drawn_by_its_page():
    own = runpy.run_path(str(ROOT / "docs" / "pictures.py"))["PICTURES"].keys()
    made = {
        name
        for page in PAGES
        for name in pages.pictures(page)
        if f'"{name}"' in "".join(text for kind, _, text in pages.blocks(page) if kind == "python")
    }
    assert own | made == {path.name for path in (ROOT / "docs" / "img").glob("*.svg")}


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
        "```{replay} never_saved.html\nA fit.\n```\n",
    ],
)
def test_a_wrong_page_is_noticed(tmp_path, text):
    with pytest.raises((AssertionError, ValueError)):
        run_page(page_with(tmp_path, text), tmp_path)
