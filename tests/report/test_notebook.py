"""Cards inside a notebook: style sheets that style every table and list must not reach them."""

import numpy as np
import pytest

from pellucid.app.notebook import FRAME, framed
from pellucid.linear_model import LogisticRegression
from pellucid.report import conclusion, notebook_card, wording
from tests.report import sample
from tests.report.test_html import Page, hostile

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
    head = "<meta charset=utf-8><meta name=viewport content='width=device-width'>"
    path.write_text(f"<!doctype html>{head}{text}", "utf-8")
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


# The result of a comparison -------------------------------------------------------------------


def test_the_result_tells_answer_test_score_warnings_and_board():
    data = sample.classification()
    page = Page(notebook_card.card(data, {"openings": 2}))
    metric = data["plan"]["metric"]
    told = page.words
    assert conclusion.answer(data)[0] in told
    assert wording.score(data["test"]["metrics"][metric], metric) in told
    assert wording.interval(data["test"]["intervals"][metric], metric) in told
    assert "used 2 times: treat the score as optimistic" in told
    assert "Check for target leakage (D011): one column alone gives the answer away." in told
    assert "D008 26 pairs" in told and "D003" not in told, "warnings, not notes"
    assert page.titles == ["ROC AUC of each model"]
    assert all(f"{row['title']} {row['model']}" in told for row in data["leaderboard"])
    assert "failed the solver did not start" in told


@pytest.mark.parametrize(("change", "said"), [
    ({"test": None}, "not used yet"),
    ({"test": {"failed": "no memory", "model": "tree"}}, "tree could not be fitted: no memory"),
    ({"complete": False, "test": None}, "partial: stopped early"),
    ({"checks": []}, "no warnings"),
])  # fmt: skip
def test_a_result_that_lacks_something_says_so(change, said):
    assert said in Page(notebook_card.card({**sample.classification(), **change}, {})).words


def test_a_test_score_that_disagrees_is_a_warning():
    data = sample.classification()
    data["test"]["agrees"] = False
    page = notebook_card.card(data, {})
    assert '<p class="pl-warn">The test score disagrees with cross-validation' in page


def test_names_of_a_hostile_table_stay_text():
    data = hostile()
    page = Page(notebook_card.card(data, {}))
    assert not page.scripts and "img" not in page.tags
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]


@pytest.mark.parametrize("width", [360, 900])
def test_the_result_fits_into_the_cell(browser, tmp_path, width):
    browser.open(page(tmp_path, notebook_card.card(sample.classification(), {})), width=width)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert not browser.complaints


def test_progress_stands_in_a_frame_of_its_own():
    """A notebook indents a bare preformatted block and wraps its lines."""
    assert framed("a <b>\n") == FRAME.format("a &lt;b&gt;\n")
    assert FRAME.startswith("<div") and "white-space:pre" in FRAME
