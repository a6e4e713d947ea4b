"""Every sentence of the answer is read and held against the numbers it speaks of."""

import re
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.comparison.analysis.verdict import BEST, FAR, LOWER, NEAR, SAME, WORSE, Board, judge
from pellucid.comparison.planning.registry import ENTRIES
from pellucid.report import conclusion
from pellucid.report.wording import model_name, title_in_sentence

NUMBER = r"(-?\d+(?:\.\d+)?)"
RANKS = {"mean": 0, "ridge": 1, "ols": 1, "tree": 2, "knn": 3, "forest": 5, "mlp": 6}
TITLES = {entry.id: entry.title for entry in ENTRIES if entry.task == "regression"}


def made(scores, p, test=None, prefer="simple", checks=(), margin=0.01):
    """A finished comparison with these RMSEs and p-values, as far as the words need it."""
    board = Board(
        {n: -s for n, s in scores.items()}, lambda a, b: p[frozenset((a, b))], "mean", margin
    )
    found = judge(board, RANKS, scores, prefer)
    rows = [
        {
            "model": name, "title": TITLES[name],
            "place": k + 1, "baseline": name == "mean", "rank": RANKS[name],
            "recommended": name == found.recommended, "mean": scores[name], "status": "ok",
            "ci": [0.8 * scores[name], 1.2 * scores[name]], "metrics": {"rmse": scores[name]},
            **asdict(found.marks[name]),
        }
        for k, name in enumerate(board.order)
    ]  # fmt: skip
    return {
        "leaderboard": rows, "checks": list(checks), "test": test,
        "data": {"target": "price", "task": "regression"},
        "plan": {"metric": "rmse", "greater_is_better": False},
        "verdict": {
            "best": found.best, "as_good": [n for n, m in found.marks.items() if m.as_good],
            "scored": len(rows), "recommended": found.recommended, "margin": margin, "prefer": prefer,
            "beats_baseline": found.beats_baseline,
        },
    }  # fmt: skip


