"""The built site: no fault, no foreign request, no message in the console, readable on a phone.

The site of `PELLUCID_SITE` is looked at, or else it is built, which takes a minute. The tests in a
browser need playwright and Chromium.
"""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

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
    with pytest.raises(Exception, match="unknown command"):
        mathml(r"\nosuchcommand x", "inline")


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


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=quiet)
        yield opened
        opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_page_in_a_browser(browser, address, page, scheme):
    context = browser.new_context(viewport={"width": 360, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    requests, messages = [], []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("console", lambda message: messages.append(message.text))
    tab.on("pageerror", lambda error: messages.append(str(error)))
    tab.goto(address + page, wait_until="networkidle")
    if "search" in page:
        tab.wait_for_selector("#search-results li", timeout=20_000)
        assert "asso" in tab.inner_text("#search-results")
    foreign = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
    wide = tab.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert not foreign and not messages and wide <= 360


@pytest.mark.slow
def test_every_public_class_has_a_page(site):
    from pellucid.names import ESTIMATORS

    missing = [
        name
        for module, names in ESTIMATORS.items()
        for name in names
        if not (site / "api" / f"{module}.{name}.html").is_file()
    ]
    assert not missing
