"""The simulated check of the comparison's statistics: its truths are true, and it can fail."""

import itertools

import numpy as np
import pytest

from scorecard import __main__ as scorecard
from scorecard.rows import Row
from scorecard.statistics import __main__ as command
from scorecard.statistics import by_folds, card, populations, rules, simulate, store, truth, verdict
from scorecard.statistics.cells import Cell, cells
from scorecard.statistics.rates import Pairs, judge_pairs

METRICS = ("accuracy", "log_loss", "roc_auc", "f1", "rmse", "r2", "mae")


def drawn(metric, seed=0, n=200):
    """Target, folds and predictions that fit the metric."""
    rng = np.random.default_rng(seed)
    y, fold = rng.normal(size=n), np.arange(n) % 5
    predicted = y + rng.normal(size=n)
    if metric in truth.METRICS[True]:
        y, predicted = (y > 0).astype(float), 1 / (1 + np.exp(-predicted))
    return y, fold, predicted


@pytest.mark.parametrize("metric", METRICS)
def test_both_rules_have_the_same_score(metric):
    y, fold, predicted = drawn(metric, n=203)
    scores = [
        rule.score(rule.contribute(metric, y, fold, predicted))
        for rule in (rules.BEFORE, rules.NOW)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_truth_of_a_model_is_its_score_in_many_rows(metric):
    data = "classes" if metric in truth.METRICS[True] else "lognormal"
    rng = np.random.default_rng(1)
    X = populations.columns(rng, 400_000)
    y = populations.target(rng, data, X)
    own = populations.weakened(rng, X[:, 4:], 0.5)

    def model(columns):
        signal = 0.7 * columns.sum(axis=1) - 0.2
        return 1 / (1 + np.exp(-signal)) if data == "classes" else signal

    fresh = populations.fresh(rng, data, 14)
    true = dict(
        zip(truth.metrics_of(data), truth.true_scores(fresh, 0.5, model(fresh.z)), strict=True)
    )
    seen = by_folds._SCORES[metric](y, model(own))
    assert true[metric] == pytest.approx(seen, rel=0.02)


def test_tables_do_not_depend_on_when_they_were_simulated(tmp_path):
    cell = Cell("pair", "t4", "linear", 60, 3)
    simulate.simulate([cell], tmp_path)
    kept = list(store.read(tmp_path, cell))
    again = simulate.one_table(cell, 2)
    assert len(kept) == store.stored(tmp_path, cell) == 3
    assert np.array_equal(kept[2].y, again["y"]) and set(kept[2].predicted) == {"A", "B"}
    assert np.array_equal(kept[2].predicted["A"], again["predicted"][0])


def test_a_stopped_simulation_goes_on_where_it_was(tmp_path, monkeypatch):
    selected = [Cell("pair", "normal", learner, 60, 2) for learner in ("linear", "tree")]
    simulate.simulate(selected[:1], tmp_path)
    simulated = []
    monkeypatch.setattr(simulate, "_chunk", lambda cache, cell, *span: simulated.append(cell))
    simulate.simulate(selected, tmp_path)
    assert simulated == selected[1:]


def test_cells_are_all_that_was_promised():
    found = {(cell.n, cell.learner, cell.data) for cell in cells() if cell.arm == "pair"}
    sizes, data = (60, 300, 1000, 5000), ("classes", "normal", "t4", "lognormal")
    learners = ("linear", "tree", "1-NN", "boosting", "network")
    assert found == set(itertools.product(sizes, learners, data))
    assert all(cell.tables >= 400 for cell in cells() if cell.arm != "noise")


def test_models_on_either_half_of_the_columns_are_equally_good(tmp_path):
    cell = Cell("pair", "normal", "linear", 60, 40)
    simulate.simulate([cell], tmp_path)
    rmse = judge_pairs(tmp_path, cell, [rules.BEFORE])[0]
    gap = np.diff(np.array(rmse.true), axis=1)
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(40)


def pairs(alarms, covered, predicted, tables=400):
    """What a rule would have said that is right and wrong so often."""
    one = Pairs(Cell("pair", "normal", "linear", 300, tables), "rmse", "toy")
    share = np.arange(tables) / tables
    one.p = {"B": list(np.where(share < alarms, 0.0, 1.0))}
    one.p |= {model: list(np.where(share < predicted, 0.0, 1.0)) for model in ("weak", "weaker")}
    one.better = {model: [True] * tables for model in one.p}
    one.low, one.high = [[0.0] * 2] * tables, [[1.0 + (k < covered)] * 2 for k in share]
    one.true = [np.full(2, 1.5)] * tables
    return one


@pytest.mark.parametrize(
    ("alarms", "covered", "predicted", "wrong"),
    [
        (0.05, 0.95, 0.6, set()),
        (0.09, 0.95, 0.6, {"false alarms"}),
        (0.00, 0.88, 0.6, {"coverage"}),
        (0.00, 1.00, 0.6, {"coverage"}),
        (0.05, 0.95, 0.3, {"power (weak, after Holm)", "power (weaker, after Holm)"}),
    ],
)
def test_every_promise_can_be_broken(alarms, covered, predicted, wrong):
    before = pairs(0.02, 0.98, 0.2)
    now = pairs(alarms, covered, predicted)
    assert broken(verdict.of_pairs(now, before, slack=2.0)) == wrong


@pytest.fixture(scope="module")
def predictions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predictions")
    simulate.simulate(card.chosen(quick=True, tables=None), folder)
    return folder


def broken(figures):
    return {figure.promise for figure in figures if not figure.kept}


@pytest.mark.slow
def test_a_rule_that_claims_too_much_is_found(predictions, capsys):
    selected = card.chosen(quick=True, tables=None)
    figures = card.conclusions(selected, predictions, True, [rules.ByRows(0.3)])
    assert {"false alarms", "coverage", "boards with a false alarm"} <= broken(figures)
    assert "!" in capsys.readouterr().out


@pytest.mark.slow
def test_the_rule_of_the_comparison_keeps_its_promises(predictions, capsys):
    code = command.main(["judge", "--quick", "--cache", str(predictions)])
    assert code == 0, capsys.readouterr().out


def test_the_scorecard_prints_the_row_and_fails_with_it(monkeypatch, capsys):
    class Broken:
        kept = False

    monkeypatch.setattr(card, "check", lambda quick, cache: [Broken()])
    monkeypatch.setattr(
        scorecard, "ROWS", (Row(99, "toy", "a promise", "a mark", module=card.__name__),)
    )
    assert scorecard.main(["toy", "--quick"]) == 1
    assert capsys.readouterr().out.startswith("BROKEN")
