"""Every display in Chromium, wide and at 360 pixels, light and dark: no text leaves its picture or
covers another one, nothing is loaded, every picture has its data as a table."""

import re
import runpy
from xml.etree import ElementTree

import pytest

from tests.plot import gallery
from tests.plot.browser_texts import collisions
from tests.plot.models import model_gallery
from tests.report.conftest import browser
from tests.source_tree import ROOT

__all__ = ["browser"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]
HEAD = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
LINKS = re.findall(r"\]\(img/gallery/(\w+\.svg)\)", (ROOT / "docs" / "gallery.md").read_text())


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The pictures of the gallery page, drawn by its own code."""
    folder = tmp_path_factory.mktemp("gallery")
    runpy.run_path(str(ROOT / "docs" / "pictures.py"))["gallery"](folder)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


@pytest.fixture(scope="module")
def pages(drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    look = "<style>.s{overflow-x:auto}body{margin:8px}</style>"
    inside = "".join(f'<div class="s">{text}</div>' for text in drawn.values())
    texts = {
        "docs": HEAD + look + inside,
        "evaluation": gallery.page(),
        "models": model_gallery.page(),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def test_the_page_shows_what_its_code_draws(drawn):
    kept = {path.name: path for path in (ROOT / "docs" / "img" / "gallery").iterdir()}
    assert set(drawn) == set(kept) == set(LINKS) and len(LINKS) == len(kept)
    for name, text in drawn.items():
        stored = ElementTree.fromstring(kept[name].read_text(encoding="utf-8"))
        assert stored.get("aria-label") == ElementTree.fromstring(text).get("aria-label")


@pytest.mark.parametrize("name", ["docs", "evaluation", "models"])
@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), (1200, True), (360, False), (360, True)]
)
def test_no_text_is_cut_or_covered(browser, pages, name, width, dark):
    browser.open(pages / f"{name}.html", width=width, dark=dark)
    count, found = collisions(browser)
    assert count > 500 and not found, found[:10]
    assert not [url for url in browser.requests if not url.startswith(("file:", "data:"))]
    assert not browser.complaints
    if name != "docs":
        figures = browser.ask("document.querySelectorAll('figure.pl').length")
        tables = browser.ask("document.querySelectorAll('figure.pl details table').length")
        assert figures == tables > 30


def test_the_check_sees_what_it_looks_for(browser, tmp_path):
    turned = '<text x="40" y="60" transform="rotate(-40 40 60)">turned a bit</text>'
    body = (
        '<svg width="200" height="100"><text x="10" y="20">first text</text>'
        '<text x="30" y="22">second text</text></svg>'
        '<svg width="200" height="100"><text x="180" y="20">leaves the picture</text></svg>'
        f'<svg width="200" height="100">{turned}<text x="90" y="62">beside</text></svg>'
    )
    page = tmp_path / "bad.html"
    small = "<style>text{font-size:10px}</style>"  # fits in the wide fonts of some systems, too
    page.write_text(HEAD + small + body, encoding="utf-8")
    browser.open(page)
    count, found = collisions(browser)
    assert count == 5
    assert [fault[0] for fault in found] == ["overlap", "outside"]
