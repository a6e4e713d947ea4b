"""From a table to the page: a real comparison gives a full report."""

import json

import numpy as np
import pyarrow as pa
import pytest

from pellucid.comparison import compare
from tests.report.test_html import HOSTILE, SECTIONS, Page

pytestmark = pytest.mark.slow
SECRET = np.random.default_rng(1).uniform(1e5, 9e5, 90)


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    table = pa.table({
        HOSTILE[0]: rng.normal(2.0 * y, 1.0),
        HOSTILE[1]: rng.choice(["<b>secret level</b>", "ok"], 90),
        "plain": SECRET,
        "answer": np.where(y == 1, "<i>yes</i>", "no"),
    })  # fmt: skip
    return compare(table, "answer", models=["logistic", "tree"], cv=3, effort="quick")


def test_a_real_report_is_whole_and_safe(result, tmp_path, browser):
    path = result.report(tmp_path / "report.html")
    text = path.read_text("utf-8")
    page = Page(text)
    assert len(text) < 600_000
    assert [v for v in SECRET if f"{v:.0f}" in text], "what the next test looks for is here"
    assert all(section in page.words for section in SECTIONS)
    assert "Nothing to show here" not in text
    assert page.scripts.count("javascript") == 1
    assert HOSTILE[0] in page.words and "<i>yes</i>" in page.words
    for title in ("ROC curve", "Calibration", "Test set and cross-validation",
                  "Permutation importance", "Decision tree"):  # fmt: skip
        assert title in page.titles, title
    browser.open(path, width=360)
    assert not browser.complaints
    assert not [u for u in browser.requests if not u.startswith(("file:", "data:"))]


def test_a_real_report_without_rows_has_no_cell(result, tmp_path):
    text = result.report(tmp_path / "report.html", rows=False).read_text("utf-8")
    assert "secret level" not in text
    assert not [v for v in SECRET if f"{v:.0f}" in text]
    assert "Written with --no-rows" in text
    summary = json.loads(result.report(tmp_path / "r.json", rows=False).read_text("utf-8"))
    assert "secret level" not in json.dumps(summary)
    assert not [v for v in SECRET if f"{v:.3f}"[:-1] in json.dumps(summary)]
