"""Cards of models: rows count as often as their weights say, and order does not matter."""

import numpy as np
import pytest
from sklearn import metrics as sk

from pellucid.draw.label_text import distinct
from pellucid.report import (
    cards,
    conclusion,
    insight_pictures,
    model_pictures,
    model_sections,
    searchable_rows,
    terminal,
    wording,
)

NAMES = ["a", "b", "c"]


def answers(rng, n=80, K=3):
    proba = rng.dirichlet(np.ones(K), n).round(2)
    y = rng.integers(0, K, n)
    said = {"rows": np.arange(n), "labels": proba.argmax(axis=1), "proba": proba}
    return {**said, "fold": np.arange(n) % 2}, y, rng.integers(0, 4, n)


@pytest.mark.parametrize("K", [2, 3])
def test_a_weight_is_a_number_of_rows(rng, K):
    said, y, w = answers(rng, K=K)
    again = np.repeat(np.arange(len(y)), w)
    copies = {name: values[again] for name, values in said.items()}
    copies["rows"] = np.arange(len(again))
    weighted = cards.card(said, y, w.astype(float), NAMES[:K], 0)
    repeated = cards.card(copies, y[again], np.ones(len(again)), NAMES[:K], 0)
    assert weighted["confusion"] == repeated["confusion"]
    assert weighted["histogram"] == repeated["histogram"]
    for name in ("roc", "pr", "calibration"):
        for ours, theirs in zip(weighted[name], repeated[name], strict=True):
            numbers = {k: v for k, v in ours.items() if isinstance(v, float)}
            assert numbers == pytest.approx({k: theirs[k] for k in numbers}, rel=1e-12)


def test_areas_with_weights_are_scikit_learns(rng):
    said, y, w = answers(rng, K=2)
    said["fold"] = np.zeros(len(y), int)
    found = cards.card(said, y, w.astype(float), NAMES[:2], 0)
    p = said["proba"][:, 1]
    assert found["roc"][0]["auc"] == pytest.approx(sk.roc_auc_score(y, p, sample_weight=w))
    precision = sk.average_precision_score(y, p, sample_weight=w)
    assert found["pr"][0]["ap"] == pytest.approx(precision)
    for cut, tp, fp, fn, tn in found["thresholds"]["rows"]:
        table = sk.confusion_matrix(y, p >= cut, sample_weight=w)
        assert [[tn, fp], [fn, tp]] == table.tolist()


def test_the_default_threshold_is_one_of_the_counted_ones(rng):
    said, y, w = answers(rng, K=2)
    rows = cards.card(said, y, w.astype(float), NAMES[:2], 0)["thresholds"]["rows"]
    found = next(row for row in rows if row[0] == 0.5)
    _, tp, fp, fn, tn = found
    assert [[tn, fp], [fn, tp]] == sk.confusion_matrix(
        y, said["proba"][:, 1] >= 0.5, sample_weight=w
    ).tolist()
    assert model_sections.default_cut({"rows": rows}) == found


def test_the_histogram_of_many_classes_is_of_the_actual_class_of_each_row(rng):
    said, y, _ = answers(rng)
    found = cards.card(said, y, np.ones(len(y)), NAMES, 0)["histogram"]
    assert found["class"] is None and list(found["counts"]) == NAMES
    own = said["proba"][np.arange(len(y)), y]
    for k, name in enumerate(NAMES):
        assert sum(found["counts"][name]) == (y == k).sum()
        assert found["counts"][name] == np.histogram(own[y == k], found["edges"])[0].tolist()
    assert "predicted probability of the actual class" in model_pictures.probabilities(found, False)


def test_the_search_knows_each_row_once_and_the_largest_errors_first(rng, monkeypatch):
    said, y, _ = answers(rng)
    again = {name: np.concatenate([values, values[::-1]]) for name, values in said.items()}
    again["proba"][len(y) :] = 1 / 3  # the second round of repeated folds
    weights = np.ones(len(y))
    weights[3] = 0.0
    found = searchable_rows.searchable(again, y, weights, 1000 + np.arange(len(y)), NAMES)
    assert sorted(found["row"]) == [1000 + k for k in range(len(y)) if k != 3]
    assert found["rows"] == len(y) - 1
    where = np.array(found["row"]) - 1000
    errors = 1 - said["proba"][where, y[where]]
    assert (np.diff(errors) <= 0).all()
    assert found["actual"] == y[where].tolist()
    assert found["predicted"] == said["labels"][where].tolist()
    assert found["p"] == pytest.approx(said["proba"][where].max(axis=1))
    monkeypatch.setattr(searchable_rows, "MOST", 10)
    fewer = searchable_rows.searchable(again, y, weights, 1000 + np.arange(len(y)), NAMES)
    assert fewer["row"] == found["row"][:10] and fewer["rows"] == len(y) - 1


