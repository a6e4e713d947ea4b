"""The board as plain text: columns of numbers, and what n/a means."""

import pytest

from pellucid.comparison.analysis.verdict import BEST, SAME, WORSE
from pellucid.report import terminal
from tests.report import sample


def row(model, place, mean, **metrics):
    return {
        "model": model, "place": place, "status": "ok", "reason": "", "mean": mean,
        "ci": [mean - 0.1, mean + 0.1], "as_good": True, "p": None if place == 1 else 0.4,
        "p_holm": None if place == 1 else 0.4, "why": BEST if place == 1 else SAME,
        "metrics": metrics, "notes": [], "recommended": place == 1, "baseline": False,
    }  # fmt: skip


def table(task, metric, *rows):
    facts = {
        "plan": {"metric": metric},
        "data": {"task": task},
        "verdict": {"margin": 0.01, "beats_baseline": True},
    }
    return terminal.table(facts | {"leaderboard": list(rows)}, {})


def finished():
    """A finished comparison as the terminal gets it."""
    data = sample.classification()
    data["recommended"] = data["verdict"]["recommended"]
    data["plan"] |= {"repeats": 1, "cv": 5}
    for row in data["leaderboard"]:
        row["as_good"] = bool(row.get("tied"))
        row["why"] = BEST if row["place"] == 1 else SAME if row["as_good"] else WORSE
        row.setdefault("p_holm", row.get("p"))
    good = [row["model"] for row in data["leaderboard"] if row["as_good"]]
    best = next(row["model"] for row in data["leaderboard"] if row["place"] == 1)
    data["verdict"] |= {"as_good": good, "best": best, "margin": 0.01, "prefer": "simple"}
    return data


def test_numbers_of_a_column_have_the_same_decimals():
    one = row("ols", 1, 1.066, rmse=1.066, r2=0.3, mae=0.8)
    lines = table("regression", "rmse", one, row("tree", 2, 1.2, rmse=1.2, r2=0.2, mae=0.79163))
    assert [line.split()[-1 if "recommended" not in line else -3] for line in lines[1:3]] == [
        "0.8000",
        "0.7916",
    ]
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("unknown", [None, float("nan")], ids=["file", "program"])
def test_no_probabilities_are_told_where_the_loss_is_not_known(unknown):
    sure = row("logistic", 1, 0.9, roc_auc=0.9, accuracy=0.8, log_loss=0.4)
    dumb = row("svm_linear", 2, 0.8, roc_auc=0.8, accuracy=0.7, log_loss=unknown)
    lines = table("classification", "roc_auc", sure, dumb)
    assert lines[0].endswith("  use") and lines[2].endswith(" no probabilities")
    assert not any("probabilities" in text for text in (lines[1], *lines[3:]))


def test_a_wide_board_keeps_to_its_width_and_its_columns():
    best = row("gradient_boosting", 1, 0.9, roc_auc=0.9, accuracy=0.8, log_loss=0.4)
    mute = row("ridge_classifier", 2, 0.8, roc_auc=0.8, accuracy=0.7, log_loss=None)
    mute |= {"as_good": False, "why": WORSE, "p": 1e-9, "ci": [0.7, 1.0]}
    late = row("svm_rbf", None, 0.0) | {"status": "timed out", "reason": "a round " * 20}
    seconds = {"models": {"gradient_boosting": {"fit": 123.456}}}
    facts = {"plan": {"metric": "roc_auc"}, "data": {"task": "classification"}}
    facts["verdict"] = {"margin": 0.01, "beats_baseline": True}
    lines = terminal.table(facts | {"leaderboard": [best, mute, late]}, seconds)
    assert max(map(len, lines)) <= 100
    assert lines[1].endswith(" 123.5 s <- recommended")
    assert lines[2].endswith(" no probabilities")
    starts = [text.index(word) for text, word in zip(lines, ("use", "<-", "no prob"))]
    assert len(set(starts)) == 1
    assert lines[0].index("model") == lines[2].index("ridge") == lines[3].index("svm_rbf")


def test_a_recommended_model_without_probabilities_is_told():
    data = finished()
    best = next(r for r in data["leaderboard"] if r["recommended"])
    assert "probabilities" not in " ".join(terminal.verdict(data))
    best["metrics"]["log_loss"] = None
    assert "It gives no probabilities." in " ".join(terminal.verdict(data))


def test_the_plan_says_how_long_it_will_take():
    plan = sample.classification()["plan"] | {"fits": 1608, "repeats": 1, "cv": 5}
    told = terminal.plan_lines(plan, "quick", "estimated 1-3 min")
    assert len(told) == 2 and max(map(len, told)) <= 100
    assert "about 1,608 fits, estimated 1-3 min (details: --plan)" in told[1]
    late = terminal.plan_lines(plan | {"test_why": "the latest rows", "folds": "time"}, "quick", "")
    assert "rows held out (the latest rows) | nested 5-fold time CV, quick search" in late[0]


@pytest.mark.parametrize("width", [50, 64, 80, 100, 120])
def test_a_board_of_any_width_has_whole_words(width):
    data = finished()
    data["leaderboard"][-1] |= {"place": None, "status": "timed out", "reason": "too slow " * 30}
    wide = terminal.board(data, {}, 10_000)
    lines = terminal.board(data, {}, width).splitlines()
    assert max(map(len, lines)) <= width
    known = {word.strip(",;") for word in wide.split()} | {"a", "wider", "terminal", "also"}
    assert {word.strip(",;") for word in " ".join(lines).split()} <= known | {"shows:"}
    heads = next(line.split() for line in lines if line.lstrip().startswith("model "))
    assert heads[:2] == ["model", "mean"] and heads[-1] == "use"
    rows = [line for line in lines if line.lstrip().startswith(("= ", "x ")) and "%" not in line]
    assert len(rows) >= sum(row["place"] is not None for row in data["leaderboard"])


def test_the_result_of_a_program_is_as_wide_as_its_terminal(monkeypatch):
    from types import SimpleNamespace

    from pellucid.report import write_report

    data = finished()
    result = SimpleNamespace(data=data, timings={})
    for columns in (60, 110):
        monkeypatch.setenv("COLUMNS", str(columns))
        longest = max(map(len, write_report.board(result).splitlines()))
        assert columns - 20 < longest <= columns
