"""The report as a file: its sections and charts, its size, its safety, and what it leaves out."""

import base64
import copy
import hashlib
import re
from html.parser import HTMLParser

import pytest

from pellucid.report import (
    conclusion,
    html,
    markdown,
    model_pictures,
    pictures,
    sections,
    terminal,
    wording,
)
from pellucid.report.privacy import without_rows
from pellucid.report.tree_picture import tree
from pellucid.report.write_report import write_summary
from tests.report import sample

SECTIONS = [
    "Answer", "Data", "Leaderboard", "Models", "Decision regions",
    "Rows", "Test set", "Reproducibility",
]  # fmt: skip
HOSTILE = [
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "</script><svg onload=window.hacked=1>",
    "{{ 7 * 7 }} {% raise %}",
    "x" * 10_000,
    "שלום \u202eevil\u202c مرحبا",
    "🐧🏴‍☠️ 'quotes' & \"more\"",
    "\x00\x1b[31m\ud800 control",
]


class Page(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.titles = [], [], [], []
        self.scripts, self._inside = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._inside = tag
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attributes]
        if tag == "script":
            self.scripts.append(dict(attributes).get("type", "javascript"))
        if tag == "svg" and dict(attributes).get("aria-label"):
            self.titles.append(dict(attributes)["aria-label"])

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def two():
    return sample.classification()


@pytest.fixture(scope="module")
def two_page(two):
    return html.render(two)


def hostile():
    """Every text that comes from a table is an attack."""
    classes = tuple(HOSTILE[:4])
    summary = sample.classification(classes, columns=list(HOSTILE), models=("logistic", "majority"))
    summary["title"] = summary["data"]["name"] = summary["data"]["target"] = HOSTILE[0]
    summary["checks"][0] |= {"text": HOSTILE[1], "action": HOSTILE[2]}
    summary["leaderboard"][-1]["reason"] = HOSTILE[1]
    summary["leaderboard"][0]["notes"] = list(HOSTILE)
    summary["answer"] = list(HOSTILE)
    summary["reproduce"] |= {"command": HOSTILE[2], "config": HOSTILE[2], "limits": list(HOSTILE)}
    for group in summary["rows"]["groups"]:
        for row in group["rows"]:
            row["cells"] = list(HOSTILE)
    for column in summary["data"]["columns"]:
        if "levels" in column:
            column["levels"] = [{"label": text, "rows": 1} for text in HOSTILE]
    return summary


# Content --------------------------------------------------------------------------------------


@pytest.mark.parametrize("summary", [
    sample.classification(), sample.classification(("a", "b", "c")), sample.regression(),
], ids=["two classes", "three classes", "numbers"])  # fmt: skip
def test_all_sections_are_there_and_full(summary):
    page = html.render(summary)
    heads = re.findall(r'<h2 id="\w+-title"><span class="step">(\d)</span> (.*?)</h2>', page)
    names = list(SECTIONS)
    if summary["data"]["task"] == "regression":
        names[4] = "Prediction maps"
    assert heads == [(str(k), text) for k, text in enumerate(names, 1)]
    assert "nothing to show here" not in page
    assert "Answer" in page and summary["answer"][1] in Page(page).words


def test_every_chart_of_a_classifier(two, two_page):
    titles = Page(two_page).titles
    scored = [row["model"] for row in two["leaderboard"] if row["place"]]
    for title in ("ROC curve", "Precision-recall curve", "Calibration",
                  "Predicted probabilities by actual class", "Hyperparameter search"):  # fmt: skip
        assert titles.count(title) == len(scored), title
    assert titles.count("ROC AUC of each model") == 2, "for wide and for narrow windows"
    for title in ("Score by fit time", "Score by prediction time",
                  "Learning curve", "Coefficients for malignant", "Objective"):  # fmt: skip
        assert titles.count(title) == 1, title
    assert titles.count("Test set and cross-validation") == 2, "in the answer and in its section"
    assert titles.count("Permutation importance") == len(scored) - 1, "all but the baseline"
    assert titles.count("Decision tree") == 3, "two trees, and the regions of the model"
    named = {row["model"]: row["title"] for row in two["leaderboard"]}
    assert all(named[model] in titles for model in scored), "decision regions"
    assert sum(title.startswith("Contributions for row") for title in titles) == 12
    assert all(column in titles for column in two["data"]["features"])