class Reader:
    """Understands the sentences; one it does not know is an error."""

    def __init__(self, data):
        self.data, self.verdict = data, data["verdict"]
        self.rows = {row["model"]: row for row in data["leaderboard"]}
        self.own = self.rows[self.verdict["recommended"]]
        self.good = [row for row in self.rows.values() if row["as_good"]]
        names = {text(row): row["model"] for row in self.rows.values()
                 for text in (model_name, title_in_sentence)}  # fmt: skip
        self.ids = names | {name[0].upper() + name[1:]: id for name, id in names.items()}

    def read(self, sentence):
        for pattern, check in SENTENCES:
            match = re.fullmatch(pattern, sentence)
            if match:
                check(self, *(self.ids.get(group, group) for group in match.groups()))
                return
        raise AssertionError(f"nobody can check: {sentence!r}")

    def near(self, shown, value):
        assert float(shown) == pytest.approx(value, rel=1e-3, abs=1e-3)

    def choice(self, model):
        assert not conclusion.test_disagrees(self.data)
        self.chosen(model)

    def chosen(self, model):
        assert model == self.own["model"] and not self.own["baseline"]
        assert self.verdict["beats_baseline"]

    def nothing_better(self, model):
        assert self.own["baseline"] and self.rows[model]["baseline"]
        assert not self.verdict["beats_baseline"]

    def alone(self, model):
        assert len(self.rows) == 1 and self.own["model"] == model

    def score(self, value, low, high, base=None, name=None):
        self.near(value, self.own["mean"])
        self.near(low, self.own["ci"][0])
        self.near(high, self.own["ci"][1])
        if base is not None:
            self.near(base, self.rows[name]["mean"])
            assert self.own["p_baseline"] < 0.05 and self.own["mean"] < self.rows[name]["mean"]

    def cautious_choice(self, model):
        assert conclusion.test_disagrees(self.data)
        self.chosen(model)

    def the_other(self, why):
        self.others(1, 1, why)

    def no_other(self, *count):
        assert len(self.good) == 1 and self.own["why"] == BEST
        assert not count or int(count[0]) == len(self.rows) - 1

    def others(self, good, rivals, why):
        assert (int(good), int(rivals)) == (len(self.good) - 1, len(self.rows) - 1)
        assert self.own["mean"] == self.rows[self.verdict["best"]]["mean"]
        self.reason(why)

    def reason(self, why):
        alike = [r for r in self.good if r["rank"] == self.own["rank"]]
        if why == "has the best score":
            assert self.verdict["prefer"] == "score"
            assert self.own["mean"] == min(r["mean"] for r in self.good)
            return
        assert self.own["rank"] == min(r["rank"] for r in self.good)
        if "simplest models" in why:
            assert int(re.search(r"of the (\d+) simplest", why)[1]) == len(alike) > 1
            assert self.own["mean"] == min(r["mean"] for r in alike)
        else:
            assert int(re.search(r"of the (\d+)", why)[1]) == len(self.good) and len(alike) == 1

    def trade(self, value, top, how, why):
        best = self.rows[top]
        assert top == self.verdict["best"] != self.own["model"]
        assert best["mean"] <= self.own["mean"]
        self.near(value, best["mean"])
        if "significantly" in how:
            assert self.own["why"] == SAME and self.own["p_holm"] >= 0.05
            shown = re.search(r"p = (0\.\d+|1\.00)", how)
            assert float(shown[1]) == pytest.approx(self.own["p_holm"], abs=0.00501)
            family = sum(r["p_holm"] is not None for r in self.rows.values())
            assert family == 1 or f"after Holm's correction for {family} tests" in how
        else:
            assert self.own["why"] == NEAR and self.own["lost"] <= self.verdict["margin"]
        self.reason(why)

    def rather(self, top):
        assert top == self.verdict["best"] != self.own["model"]
        assert self.verdict["prefer"] == "simple"

        assert self.own["rank"] < self.rows[top]["rank"]

    def alike(self, top):
        assert top == self.verdict["best"] != self.own["model"]
        assert self.own["rank"] == self.rows[top]["rank"]

    def tested(self, rows, value, low, high, base=None):
        test = self.data["test"]
        assert int(rows) == test["rows"]
        self.near(value, test["metrics"]["rmse"])
        self.near(low, test["intervals"]["rmse"][0])
        if base is not None:
            self.near(base, test["baseline"]["rmse"])

    def unreliable(self, model, rows, value, base=None):
        test = self.data["test"]
        assert model == test["model"] and int(rows) == test["rows"]
        assert test["metrics"]["rmse"] > test["baseline"]["rmse"]

    def disagrees(self, model, rows, value, low, high):
        test = self.data["test"]
        assert not test["agrees"] and test["metrics"]["rmse"] > self.rows[model]["mean"]
        self.near(high, self.rows[model]["ci"][1])


ROWS = r"(\d+) rows?"
SENTENCES = [
    (r"Use (.+) to predict price\.", Reader.choice),
    (r"Cross-validation alone would recommend (.+) to predict price\.", Reader.cautious_choice),
    (r"No model predicts price significantly better than the baseline \((.+)\), which ignores the "
     r"columns\.", Reader.nothing_better),
    (r"Only the baseline \((.+)\), which ignores the columns, has a score\.", Reader.alone),
    (rf"Its RMSE is {NUMBER} in cross-validation \(95 % interval {NUMBER} to {NUMBER}\)"
     rf"(?:, significantly better than the baseline's {NUMBER} \((.+), which ignores the columns\))?\.",
     Reader.score),
    (r"None of the other (\d+) models is as good\.", Reader.no_other),
    (r"The other model is not as good\.", Reader.no_other),
    (r"The other model is as good; this one (.+)\.", Reader.the_other),
    (r"No other model has a score\.", lambda reader: reader.alone(reader.own["model"])),
    (r"(\d+) of the other ([2-9]|\d\d+) models (?:is|are) as good; this one (.+)\.", Reader.others),
    (rf"The best score, {NUMBER} for (.+), is (not significantly better \(.+?\)|better by less than "
     r"1 % of the gain over the baseline); the recommended model (.+)\.", Reader.trade),
    (r"If the score matters more than simplicity, use (\w+) \(--prefer score\)\.", Reader.rather),
    (r"If the score alone matters, use (\w+) \(--prefer score\)\.", Reader.alike),
    (rf"On the test set of {ROWS}, its RMSE is {NUMBER} \(95 % interval {NUMBER} to {NUMBER}\)"
     rf"(?:; the baseline's is {NUMBER})?\.", Reader.tested),
    (rf"Do not rely on ((?!the cross)[^:]+): on the test set of {ROWS}, its RMSE is {NUMBER}, worse "
     rf"than the baseline's {NUMBER}\.", Reader.unreliable),
    (rf"Do not rely on the cross-validation score of (.+): on the test set of {ROWS}, its RMSE is "
     rf"{NUMBER}, worse than cross-validation predicted \({NUMBER} to {NUMBER}\)\.", Reader.disagrees),
]  # fmt: skip


