"""Method pages have one shape, show the plain code as it is, and carry what a reader needs."""

import re
import runpy

import pytest

from tests.source_tree import ROOT

METHODS = [p for p in sorted((ROOT / "docs" / "methods").glob("*.md")) if p.stem != "template"]
SECTIONS = [
    *("Concept", "Construction", "Implementation", "Use", "Replay", "Exercises", "References")
]
PARTS = ["Choosing settings", "Reading the output", "When not to use it", "How it compares"]
WORDS = (500, 1200)  # of a concept
EXCERPTS = runpy.run_path(str(ROOT / "docs" / "excerpts.py"))
each_page = pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)


def sections(page):
    """The text of each section by its title."""
    rest = re.split(r"^## (.*)\n", page.read_text(), flags=re.M)[1:]
    return dict(zip(rest[::2], rest[1::2], strict=True))


def prose(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


@each_page
def test_sections(page):
    found = sections(page)
    assert list(found) == SECTIONS, "see docs/methods/template.md"
    assert "](../../src/pellucid/plain/" in found["Construction"], "link to the plain code"
    assert "](../../src/pellucid/" in found["Implementation"], "link to the source"
    assert "```python" in found["Use"], "show the use as code, which the tests run"
    assert [part for part in PARTS if f"### {part}\n" not in found["Use"]] == []
    assert "mistake" in found["Use"], "say what often goes wrong"
    assert "```{replay} " in found["Replay"] or "has no steps" in " ".join(found["Replay"].split())
    assert found["References"].count("\n- ") >= 2


@each_page
def test_concepts_are_derived_and_drawn(page):
    concept = sections(page)["Concept"]
    words = len(prose(concept).split())
    assert WORDS[0] <= words <= WORDS[1], f"the concept has {words} words"
    assert concept.count("$$") >= 4, "derive the objective in displayed formulas"
    assert "](../img/" in concept, "a picture"


@each_page
def test_pictures_are_small_and_described(page):
    for text, name in re.findall(r"!\[(.*?)\]\(\.\./img/(\S+?)\)", page.read_text(), re.S):
        assert len(text.split()) >= 6, f"say what {name} shows"
        assert (ROOT / "docs" / "img" / name).stat().st_size < 40_000


@each_page
def test_exercises_have_solutions_that_run(page):
    exercises = sections(page)["Exercises"]
    asked, solved = re.findall(r"^\*\*\d\.\*\* ", exercises, re.M), exercises.count("<details>")
    assert len(asked) == solved == exercises.count("</details>") >= 3
    assert exercises.count("```python") >= 2, "let the solutions compute their numbers"


@each_page
def test_plain_code_is_the_source(page):
    text = page.read_text()
    assert EXCERPTS["BLOCK"].search(text), "show the plain code"
    assert EXCERPTS["filled"](text) == text, "run python docs/excerpts.py"


def test_a_changed_excerpt_is_noticed():
    shown = "```python plain/linear/ridge.py Ridge.predict\nreturn 0\n```"
    assert "return self.b + X @ self.w" in EXCERPTS["filled"](shown)