def test_the_search_of_numbers_keeps_five_digits():
    said = {"rows": np.array([0, 1]), "labels": np.array([1.2345678, 9.0])}
    found = searchable_rows.searchable(
        said, np.array([1.0, 4.0]), np.ones(2), np.array([5, 6]), None
    )
    assert found == {"row": [6, 5], "actual": [4.0, 1.0], "predicted": [9.0, 1.2346],
                     "p": None, "rows": 2}  # fmt: skip


def test_fractions_of_rows_are_told_with_two_digits():
    found = cards.confusion(
        np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([0.5, 1, 2]), NAMES[:2]
    )
    assert found["counts"] == [[0.5, 0.0], [1.0, 2.0]]


def test_a_class_that_training_lacked_has_equal_scores_in_any_order():
    positive, w = np.array([True, False, True, False]), np.ones(4)
    score = np.array([-np.inf, -np.inf, -np.inf, 1.0])
    for order in (slice(None), slice(None, None, -1)):
        x, y = cards.roc_points(positive[order], score[order], w)
        assert x.tolist() == [0, 0.5, 1] and y.tolist() == [0, 0, 1]


def test_points_of_the_calibration_stand_on_enough_rows(rng):
    """A share of one row is 0 or 1 and says nothing; the calibration error is that of ten bins."""
    proba = np.concatenate(
        [rng.uniform(0, 0.1, 60), rng.uniform(0.1, 0.9, 13), rng.uniform(0.9, 1, 40)]
    )
    positive, w = rng.random(len(proba)) < proba, np.ones(len(proba))
    found = cards.calibration(positive, proba, w, "a")
    assert min(b["rows"] for b in found["bins"]) < 5 < 10 <= min(b["rows"] for b in found["points"])
    assert [b["rows"] for b in found["points"]] == [60, 13, 40], "ends that have enough stay"
    middle = (proba > 0.1) & (proba < 0.9)
    assert found["points"][1]["predicted"] == pytest.approx(proba[middle].mean())
    assert found["points"][1]["observed"] == pytest.approx(positive[middle].mean())
    edges = np.digitize(proba, np.linspace(0, 1, 11)[1:-1])
    gaps = [(edges == k).mean() * abs(positive[edges == k].mean() - proba[edges == k].mean())
            for k in np.unique(edges)]  # fmt: skip
    assert found["ece"] == pytest.approx(sum(gaps))
    assert found["brier"] == pytest.approx(sk.brier_score_loss(positive, proba))
    few = cards.calibration(positive[:4], proba[:4], w[:4], "a")["points"]
    assert [b["rows"] for b in few] == [4]


def test_whole_weights_are_rows_behind_a_point_and_others_are_not():
    proba, positive = np.array([0.05, 0.15, 0.95]), np.array([False, True, True])
    assert len(cards.calibration(positive, proba, np.full(3, 12.0), "a")["points"]) == 3
    assert len(cards.calibration(positive, proba, np.full(3, 12.5), "a")["points"]) == 1


def test_the_calibration_of_many_classes_tells_numbers_and_rows_of_each(rng):
    said, y, w = answers(rng, n=200)
    found = cards.card(said, y, w.astype(float), ["<b>", "b", "c"], 0)
    picture = str(model_pictures.calibration(found["calibration"], True))
    below = picture.partition('<p class="under">')[2]
    for name, entry in zip(["&lt;b&gt;", "b", "c"], found["calibration"], strict=True):
        rows = ", ".join(str(b["rows"]) for b in entry["points"])
        assert f"{name}</bdi>: ECE {entry['ece']:.3f}, rows per point {rows}." in below
        assert f"{name} (Brier score {entry['brier']:.3f})" in picture
    assert "<b>" not in picture and ">rows</th>" in picture, "the data table has them too"
    assert picture.index("rows per point") < picture.index("<details>")
    for text in (picture, str(model_pictures.calibration(found["calibration"], False))):
        assert text.count("<figure") == text.count("</figure>") == 1 and text.endswith("</figure>")