@given(
    models=st.sets(st.sampled_from(sorted(set(RANKS) - {"mean"}))),
    seed=st.integers(0, 2**32 - 1),
    prefer=st.sampled_from(["simple", "score"]),
    alike=st.booleans(),
    tested=st.booleans(),
)
def test_every_sentence_agrees_with_the_numbers(models, seed, prefer, alike, tested):
    rng = np.random.default_rng(seed)
    names = [*models, "mean"]
    spread = 0.005 if alike else 0.5
    scores = {name: float(2 + spread * rng.normal()) for name in names} | {"mean": 2.6}
    p = {frozenset((a, b)): float(10 ** -rng.uniform(0, 4)) for a in RANKS for b in RANKS if a < b}
    data = made(scores, p, prefer=prefer)
    if tested:
        value = float(2 + 0.5 * rng.normal())
        data["test"] = {
            "model": data["verdict"]["recommended"], "rows": 40, "metrics": {"rmse": value},
            "intervals": {"rmse": [0.9 * value, 1.1 * value]}, "baseline": {"rmse": 2.5},
            "agrees": bool(rng.integers(2)),
        }  # fmt: skip
    reader = Reader(data)
    for sentence in conclusion.answer(data):
        reader.read(sentence)


def plainly(**more):
    p = {frozenset((a, b)): 1e-6 for a in RANKS for b in RANKS if a < b}
    return made({"forest": 1.0, "mean": 4.0}, p, **more)


def test_a_test_set_that_disagrees_changes_the_first_sentence():
    test = {
        "model": "forest", "rows": 40, "metrics": {"rmse": 1.05}, "baseline": {"rmse": 4.1},
        "intervals": {"rmse": [0.9, 1.2]}, "agrees": True,
    }  # fmt: skip
    assert (
        conclusion.answer(plainly(test=test))[0] == "Use random forest (forest) to predict price."
    )
    far = test | {"metrics": {"rmse": 2.5}, "agrees": False}
    first, second, *_ = conclusion.answer(plainly(test=far))
    assert first.startswith(
        "Do not rely on the cross-validation score of random forest (forest): on the test set"
    )
    assert (
        second == "Cross-validation alone would recommend random forest (forest) to predict price."
    )
    worse = test | {"metrics": {"rmse": 107308.0}}
    first = conclusion.answer(plainly(test=worse))[0]
    assert "107308, worse than the baseline's 4.100" in first
    better = test | {"metrics": {"rmse": 0.2}, "agrees": False}
    assert (
        conclusion.answer(plainly(test=better))[0] == "Use random forest (forest) to predict price."
    )


def test_the_warning_about_a_leak_comes_before_the_choice():
    leak = {
        "code": "D011",
        "level": "error",
        "text": "...",
        "columns": ["boat", "body"],
        "leak": True,
    }
    harmless = {
        "code": "D008",
        "level": "warning",
        "text": "...",
        "columns": ["age"],
        "leak": False,
    }
    first, second, *_ = conclusion.answer(plainly(checks=[leak, harmless]))
    assert "boat, body" in first and "D011" in first and "age" not in first
    assert "Some columns may leak the target" in first and "unless their values are known" in first
    assert second == "Use random forest (forest) to predict price."
    first, *_ = conclusion.answer(plainly(checks=[leak | {"columns": ["boat"]}]))
    assert "A column may leak the target" in first and "unless its values are known" in first


