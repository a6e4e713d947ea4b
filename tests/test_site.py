"""The built site: no fault, no foreign request, no message in the console, readable on a phone.

The site of `PELLUCID_SITE` is looked at, or else it is built, which takes a minute. The tests in a
browser need Chromium; that of accessibility needs `PELLUCID_AXE`, the path of an axe.min.js.
"""

import functools
import http.server
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.chromium import open_browser
from tests.source_tree import ROOT

PAGES = [
    "index.html",
    "guides/five_minutes.html",
    "errata.html",
    "methods/decision_tree.html",
    "plot.html",
    "api/pellucid.linear_model.Ridge.html",
    "api/pellucid.metrics.html",
    "search.html?q=lasso",
]


def test_faults_are_found(tmp_path):
    from docs.site.check import faults

    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><img src="x.png">')
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/x.js"></script>')
    found = "\n".join(faults(tmp_path))
    for fault in ("without a text", "no b.html#here", "no x.png", "loads https://cdn"):
        assert fault in found
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a>')
    assert faults(tmp_path) == []


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml")
    pytest.importorskip("sphinx")
    from docs.site.extension import mathml

    assert "<mfrac>" in mathml(r"\frac{1}{1 + e^{-z}}", "inline")
    assert '</mo><mo form="prefix">&#x02212;</mo><mi>log</mi><mspace' in mathml(
        r"w = -\log 3", "inline"
    )
    assert 'rspace="0">max</mo>' in mathml(r"\max(z, 0)", "inline")
    assert "mspace" not in mathml(r"\log(3) - 1", "inline")
    with pytest.raises(Exception, match="unknown command"):
        mathml(r"\nosuchcommand x", "inline")


def test_a_minus_at_the_start_of_a_line_is_no_list():
    from docs.site.reference import _entries

    assert (
        _entries("error_ : float\n    y, or 1\n    - p.") == "- **`error_`** (float): y, or 1 - p."
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if os.environ.get("PELLUCID_SITE"):
        return Path(os.environ["PELLUCID_SITE"])
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs", "--to", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_page_in_a_browser(browser, address, page, scheme):
    tab = browser.tab(360, 800, scheme)
    tab.goto(address + page)
    if "search" in page:
        tab.wait("document.querySelector('#search-results li')")
        first = tab.evaluate("document.querySelector('#search-results li a').innerText")
        assert first == "Lasso and elastic net"
    foreign = [url for url in tab.requests if not url.startswith((address, "data:", "blob:"))]
    wide = tab.evaluate("document.documentElement.scrollWidth")
    messages = tab.messages
    tab.close()
    assert not foreign and not messages and wide <= 360


@pytest.mark.slow
def test_search_from_the_keyboard(browser, address):
    tab = browser.tab(1280, 800)
    tab.goto(address + "index.html")
    tab.evaluate("document.querySelector('.sidebar-search').focus()")
    tab.send("Input.insertText", text="tweedie")
    tab.press("Enter")
    tab.wait("document.querySelector('#search-results li a')")
    assert "weedie" in tab.evaluate("document.querySelector('#search-results').innerText")
    tab.close()


@pytest.mark.slow
def test_the_keyboard_reaches_what_scrolls(browser, address):
    tab = browser.tab(360, 800)
    tab.goto(address + "methods/decision_tree.html")
    regions = (
        "[...document.querySelectorAll('article pre, article div.math, article .table-wrapper')]"
    )
    scrolls = f"{regions}.filter(r => r.scrollWidth > r.clientWidth)"
    tab.wait(f"{scrolls}.every(r => r.tabIndex === 0)")
    assert tab.evaluate(f"{scrolls}.length") > 3
    assert tab.evaluate(f"{regions}.every(r => r.scrollWidth > r.clientWidth || r.tabIndex < 0)")
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.tagName") != "BODY"
    tab.close()


@pytest.mark.slow
@pytest.mark.skipif("PELLUCID_AXE" not in os.environ, reason="PELLUCID_AXE names no axe.min.js")
@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(browser, address, site, scheme, width):
    """axe-core (not part of the project) finds nothing on any page but copies of source files."""
    axe = Path(os.environ["PELLUCID_AXE"]).read_text()
    found = {}
    for path in sorted(site.rglob("*.html")):
        name = str(path.relative_to(site))
        if name.startswith("source/"):
            continue
        tab = browser.tab(width, 800, scheme)
        tab.goto(address + name)
        tab.evaluate(f"{axe}; 0")
        run = "axe.run(document, {resultTypes: ['violations']})"
        found[name] = tab.evaluate(f"{run}.then(r => r.violations.map(v => v.id))")
        tab.close()
    assert {name: ids for name, ids in found.items() if ids} == {}


@pytest.mark.slow
def test_every_public_class_has_a_page(site):
    from pellucid.names import ESTIMATORS

    missing = [
        name
        for module, names in ESTIMATORS.items()
        for name in names
        if not (site / "api" / f"{module}.{name}.html").is_file()
    ]
    assert not set(missing) - {"Toy"}  # a toy of other tests in the same process