def test_every_class_has_the_band_of_its_folds(rng):
    said, y, w = answers(rng, n=200)
    found = cards.card(said, y, w.astype(float), NAMES, 0)
    for kind in ("roc", "pr"):
        picture = str(model_pictures.curve(found[kind], kind, False))
        assert picture.count('fill="currentColor" opacity="0.1"') == 3
        assert "Mean over the folds; band: lowest" in picture


def test_a_tie_that_alone_would_be_a_difference_is_marked():
    row = {"place": 3, "why": "not significantly worse", "p": 0.005, "p_holm": 0.06}
    assert conclusion.against(row) == "as good, p = 0.005*"
    assert conclusion.against({**row, "p": 0.2}) == "as good, p = 0.20"
    far = {**row, "why": "probably loses more than 10% of the best's gain over the baseline"}
    assert conclusion.against(far) == "weaker, p = 0.005*"
    worse = {**row, "why": "significantly worse", "p_holm": 0.03}
    assert conclusion.against(worse) == "worse, p = 0.005"
    assert conclusion.against({**row, "p": None}) == "as good"


def test_classes_whose_names_begin_alike_are_all_drawn():
    long = "Master of Science in Engineering, in the long form ({} time)"
    counts = {long.format("full"): [3, 1], long.format("part"): [0, 4]}
    entry = {"class": long.format("full"), "edges": [0, 0.5, 1], "counts": counts}
    picture = str(model_pictures.probabilities(entry, True))
    names = distinct(counts, 40)
    assert len(set(names)) == 2 and all(len(name) <= 40 and name in picture for name in names)


def test_weights_without_intervals_say_so():
    found = {"terms": ["a", "b"], "values": [[1.0, 2.0]], "low": None, "high": None, "method": ""}
    assert "No intervals: the bootstrap fits took too long" in str(
        model_pictures.coefficients(found, False)[0]
    )
    known = {**found, "low": [[0.5, 1.0]], "high": [[1.5, 3.0]], "method": "the t distribution"}
    told = str(model_pictures.coefficients(known, False)[0])
    assert "Lines: 95 % intervals (the t distribution)" in told and "No intervals" not in told


def test_weights_are_counted_with_those_that_the_portrait_left_out():
    terms = [f"text:word{k}" for k in range(30)]
    found = {"terms": terms, "values": [[30.0 - k for k in range(30)]], "left_out": 7000}
    assert "The 20 largest of 7030." in str(model_pictures.coefficients(found, False)[0])


def test_a_dependence_of_two_classes_says_whose_probability_it_is():
    part = {"name": "age", "kind": "number", "x": [1.0, 2.0], "y": [[0.9, 0.4], [0.1, 0.6]]}
    told = str(insight_pictures.dependence(part, {"rows": 60}, ["good", "bad"], False))
    assert "probability of bad" in told


def test_terminal_and_page_tell_scores_by_one_rule():
    for value, metric, page, line in [
        (0.0002, "log_loss", "<0.001", "<.001"),
        (-12345.6, "r2", "-12346", "-12346"),
        (0.5, "roc_auc", "0.500", ".500"),
        (-0.25, "r2", "-0.250", "-.250"),
        (None, "rmse", "n/a", "n/a"),
    ]:
        assert wording.score(value, metric) == page and terminal.score(value, metric) == line


def test_settings_of_several_parameters_are_labelled_by_what_varies():
    label = model_pictures.setting_labels
    assert label([{"C": 1.0, "n": 5}, {"C": 10.0, "n": 5}]) == ("setting", ["C = 1", "C = 10"])
    forest = [{"leaf": 5, "share": "sqrt", "n": 100}, {"leaf": 1, "share": 0.5, "n": 100}]
    assert label(forest) == ("leaf, share", ["5, sqrt", "1, 0.5"])
    tried = [
        {"params": p, "mean": 0.5, "failed": None, "chosen": 6 * k} for k, p in enumerate(forest)
    ]
    drawn = str(model_pictures.search({"candidates": tried, "rounds": 6}, "accuracy", False))
    assert "leaf, share" in drawn and "6× 1, 0.5" in drawn


def test_a_solver_that_watched_no_rows_gets_no_empty_picture():
    found = {"iteration": [1, 2], "objective": [3.0, 2.0], "validation_score": [None, None]}
    assert "Validation" not in "".join(model_pictures.history(found, False))
    watched = {**found, "validation_score": [None, 0.5]}
    assert "Validation score" in "".join(model_pictures.history(watched, False))