def test_every_chart_of_a_regressor():
    titles = Page(html.render(sample.regression())).titles
    for title in (
        "Observed against fitted",
        "Residuals against fitted",
        "Normal Q-Q",
        "Scale-location",
        "RMSE of each model",
        "Test set and cross-validation",
        "Ridge regression",
    ):
        assert title in titles, title


def test_every_model_asked_for_is_listed(two, two_page):
    text = Page(two_page).words
    for row in two["leaderboard"]:
        assert row["title"] in text and row["model"] in text
    assert "L1-penalised logistic regression failed: the solver did not start" in text


def test_what_cannot_be_computed_is_not_zero(two):
    summary = copy.deepcopy(two)
    row = summary["leaderboard"][1]
    row["metrics"]["log_loss"], row["ci"], row["fit_seconds"] = None, [None, None], None
    board = re.search(r'<table class="sortable board">.*?</table>', html.render(summary), re.S)
    second = re.findall(r"<tr.*?</tr>", board.group(0), re.S)[2]
    assert second.count("n/a") == 3


def test_marks_of_ties_are_explained_where_they_stand(two):
    """p is that of one comparison: 0.04 and as good want a word, in table, cards and Markdown."""
    summary = copy.deepcopy(two)
    for row in summary["leaderboard"]:
        row["p"] = row["p_holm"] = 0.2
    assert conclusion.STARRED not in html.render(summary)
    summary["leaderboard"][2]["p"] = 0.04
    text = Page(html.render(summary)).words
    assert text.count("as good, p = 0.04*") == 2, "in the table and on the card"
    assert text.count(conclusion.STARRED) == 2
    summary["plan"]["repeats"], summary["recommended"] = 1, summary["verdict"]["recommended"]
    told = markdown.board(summary, {})
    assert "as good, p = 0.04\\* |" in told and conclusion.STARRED in told


def test_a_far_baseline_does_not_squeeze_the_others(two_page):
    assert "Not shown: the baseline (majority class, 0.500)." in Page(two_page).words


def test_a_run_that_was_stopped(two):
    summary = copy.deepcopy(two)
    summary |= {"complete": False, "test": None, "rows": None, "regions": None, "pairwise": None,
                "cards": {}, "learned": {}}  # fmt: skip
    text = Page(html.render(summary)).words
    assert "Partial results:" in text and "has not been used" in text
    assert text.count("This comparison has nothing to show here.") == 3


def test_no_model_has_a_score(two):
    summary = copy.deepcopy(two)
    for row in summary["leaderboard"]:
        for key in ("mean", "ci", "p", "metrics", "folds"):
            row.pop(key, None)
        row |= {"place": None, "as_good": False, "recommended": False, "status": "failed",
                "reason": "no memory"}  # fmt: skip
    summary["verdict"] |= {"as_good": [], "scored": 0, "recommended": None, "beats_baseline": False}
    summary |= {"cards": {}, "learned": {}, "pairwise": None, "test": None, "regions": None,
                "rows": None, "answer": conclusion.answer(summary)}  # fmt: skip
    text = Page(html.render(summary)).words
    assert text.count("no memory") == len(summary["leaderboard"])
    assert "No model has a score" in text


def _joined(lines):
    return " ".join(" ".join(lines).split())


def test_a_test_set_that_failed_or_was_used_often(two):
    summary = copy.deepcopy(two)
    summary["test"]["openings"] = 3
    assert "used this test set 3 times: treat this score as optimistic" in html.render(summary)
    summary["test"]["agrees"] = False
    own = next(row for row in summary["leaderboard"] if row["model"] == summary["test"]["model"])
    for value, word in ((own["mean"] - 0.2, "worse"), (own["mean"] + 0.2, "better")):
        summary["test"]["metrics"][summary["plan"]["metric"]] = value
        said = f"disagrees with cross-validation: it is {word} by more than the uncertainty of both"
        assert f"The test score {said}" in Page(html.render(summary)).words
        assert f"! The test score {said}" in _joined(terminal.test_set(summary, {}))
    summary["test"] = {"model": "logistic", "failed": "it took too long"}
    assert "it took too long" in html.render(summary)


