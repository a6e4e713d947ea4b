"""The report in a browser: nothing is asked for, nothing complains, everything works."""

import base64
import re

import pytest

from pellucid.report import wording
from pellucid.report.write_report import write_summary
from tests.report import sample
from tests.report.test_html import hostile

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "two": sample.classification(),
        "numbers": sample.regression(),
        "hostile": hostile(),
    }
    for name, summary in made.items():
        write_summary(summary, folder / f"{name}.html")
    return folder


def asked_for(browser):
    return [url for url in browser.requests if not url.startswith(("file:", "data:"))]


@pytest.mark.parametrize("name", ["two", "numbers", "hostile"])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_quiet_complete_and_inside_the_window(browser, pages, name, width, dark):
    browser.open(pages / f"{name}.html", width=width, dark=dark)
    assert not asked_for(browser) and not browser.complaints
    assert browser.ask("document.documentElement.scrollWidth") <= width
    empty = (
        "[...document.querySelectorAll('details')].forEach(d => d.open = true);"
        "[...document.querySelectorAll('svg')]"
        ".filter(s => s.checkVisibility() && s.getBoundingClientRect().width < 50).length"
    )
    assert browser.ask(empty) == 0
    hidden = "[...document.querySelectorAll('svg')].filter(s => !s.checkVisibility())"
    assert browser.ask(f"{hidden}.length") == 1, "the board in the other width"
    other = "small" if width > 768 else "broad"
    assert browser.ask(f"{hidden}[0].closest('div').className") == other
    assert browser.ask("document.querySelector('#board .scroll').scrollWidth") <= max(width, 720)
    assert browser.ask("document.documentElement.scrollWidth") <= width, "with everything open"
    assert browser.ask("typeof window.hacked") == "undefined"


def brightness(browser, what):
    text = browser.ask(f"getComputedStyle(document.body).{what}")
    return sum(int(part) for part in text.strip("rgba()").split(",")[:3]) / 765


def test_dark_pages_are_dark_and_readable(browser, pages):
    browser.open(pages / "two.html", dark=True)
    assert brightness(browser, "backgroundColor") < 0.2 < 0.8 < brightness(browser, "color")
    browser.open(pages / "two.html")
    assert brightness(browser, "color") < 0.2 < 0.8 < brightness(browser, "backgroundColor")


def test_without_javascript_all_is_there_but_the_controls(browser, pages):
    browser.open(pages / "two.html")
    charts = browser.ask("document.querySelectorAll('svg').length")
    assert browser.ask("document.querySelectorAll('.js[hidden]').length") == 0
    browser.open(pages / "two.html", scripts=False)
    found = browser.call("DOM.getDocument", depth=1)["root"]["nodeId"]
    svg = browser.call("DOM.querySelectorAll", nodeId=found, selector="svg")["nodeIds"]
    hidden = browser.call("DOM.querySelectorAll", nodeId=found, selector=".js:not([hidden])")
    shown = browser.call("DOM.querySelectorAll", nodeId=found, selector=".js[hidden]")["nodeIds"]
    assert len(svg) == charts > 100
    assert not hidden["nodeIds"] and shown
    assert not browser.complaints and not asked_for(browser)


def test_a_table_sorts_by_values_both_ways(browser, pages):
    browser.open(pages / "two.html")
    column = "[...document.querySelectorAll('.board tbody tr')].map(r => +r.cells[2].dataset.v)"
    head = "document.querySelectorAll('.board thead th')[2]"
    browser.ask(f"{head}.querySelector('button').click()")
    values = browser.ask(column)
    assert values == sorted(values) and len(set(values)) > 10
    assert browser.ask(f"{head}.getAttribute('aria-sort')") == "ascending"
    browser.ask(f"{head}.querySelector('button').click()")
    assert browser.ask(column) == values[::-1]


def test_the_threshold_slider_counts_and_finds_the_cheapest(browser, pages):
    browser.open(pages / "two.html")
    box = "document.querySelector('.threshold')"
    rows = sample.classification()["cards"]["logistic"]["thresholds"]["rows"]
    cut, tp, fp, fn, _ = rows[40]
    said = browser.ask(
        f"{box}.querySelector('.cut').value = 40;"
        f"{box}.querySelector('.cut').dispatchEvent(new Event('input', {{bubbles: true}}));"
        f"{box}.querySelector('output').textContent + ' ' + {box}.querySelector('.found').textContent"
    )
    assert said.startswith(f"{cut:.3f} Recall ")
    assert f"({tp} of {tp + fn}; false negatives: {fn})" in said
    assert f"(false positives: {fp})" in said and f"Cost {fp + fn}." in said
    said = browser.ask(
        f"{box}.querySelector('.cost-fn').value = 50; {box}.querySelector('.cheapest').click();"
        f"{box}.querySelector('.found').textContent"
    )
    assert f"Cost {min(row[2] + 50 * row[3] for row in rows):,}." in said


