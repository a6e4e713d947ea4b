"""The figures of "how it compares" come from stored benchmarks: every page has them, none is typed."""

import json
import re

import pytest

from benchmarks.pages import command
from benchmarks.pages.races import RACES
from benchmarks.workload import find
from docs.site.comparison import BLOCK, FILE, filled, load, tables
from tests.test_method_pages import METHODS, sections

each_page = pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
FIGURE = re.compile(r"\d*\.\d+|±|\d+ (?:ms|MB|seconds)|times (?:as fast|faster)")


def typed(use):
    """Figures in the prose and tables of a comparison."""
    compared = use.partition("### How it compares")[2]
    return FIGURE.findall(re.sub(r"```.*?```", "", compared, flags=re.S))


@each_page
def test_pages_take_their_figures_from_the_file(page):
    use = sections(page)["Use"]
    assert "### How it compares" in use and len(BLOCK.findall(use)) == 1
    assert typed(use) == [], "let the benchmarks measure it"
    assert not re.search(r"^\|.*(?:±|\+-)", use, re.M), "a typed table of results"


@each_page
def test_the_file_has_every_page(page):
    document = load()
    found = document["pages"][page.stem]
    assert document["versions"]["scikit-learn"] and document["machine"]["processor"]
    raced = [row for row in found["races"] if row["ratio"] is not None]
    assert {row["workload"] for row in raced} == set(RACES[page.stem])
    assert all(not row["failed"] for row in raced)
    fits = [row for row in raced if row["action"] == "fit"]
    assert all(row["ours_bytes"] is not None for row in fits)
    shown = tables(document, page.stem)
    assert f"**{raced[0]['ratio']:.2g}**"[:4] in shown and found["date"] in shown
    for score in found["scores"]:
        assert f"`{score['model']}`" in shown


def test_a_new_figure_reaches_the_page(monkeypatch, tmp_path):
    document = load()
    document["pages"]["ridge"]["races"][0]["ratio"] = 7.6543
    changed = tmp_path / "comparison.json"
    changed.write_text(json.dumps(document))
    monkeypatch.setattr("docs.site.comparison.FILE", changed)
    assert "**7.7**" in filled("# Ridge\n\n```{comparison}\ntext\n```\n", "ridge")


def test_typed_figures_are_noticed():
    assert typed("### How it compares\n\nTwice: 1.98 times.\n") == ["1.98"]
    assert typed("### How it compares\n\n```python\n1.98\n```\n") == []


def test_races_exist():
    assert set(RACES) == {page.stem for page in METHODS}
    for keys in RACES.values():
        for key in keys:
            assert find(key).key == key


def test_command_writes_and_keeps(tmp_path, capsys):
    file = tmp_path / "out.json"
    quick = ["--rows", "300", "--repeat", "1", "--no-memory", "--json", str(file)]
    assert command.main(["--page", "dummy", *quick]) == 0
    assert command.main(["--page", "pca", "--no-scores", *quick]) == 0
    written = json.loads(file.read_text())
    assert list(written["pages"]) == ["dummy", "pca"]
    assert written["pages"]["dummy"]["scores"][0]["scores"].keys() == {"pellucid", "scikit-learn"}
    assert command.main(["--page", "nothing"]) == 2
    written["machine"]["processor"] = "another"
    file.write_text(json.dumps(written))
    with pytest.raises(SystemExit, match="another machine"):
        command.main(["--page", "pca", *quick])
    assert FILE.is_file()