@pytest.mark.parametrize(("value", "said"), [
    (0.985, "The test score agrees with cross-validation."),
    (0.90, "The test score is worse than cross-validation predicted"),
    (0.999, "The test score is better than cross-validation predicted"),
])  # fmt: skip
def test_a_test_score_outside_the_interval_of_the_folds_is_told(two, value, said):
    """Overlapping intervals alone do not make a test score agree with cross-validation."""
    summary = copy.deepcopy(two)
    metric, own = summary["plan"]["metric"], summary["leaderboard"][0]
    own["ci"], summary["test"]["metrics"][metric] = [0.97, 0.99], value
    summary["test"]["intervals"][metric] = [0.80, 1.0]
    assert said in Page(html.render(summary)).words
    loss = {**summary, "plan": {**summary["plan"], "greater_is_better": False}}
    turned = {"yes": "yes", "better": "worse", "worse": "better"}
    assert wording.agreement(loss) == turned[wording.agreement(summary)]
    lines = terminal.test_set(summary, {})
    mark = "! " if wording.agreement(summary) == "worse" else ""
    assert f"{mark}{said}" in _joined(lines)
    assert max(map(len, lines)) <= 100


def test_the_recommended_model_stands_first(two):
    summary = copy.deepcopy(two)
    for k, row in enumerate(summary["leaderboard"]):
        row["recommended"] = k == 3
    summary["verdict"]["recommended"] = summary["leaderboard"][3]["model"]
    title = summary["leaderboard"][3]["title"]
    page = html.render(summary)
    part = page.partition('<section id="models"')[2]
    assert re.search(r'<details class="card" open>\n<summary><b><bdi>(.*?)</', part)[1] == title
    assert part.index("<details") == part.index('<details class="card" open>')
    regions = page.partition('<section id="regions"')[2].partition("</section>")[0]
    shown, closed = regions.split("more models</summary>")
    assert Page(shown).titles[0] == title and len(Page(shown).titles) == 6
    assert len(Page(closed).titles) == len(summary["regions"]["models"]) - 6


def test_the_search_says_how_many_searches_there_were(two, two_page):
    tried = two["cards"]["logistic"]["search"]
    often = max(c["chosen"] for c in tried["candidates"])
    said = f"{often}×: chosen in {often} of {tried['rounds']} searches"
    assert said in Page(two_page).words


def test_why_a_row_names_its_values(two):
    row = {**two["rows"]["groups"][0]["rows"][0], "cells": ["17.5", None, "x" * 40, "4", "5"]}
    columns = two["rows"]["columns"]
    row["contributions"] = [[name, 1.0] for name in (*columns[:3], "<gone>")]
    picture = str(pictures.contributions(row, columns))
    assert f"{columns[0]} = 17.5" in picture and f"{columns[1]} missing" in picture
    assert "= xxxxxxxxx…" in picture and "&lt;gone&gt;" in picture


def test_a_row_says_what_would_change_its_prediction(two, two_page):
    before = two["rows"]["groups"][0]["rows"][0]["changes"]["before"]
    after = two["rows"]["groups"][0]["rows"][0]["changes"]["found"][0]["prediction"]
    words = Page(two_page).words
    assert words.count("What would change this answer?") == 6
    assert f"the model predicts {before} for this row." in words
    assert (
        "mean radius 18.5 instead of 17.25 and mean texture 3 instead of missing: " + after in words
    )
    assert "What would change" not in html.render(without_rows(two))
    words = Page(html.render(sample.regression())).words
    assert (
        "makes it predict below 21.25, the median of the training rows." in words
        and "No change of one or two features" in words
    )