COUNTS = "[...{}.querySelectorAll('.confusion td b')].map(b => +b.textContent.replace(',', ''))"


def test_matrix_and_rings_follow_the_slider(browser, pages):
    browser.open(pages / "two.html")
    card = "document.querySelector('#models .card')"
    rows = sample.classification()["cards"]["logistic"]["thresholds"]["rows"]
    counts = COUNTS.format(card)
    before = browser.ask(counts)
    told = [n for row in sample.classification()["cards"]["logistic"]["confusion"]["counts"]
            for n in row]  # fmt: skip
    assert before == told, "the model's own decision until the slider is moved"
    cut, tp, fp, fn, tn = rows[40]
    browser.ask(
        f"{card}.querySelector('.cut').value = 40;"
        f"{card}.querySelector('.cut').dispatchEvent(new Event('input'))"
    )
    assert browser.ask(counts) == [tn, fp, fn, tp] != before
    assert browser.ask(f"{card}.querySelector('.at').textContent") == f" at threshold {cut:.3f}"
    share = f"{card}.querySelectorAll('.confusion td span')[3].textContent"
    assert browser.ask(share) == wording.percent(tp / (tp + fn))
    for kind, x, y in (
        ("roc", fp / (fp + tn), tp / (tp + fn)),
        ("pr", tp / (tp + fn), tp / (tp + fp)),
    ):
        ring = f"{card}.querySelector('.curve-{kind} .pl-ring')"
        at = browser.ask(f"[+{ring}.getAttribute('cx') / {ring}.dataset.width,"
                         f"1 - {ring}.getAttribute('cy') / {ring}.dataset.height]")  # fmt: skip
        assert at == pytest.approx([x, y], abs=1e-3)
    others = "document.querySelectorAll('#models .card')[1]"
    assert browser.ask(f"{others}.querySelector('.at').textContent") == "", "the other cards stay"
    browser.ask(
        f"{card}.querySelector('.cost-fn').value = 50;{card}.querySelector('.cheapest').click()"
    )
    best = min(rows, key=lambda row: row[2] + 50 * row[3])
    assert browser.ask(counts) == [best[4], best[2], best[3], best[1]]


def test_without_javascript_the_rings_mark_the_default_threshold(pages):
    page = (pages / "two.html").read_text("utf-8")
    rows = sample.classification()["cards"]["logistic"]["thresholds"]["rows"]
    _, tp, fp, fn, tn = next(row for row in rows if row[0] >= 0.5)
    ring = re.search(r'<div class="curve-roc">.*?(<circle[^>]*>)', page, re.S).group(1)
    at = {key: float(v) for key, v in re.findall(r'([\w-]+)="([\d.]+)"', ring)}
    assert at["cx"] / at["data-width"] == pytest.approx(fp / (fp + tn), abs=1e-3)
    assert 1 - at["cy"] / at["data-height"] == pytest.approx(tp / (tp + fn), abs=1e-3)


def test_the_search_covers_all_training_rows(browser, pages):
    browser.open(pages / "two.html")
    found = (
        "[...document.querySelectorAll('#row-found tbody tr')]"
        ".map(r => [...r.cells].map(c => c.textContent))"
    )
    search = "document.getElementById('row-search')"
    status = "document.getElementById('row-count').textContent"
    known = sample.classification()["rows"]["all"]
    names = ["benign", "malignant"]

    def type_in(text):
        browser.ask(f"{search}.value = '{text}'; {search}.dispatchEvent(new Event('input'))")

    type_in("333")
    (row,) = browser.ask(found)
    k = known["row"].index(333)
    assert row == [
        "333",
        names[known["actual"][k]],
        names[known["predicted"][k]],
        f"{known['p'][k]:.3f}",
    ]
    assert browser.ask(status).startswith("1 of 455 rows match")
    type_in("malignant")
    wanted = sum(1 in pair for pair in zip(known["actual"], known["predicted"], strict=True))
    assert browser.ask(status).startswith(f"{wanted} of 455 rows match")
    assert len(browser.ask(found)) == 100
    browser.ask("document.getElementById('row-all').click()")
    assert browser.ask("document.getElementById('row-found').hidden") and browser.ask(status) == ""
    card = "document.querySelector('#models .card')"
    rows = sample.classification()["cards"]["logistic"]["thresholds"]["rows"]
    browser.ask(
        f"{card}.querySelector('.cut').value = 150;"
        f"{card}.querySelector('.cut').dispatchEvent(new Event('input'));"
        "document.querySelectorAll('td[data-actual]')[3].click()"
    )
    cut = rows[150][0]
    wanted = sum(a == 1 and p >= cut for a, p in zip(known["actual"], known["p"], strict=True))
    assert browser.ask(status).startswith(
        f"{wanted} of 455 rows: actual malignant, predicted malignant at"
    )
    assert {row[2] for row in browser.ask(found)} == {"malignant"} and not browser.complaints


