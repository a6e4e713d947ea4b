"""Cards inside a notebook: style sheets that style every table and list must not reach them."""

import numpy as np
import pytest

from pellucid.linear_model import LogisticRegression

pytestmark = pytest.mark.xdist_group("browser")

# What notebooks do to lists, tables and pictures of an output, told in our own words.
HOSTILE_SHEET = """
html { font-size: 10px } body { font-size: 14px }
.output dl, .output dt, .output dd { display: block; overflow: hidden }
.output dt { float: left; width: 20%; font-weight: bold }
.output dd { float: left; width: 80% }
.output table { table-layout: fixed; margin: 0 auto 1em; font-size: 9px; border-spacing: 9px }
.output.html td, .output.html th, .output.html tr { text-align: right; padding: 2em; border: none;
  vertical-align: middle; white-space: pre }
.output tbody tr:nth-child(odd) { background: rgb(1, 2, 3) }
.output p { margin: 3em; text-align: right }
.output svg { max-width: 100%; height: auto }
.output.html pre { margin: 2em; white-space: pre-wrap }
"""


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return LogisticRegression(C=2.0).fit(X, X[:, 0] + rng.normal(size=60) > 0), X


def page(folder, *cards, sheet=HOSTILE_SHEET, dark=False):
    ground = "background:#111;color:#eee" if dark else ""
    inside = "".join(f'<div class="output html">{card}</div>' for card in cards)
    path = folder / "notebook.html"
    text = f'<style>{sheet}</style><body style="{ground}">{inside}</body>'
    path.write_text(f"<!doctype html><meta charset=utf-8>{text}", "utf-8")
    return path


LOOKS = """[...document.querySelectorAll('.pl *')].filter(n => n.checkVisibility()).map(n => {
  const s = getComputedStyle(n), r = n.getBoundingClientRect();
  return [n.tagName, s.float, s.textAlign, s.backgroundColor, s.fontSize, s.padding,
          s.tableLayout, Math.round(r.width), Math.round(r.height)].join(' ') })"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_notebook_does_not_reach_into_cards(browser, model, tmp_path, dark):
    fitted, X = model
    cards = [fitted._repr_html_(), LogisticRegression()._repr_html_(),
             fitted.explain(X[:3])._repr_html_()]  # fmt: skip
    opened = "document.querySelectorAll('details').forEach(d => d.open = true);"
    browser.open(page(tmp_path, *cards, dark=dark))
    browser.ask(opened)
    hostile = browser.ask(LOOKS)
    browser.open(page(tmp_path, *cards, sheet="body { font-size: 14px }", dark=dark))
    browser.ask(opened)
    assert hostile == browser.ask(LOOKS) and len(hostile) > 100
    assert not browser.complaints


def test_labels_stand_on_one_line(browser, model, tmp_path):
    browser.open(page(tmp_path, model[0]._repr_html_()))
    lines = (
        "[...document.querySelectorAll('.pl-key')].map(n => Math.round(n.offsetHeight / "
        "parseFloat(getComputedStyle(n).fontSize)))"
    )
    assert set(browser.ask(lines)) == {1}