def test_the_replay_is_linked_where_it_lies_beside_the_report(tmp_path):
    summary = sample.classification(models=("logistic", "majority")) | {"replay": 12}
    page = tmp_path / "report.html"

    def links(**how):
        return write_summary(summary, page, **how).read_text().count('href="replay.html"')

    assert links() == 0, "there is no such file"
    (tmp_path / "replay.html").write_text("")
    assert links() == 1 and "in 12 steps" in Page(page.read_text()).words
    assert links(rows=False) == 0, "it shows rows"


def test_means_of_few_rows_say_how_few():
    shape = {"kind": "means", "labels": ["4", "5"], "means": [2.0, 9.0], "rows": [40, 1]}
    told = str(pictures.column({"name": "cars", "by_target": shape}, "price"))
    assert ">5 (1)</text>" in told and ">4</text>" in told and "number of rows if" in told
    shape["rows"] = [40, 10]
    assert "(10)" not in (told := str(pictures.column({"name": "cars", "by_target": shape}, "y")))
    assert "In brackets" not in told


def test_columns_that_change_nothing_are_counted_not_drawn():
    found = {"columns": list("abcd"), "values": [0.0, 0.3, 0.0, -0.01],
             "low": [0.0, 0.2, 0.0, -0.02], "high": [0.0, 0.4, 0.01, 0.0]}  # fmt: skip
    picture = str(model_pictures.importances(found, False))
    assert "The other 1 change" not in picture
    assert [name for name in "abcd" if f">{name}</text>" in picture] == ["b", "c", "d"]
    assert "The other one is zero." in picture


def test_columns_that_say_the_same_are_named_beside_the_importances(two, two_page):
    assert "strongly correlated with others ( mean radius, mean texture )" in Page(two_page).words
    calm = copy.deepcopy(two)
    calm["checks"] = []
    assert "strongly correlated with others" not in Page(html.render(calm)).words


def test_equal_summaries_give_equal_bytes(two, two_page):
    assert html.render(copy.deepcopy(two)) == two_page


# Safety ---------------------------------------------------------------------------------------


def test_nothing_refers_to_the_network(two_page):
    without_names = two_page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(https?:)?//[\w.-]+\.\w+", without_names)
    assert not re.search(r"@import|url\((?!#)", two_page)
    page = Page(two_page)
    links = [v for _, key, v in page.attributes if key in ("src", "href", "action", "data")]
    assert links and all(v.startswith(("#", "data:image/png;base64,")) for v in links)
    assert not {"link", "iframe", "object", "embed", "base", "form", "img"} & set(page.tags)
    assert "It works offline, loads nothing and sends nothing" in page.words


def test_the_policy_allows_our_style_and_script_alone(two_page):
    policy = dict(
        part.split(" ", 1)
        for part in re.search(r'Policy" content="(.*?)"', two_page)[1]
        .replace("&#39;", "'")
        .split("; ")
    )
    assert policy["default-src"] == "'none'" and policy["img-src"] == "data:"
    for kind, pattern in (
        ("style", r"<style>(.*?)</style>"),
        ("script", r"<script>(.*?)</script>"),
    ):
        found = re.findall(pattern, two_page, re.S)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert policy[f"{kind}-src"] == f"'sha256-{digest}'"
    assert not [a for a in Page(two_page).attributes if a[1] == "style" or a[1].startswith("on")]


def test_hostile_texts_are_shown_as_text():
    text = html.render(hostile())
    page = Page(text)
    assert page.scripts.count("javascript") == 1
    assert not {"img", "iframe"} & set(page.tags)
    assert not [a for a in page.attributes if a[1].startswith("on") or a[1] == "style"]
    for attack in HOSTILE[:4]:
        assert attack in page.words
    assert "🐧" in text and "שלום" in text
    assert "\u202e" not in text and "\x00" not in text and "\x1b" not in text
    assert "x" * 601 not in text and "x" * 100 in text
    text.encode("utf-8")


def test_the_script_is_a_few_kilobytes():
    assert len((html.ROOT / "report.js").read_bytes()) < 12_000


# Size -----------------------------------------------------------------------------------------