def test_rows_are_found_by_number_by_text_and_by_confusion(browser, pages):
    browser.open(pages / "two.html")
    shown = "[...document.querySelectorAll('.row')].filter(r => !r.hidden).map(r => r.dataset.row)"
    search = "document.getElementById('row-search')"

    def type_in(text):
        browser.ask(f"{search}.value = '{text}'; {search}.dispatchEvent(new Event('input'))")

    type_in("101")
    assert "101" in browser.ask(shown) and len(browser.ask(shown)) < 12
    type_in("no such cell")
    assert browser.ask(shown) == []
    browser.ask("document.getElementById('row-all').click()")
    assert len(browser.ask(shown)) == 12
    browser.ask("document.querySelectorAll('td[data-actual]')[1].click()")
    rows = [r for g in sample.classification()["rows"]["groups"] for r in g["rows"]]
    wanted = [str(r["row"]) for r in rows
              if (r["actual"], r["predicted"]) == ("benign", "malignant")]  # fmt: skip
    assert browser.ask(shown) == wanted and wanted


def test_the_width_of_the_same_changes_the_table_of_pairs(browser, pages):
    browser.open(pages / "two.html")
    cell = "document.querySelector('.pairs tbody tr').querySelectorAll('td')[1].textContent"
    before = browser.ask(cell)
    slide = (
        "document.querySelector('.rope').value = 2;"
        "document.querySelector('.rope').dispatchEvent(new Event('input'))"
    )
    browser.ask(slide)
    assert before == "53 %" and browser.ask(cell) == "30 %"
    assert "0.01" in browser.ask("document.querySelector('.pairs-caption').textContent")


def sheets(browser):
    """Pages of the PDF."""
    made = base64.b64decode(browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    return len(re.findall(rb"/Type\s*/Page\b", made))


def test_paper_shows_what_is_open_and_no_controls(browser, pages):
    """A handful of pages about the recommended model; all cards for those who open them."""
    browser.open(pages / "two.html", media="print")
    hidden = "[...document.querySelectorAll('nav, .js, p button')].every(n => n.offsetHeight === 0)"
    assert browser.ask(hidden)
    assert browser.ask("document.querySelector('.board th:nth-child(2)').innerText") == "model"
    cards = "[...document.querySelectorAll('#models > .card')].map(c => c.offsetHeight > 50)"
    n = len(browser.ask(cards))
    assert browser.ask(cards) == [True] + [False] * (n - 1)
    assert browser.ask("document.querySelector('#models .card .tag').textContent") == "recommended"
    assert browser.ask("document.querySelector('#models .paper').offsetHeight") > 0
    groups = "[...document.querySelectorAll('.group')].map(g => g.offsetHeight > 0)"
    assert browser.ask(groups).count(True) == 1, "no head without rows"
    assert browser.ask("document.querySelector('.threshold').offsetHeight") == 0, "a bare head"
    few = sheets(browser)
    assert few <= 9
    browser.ask("document.querySelector('#models .open-all').click()")
    assert browser.ask(cards) == [True] * n and sheets(browser) > few + 5
    browser.ask("document.querySelector('#models .open-all').click()")
    assert browser.ask(cards) == [False] * n


def test_the_keyboard_reaches_controls_and_details(browser, pages):
    browser.open(pages / "two.html")
    reach = (
        "[...document.querySelectorAll('summary, input, button, a[href], td[data-actual]')]"
        ".filter(n => n.tabIndex < 0).length"
    )
    assert browser.ask(reach) == 0
    assert browser.ask("document.querySelectorAll('td[data-actual][tabindex]').length") == 4


def test_cells_of_pairs_stay_on_one_line_and_trees_fit(browser, pages):
    browser.open(pages / "two.html", width=1280)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    heights = "[...document.querySelectorAll('.grid td')].map(c => c.offsetHeight)"
    assert max(browser.ask(heights)) < 30
    beyond = "[...document.querySelectorAll('.tree')].map(t => t.scrollWidth - t.clientWidth)"
    assert set(browser.ask(beyond)) == {0}
    browser.open(pages / "two.html", width=360)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert max(browser.ask(heights)) < 30
    wide = "Math.min(...[...document.querySelectorAll('.tree svg')].map(s => s.clientWidth))"
    assert browser.ask(wide) > 500, "a telephone scrolls a tree; it does not shrink it to nothing"