def test_among_equally_simple_models_simplicity_is_no_reason():
    p = {frozenset((a, b)): 1e-6 for a in RANKS for b in RANKS if a < b}
    p[frozenset(("ridge", "ols"))] = 0.5
    data = made({"ols": 1.0, "ridge": 1.01, "mean": 4.0}, p)
    own = next(row for row in data["leaderboard"] if row["model"] == "ridge")
    told = conclusion.alternatives(data, own)  # as a lower log loss recommends classifiers
    assert told[-1] == "If the score alone matters, use ols (--prefer score)."


def test_models_with_the_same_score_are_no_trade():
    p = {frozenset((a, b)): 1e-6 for a in RANKS for b in RANKS if a < b}
    p[frozenset(("forest", "tree"))] = 1.0
    told = conclusion.answer(made({"forest": 1.0, "tree": 1.0, "mean": 4.0}, p))
    assert "1 of the other 2 models is as good; this one is the simplest of the 2" in " ".join(told)
    assert "--prefer score" not in " ".join(told)


def legend(scores, p, **more):
    p = {frozenset((a, b)): p.get((a, b), 1e-6) for a in RANKS for b in RANKS if a < b}
    data = made(scores, p, **more)
    return data, conclusion.legend(data)


def test_the_legend_says_of_no_other_model_that_it_is_better_if_none_is():
    none = {("mean", "tree"): 0.9, ("forest", "mean"): 0.9, ("forest", "tree"): 0.5}
    _, told = legend({"forest": 2.0, "mean": 2.1, "tree": 2.3}, none)
    assert "no gain: scores no higher than the baseline" in told
    assert not any("gain over" in line for line in told)


def test_the_legend_names_the_margin_and_what_was_paired():
    data, told = legend({"forest": 1.0, "tree": 1.5, "mean": 4.0}, {}, margin=0.005)
    assert "less than 0.5 % of the best model's gain" in told[0] and "paired by rows" in told[0]
    for name, shown in (("group", "paired by groups"), ("time", "paired by blocks of times")):
        assert shown in conclusion.legend(data | {"plan": data["plan"] | {"folds": name}})[0]
    data["plan"]["metric"] = "max_error"  # of scikit-learn: it has no row values
    assert "paired by folds" in conclusion.legend(data)[0]


def test_a_difference_significant_alone_has_its_star_wherever_it_is_shown():
    p = {("forest", "ridge"): 0.03, ("forest", "tree"): 0.03, ("forest", "knn"): 0.04}
    data, told = legend({"forest": 1.0, "tree": 1.5, "ridge": 1.6, "knn": 1.7, "mean": 4.0}, p)
    rows = {row["model"]: row for row in data["leaderboard"]}
    assert conclusion.against(rows["tree"]) == "weaker, p = 0.03*"
    assert any(line.startswith("*") for line in told)


def test_the_legend_gives_the_reasons_for_weaker_that_the_board_has():
    """FAR: a large loss that few rows cannot prove; LOWER: below a model that is not as good."""
    p = {("forest", "tree"): 0.2, ("forest", "ridge"): 0.9}
    far = "probably loses more than 10 % of the best model's gain"
    below = "ranks below a model that is not as good"
    data, lines = legend({"forest": 1.0, "tree": 1.5, "mean": 4.0}, p)
    assert [row["why"] for row in data["leaderboard"]][1] == FAR
    assert f"weaker: not significantly worse, but {far}" in lines
    data, lines = legend({"forest": 1.0, "tree": 1.5, "ridge": 1.6, "mean": 4.0}, p)
    assert [row["why"] for row in data["leaderboard"]][1:3] == [FAR, LOWER]
    assert f"weaker: not significantly worse, but {far} or {below}" in lines
    data, lines = legend(
        {"forest": 1.0, "tree": 1.5, "ridge": 1.6, "mean": 4.0}, {("forest", "ridge"): 0.9}
    )
    assert [row["why"] for row in data["leaderboard"]][1:3] == [WORSE, LOWER]
    assert f"weaker: not significantly worse, but {below}" in lines


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.id} {entry.task}")
def test_titles_read_well_inside_a_sentence(entry):
    """A small letter, unless the title begins with a name; the id follows where the title is another."""
    row = {"model": entry.id, "title": entry.title}
    first = title_in_sentence(row).split(" ")[0]
    assert first.islower() or first in ("AdaBoost", "Bayesian", "L1-penalised", "Poisson")
    assert entry.id in model_name(row).lower().replace(" ", "_")