def test_ordinary_data_stay_below_one_megabyte():
    columns = [f"measurement number {k}" for k in range(30)]
    page = html.render(sample.classification(columns=columns))
    assert 300_000 < html.size(page) <= html.TARGET
    assert html.size(html.render(sample.regression())) < 300_000


@pytest.mark.slow
def test_large_comparisons_say_what_they_leave_out():
    columns = [f"column {k} {'long name ' * 8}" for k in range(1200)]
    classes = tuple(f"class {k}" for k in range(12))
    models = tuple(f"model_{k}" for k in range(80))
    summary = sample.classification(classes, columns, models=models)
    page = html.render(summary)
    assert html.size(page) <= html.CAP
    text = Page(page).words
    assert "To keep this file below 3 MB" in text
    assert all(f"model_{k}" in text for k in range(80)), "no row of the board is lost"


@pytest.mark.parametrize("cap", [120_000, 140_000, 170_000])
def test_the_cap_holds_and_what_is_left_out_is_said(monkeypatch, cap):
    monkeypatch.setattr(html, "TARGET", cap // 3)
    monkeypatch.setattr(html, "CAP", cap)
    columns = [f"column {k}" for k in range(250)]
    summary = sample.classification(columns=columns, models=sample.MODELS[-3:])
    page = html.render(summary)
    assert html.size(page) <= cap
    text = Page(page).words
    assert "To keep this file below 3 MB" in text
    assert f"{250 - sections.MOST_COLUMNS} more features not listed" in text
    assert all(row["model"] in text for row in summary["leaderboard"])


def test_each_step_of_the_ladder_gives_a_smaller_page():
    summary = sample.classification(columns=[f"x{k}" for k in range(30)], models=sample.MODELS[-4:])
    plane = sections.regions(summary)
    steps = (*html.GENTLE, *html.HARSH)
    sizes = [html.size(html._page(summary, detail, plane)) for detail in steps]
    assert sizes == sorted(sizes, reverse=True) and len(set(sizes)) == len(sizes)


# Without rows ---------------------------------------------------------------------------------


def secrets(summary):
    """Values that only the table holds."""
    cells = [c for g in summary["rows"]["groups"] for r in g["rows"] for c in r["cells"]]
    return {*cells, "Torgersen", "Biscoe", "Dream", "14.12", "14.123"}


@pytest.mark.parametrize("make", [sample.classification, sample.regression])
def test_no_rows_means_no_cell(make):
    summary = make()
    hidden = secrets(summary)
    for model in summary["learned"].values():
        for node in (model["tree"] or {}).get("nodes", []):
            node["test"] = node["test"] and f"{node['column']} in {{Dream}}"
    for column in summary["data"]["columns"]:
        column["kind"] = "categorical"
    before = copy.deepcopy(summary)
    page = html.render(without_rows(summary))
    found = [secret for secret in hidden if re.search(rf"\b{re.escape(secret)}\b", page)]
    assert not found
    assert summary == before, "the summary itself is not changed"
    text = Page(page).words
    assert "Written with --no-rows" in text
    assert text.count("Left out: this report was written with --no-rows.") == 2
    assert not re.search(r"Predicted and actual|Why row", page)
    for kept in summary["data"]["features"]:
        assert kept in text


def test_no_rows_twice_is_no_rows_once():
    once = without_rows(sample.regression())
    assert without_rows(copy.deepcopy(once)) == once


# Pieces ---------------------------------------------------------------------------------------


def test_a_tree_is_drawn_as_far_as_there_is_room():
    found = {**sample.tree(["age", "income"], ["a", "b"], depth=7), "row": 17, "way": [0, 1, 4, 9]}
    page = str(tree(found, ["a", "b"]))
    assert page.count("<rect") == 31 and "48 splits below the last column not shown" in page
    assert "Bold: path of row 17." in page and page.count('stroke-width="2.5"') == 4
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', page).groups())
    assert width < 1400 and height < 1000
    assert "Bold" not in str(tree({**found, "way": []}, ["a", "b"]))


def test_bars_of_a_tree_of_numbers_go_from_its_lowest_to_its_highest_mean():
    def node(i, value, **more):
        return {"id": i, "rows": 10, "value": [value], "label": None, "left": None, **more}

    nodes = [node(0, 2.0, left=1, right=2, test="age <= 3"), node(1, 1.0), node(2, 3.0)]
    shares = [box.shares for box in _boxes({"nodes": nodes, "depth": 1})]
    assert shares == [(0.5,), (0.0,), (1.0,)]


def _boxes(found):
    from pellucid.report import tree_picture

    nodes = {n["id"]: n for n in found["nodes"]}
    places = {i: i for i in nodes}
    ends = [n["value"][0] for n in nodes.values()]
    return [tree_picture._box(n, nodes, places, [], ends) for n in nodes.values()]


def test_a_tree_of_one_leaf():
    found = {
        "nodes": [{"id": 0, "rows": 10, "value": [1.5], "label": None, "left": None}],
        "depth": 0,
    }
    assert "1.5" in str(tree(found, []))


def test_shares_never_claim_certainty():
    shown = [wording.percent(p) for p in (0, 0.001, 0.5, 0.999, 1, None)]
    assert shown == ["0 %", "<1 %", "50 %", ">99 %", "100 %", ""]


def test_times_and_p_values_read_well():
    assert [wording.seconds(s) for s in (0.0012, 0.05, 3, 45, 600, None)] == [
        "1.2 ms", "50 ms", "3.00 s", "45 s", "10 min", "n/a",
    ]  # fmt: skip
    assert [wording.p_value(p) for p in (0.0001, 0.004, 0.04, None)] == [
        "p < 0.001", "p = 0.004", "p = 0.04", "",
    ]  # fmt: skip


def test_the_answer_says_when_nothing_beats_the_baseline(two):
    summary = copy.deepcopy(two)
    for row in summary["leaderboard"]:
        row["recommended"] = row["baseline"]
    summary["verdict"] |= {"recommended": "majority", "beats_baseline": False}
    _, first, *rest = conclusion.answer(summary)
    assert first == (
        "No model predicts diagnosis significantly better than the baseline (majority class), which "
        "ignores the columns."
    )
    assert len(rest) == 2 and "cross-validation" in rest[0] and "test set" in rest[1]


def test_the_answer_names_leak_model_score_baseline_and_alternatives(two):
    leak, first, second, third, fourth = conclusion.answer(two)
    assert (
        "may leak the target" in leak
        and first == "Use logistic regression (logistic) to predict diagnosis."
    )
    assert "ROC AUC is 0.990 in cross-validation (95 % interval 0.980 to 0.995)" in second
    assert (
        "significantly better than the baseline's 0.500 (majority class, which ignores the columns)"
        in second
    )
    good = len(two["verdict"]["as_good"]) - 1
    assert third.startswith(f"{good} of the other {len(sample.MODELS) - 1} models are as good;")
    assert fourth.startswith("On the test set of")
    alone = copy.deepcopy(two)
    alone["verdict"]["as_good"] = ["logistic"]
    assert conclusion.answer(alone)[3] == "None of the other 15 models is as good."


def test_the_answer_claims_no_more_simplicity_than_there_is(two):
    summary = copy.deepcopy(two)
    for row in summary["leaderboard"]:
        row["rank"] = 1
    number = sum(bool(row.get("as_good")) for row in summary["leaderboard"])
    said = f"has the lowest log loss of the {number} simplest models that are as good as the best."
    assert conclusion.answer(summary)[3].endswith(said)
    next(row for row in summary["leaderboard"] if row["model"] == "logistic")["rank"] = 0
    said = f"this one is the simplest of the {number} models that are as good as the best."
    assert conclusion.answer(summary)[3].endswith(said)


def test_the_regions_say_what_is_drawn():
    rows, colour = "Points are training rows", "A stronger colour means"
    page = html.render(sample.classification())
    assert rows in page and colour not in page
    page = html.render(sample.regression())
    assert rows not in page and colour in page


def test_maps_of_predictions_share_one_scale_that_runaways_do_not_pale():
    found = {"models": {"a": {"grid": [[1.0, 2.0]] * 50}, "b": {"grid": [[1e9, -1e9]] * 1}}}
    assert sections._one_scale(found, ["a", "b"], [0.0, 1.0, 5.0]) == (1.0, 2.0)
    assert sections._one_scale(found, ["a", "b"], None) is None
    summary = sample.regression()
    summary["data"]["target_range"] = [0.0, 1.0, 2.0]
    part = html.render(summary).split('<section id="regions"')[1].split("</section>")[0]
    keys = re.findall(r">([-\d.]+ to [-\d.]+)</text>", part)
    assert len(keys) > 1 and len(set(keys)) == 1


def test_scores_of_one_size_have_the_same_decimals():
    assert [wording.score(v, "rmse") for v in (1.06, 1.0567, 26000.4)] == [
        "1.060",
        "1.057",
        "26000",
    ]
    assert wording.interval([0.747, 1.38], "mae") == "0.7470 to 1.380"
    assert wording.with_names("how much worse roc_auc is") == "how much worse ROC AUC is"


# Beside the answer ----------------------------------------------------------------------------


def answer_of(summary):
    return html.render(summary).split('<section id="answer"')[1].split("<h3>Data checks")[0]


def test_leak_warnings_stand_beside_the_first_sentence(two):
    part = answer_of(two)
    assert part.index("Use logistic.") < part.index("D011") < part.index("95 % interval")
    assert "Check for target leakage" in part and "What to do: <bdi>drop it with --drop" in part
    assert "D008" not in part and "D003" not in part, "only what is about leakage"
    calm = copy.deepcopy(two)
    calm["checks"][0]["leak"] = False
    assert "Check for target leakage" not in answer_of(calm), "the code alone does not make a leak"
    calm["checks"][2] |= {"level": "warning", "leak": True}
    assert "Check for target leakage" in answer_of(calm), "the flag of a check does"


def test_the_answer_holds_the_test_score_with_its_interval_and_a_picture(two):
    part = Page(answer_of(two))
    metric, found = two["plan"]["metric"], two["test"]
    assert wording.score(found["metrics"][metric], metric) in part.words
    assert wording.interval(found["intervals"][metric], metric) in part.words
    assert part.titles == ["Test set and cross-validation"] and "used once" in part.words
    often = {**two, "test": {**found, "openings": 3}}
    assert "used 3 times" in Page(answer_of(often)).words
    assert "Test set" not in Page(answer_of({**two, "test": None})).words


# Names, numbers, dates ------------------------------------------------------------------------


def test_standard_names_and_no_private_ones(two, two_page):
    text = Page(two_page).words
    for name in ("Confusion matrix (rows: actual, columns: predicted)", "Decision threshold",
                 "Nearest neighbours of example rows", "true negatives", "passed"):  # fmt: skip
        assert name in text, name
    for name in (
        "ocked",
        "foretold",
        "truth",
        "false alarm",
        "keep their word",
        "honest",
        "promised",
    ):
        assert name not in text, name


def test_recall_of_each_class_is_told_where_one_is_rare():
    found = {"labels": ["a", "b"], "counts": [[90, 0], [8, 2]]}
    rows = model_pictures.recalls(found)
    assert [(r["label"], r["rows"], r["recall"], r["precision"]) for r in rows] == [
        ("a", 90, "100 %", "92 %"), ("b", 10, "20 %", "100 %"),
    ]  # fmt: skip
    assert model_pictures.recalls({"labels": ["a", "b"], "counts": [[50, 0], [8, 42]]}) == []
    assert model_pictures.recalls({**found, "counts": [[90, 0], [10, 0]]})[1]["precision"] == "n/a"


def dated():
    """A table of which one column holds dates."""
    summary = sample.classification(models=("logistic", "majority"))
    days = [15340.0 + 40 * k for k in range(25)]
    first = summary["data"]["columns"][0]
    shape = {"kind": "histogram", "edges": days, "beyond": 7,
             "counts": {c["label"]: [5] * 24 for c in summary["data"]["classes"]}}  # fmt: skip
    first |= {"kind": "datetime", "low": days[0], "median": days[4], "high": days[-1],
              "by_target": shape}  # fmt: skip
    summary["regions"] |= {"x": first["name"], "x_edges": days}
    part = {"name": first["name"], "kind": "datetime", "x": days[:15], "y": [[0.5] * 15] * 2}
    summary["learned"]["logistic"]["dependence"] = {"rows": 60, "columns": [part]}
    return summary


def test_dates_are_dates_everywhere():
    page = html.render(dated())
    assert "2012-01-01 to 2014-08-18, median 2012-06-09" in Page(page).words
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", page)
    assert not [text for text in shown if re.fullmatch(r"1[56][.\d]*k?", text) and "k" in text]
    assert sum(text == "2013" for text in shown) >= 3, "column, dependence and regions"
    assert "Not drawn: 7 rows in the tails." in page


def test_histograms_are_shares_so_that_rare_classes_can_be_seen():
    shape = {"kind": "histogram", "edges": [0, 1, 2], "counts": {"a": [10, 30], "b": [0, 0]}}
    drawn = str(pictures.column({"name": "age", "by_target": shape}, "y"))
    assert "% of each class from 0 to 78." in drawn, "75 % and some room, not 30 rows"
    assert "% of each class" in html.render(sample.classification(models=("logistic", "majority")))


def test_a_numeric_target_has_a_histogram_that_no_rows_leaves_out():
    summary = sample.regression()
    summary["data"]["target_histogram"] = {"edges": [0, 1, 2], "counts": [5, 7], "beyond": 1}
    assert "Distribution of diagnosis" in Page(html.render(summary)).titles
    assert "Distribution of" not in html.render(without_rows(summary))
    assert "target_histogram" not in without_rows(summary)["data"]


def test_the_search_says_which_rows_it_knows(two):
    text = Page(html.render(two)).words
    assert "covers the out-of-fold predictions of all 455 training rows" in text
    large = copy.deepcopy(two)
    large["rows"]["all"]["rows"] = 39_073
    text = Page(html.render(large)).words
    assert "the 455 training rows with the largest errors, of 39,073" in text
    hidden = html.render(without_rows(two))
    assert "row-data" not in hidden.split("<script>")[0]


def test_numbers_of_rows_have_commas():
    assert wording.plural(2381, "row") == "2,381 rows"


def test_small_pages_tell_every_point_large_ones_those_of_the_recommended_model(two):
    """Bands and tooltips of the other models are the first to go."""
    plane = sections.regions(two)

    def cards(detail):
        page = html._page(two, detail, plane)
        return (
            page.split('<section id="models"')[1].split("</section>")[0].split('class="card"')[1:]
        )

    tip = "<title>malignant (Brier score 0.031): "  # of a point of the calibration chart
    assert all(tip in card and "band: lowest" in card for card in cards(html.GENTLE[0]))
    first, *others = cards(html.GENTLE[2])
    assert tip in first and "band: lowest" in first
    assert not any(tip in card or "band: lowest" in card for card in others)


def test_the_search_of_five_thousand_rows_is_small():
    summary = sample.classification(models=("logistic", "majority"))
    small = html.size(html.render(summary))
    n = 5000
    summary["rows"]["all"] = {"row": list(range(10_000, 10_000 + n)), "actual": [1] * n,
                              "predicted": [0] * n, "p": [0.12345] * n, "rows": n}  # fmt: skip
    assert html.size(html.render(summary)) - small < 130_000


def test_without_rows_a_tree_tells_no_date():
    summary = dated()
    name = summary["data"]["columns"][0]["name"]
    nodes = [{"id": 0, "rows": 9, "value": [4, 5], "label": "benign", "left": None, "right": None,
              "column": name, "test": f"{name} <= 2012-06-15"}]  # fmt: skip
    summary["learned"]["logistic"]["tree"] = {"nodes": nodes, "depth": 0}
    kept = without_rows(summary)["learned"]["logistic"]["tree"]["nodes"][0]
    assert kept["test"] == f"{name}: up to a date"
