"""The board as plain text: columns of numbers, and what n/a means."""

from pellucid.report import terminal
from tests.report import sample


def row(model, place, mean, **metrics):
    return {
        "model": model, "place": place, "status": "ok", "reason": "", "mean": mean,
        "ci": [mean - 0.1, mean + 0.1], "tied": True, "p": None if place == 1 else 0.4,
        "metrics": metrics, "notes": [], "recommended": place == 1, "baseline": False,
    }  # fmt: skip


def table(task, metric, *rows):
    return terminal.table(
        {"plan": {"metric": metric}, "data": {"task": task}, "leaderboard": list(rows)}, {}
    )


def test_numbers_of_a_column_have_the_same_decimals():
    one = row("ols", 1, 1.066, rmse=1.066, r2=0.3, mae=0.8)
    lines = table("regression", "rmse", one, row("tree", 2, 1.2, rmse=1.2, r2=0.2, mae=0.79163))
    assert [line.split()[-1 if "recommended" not in line else -3] for line in lines[1:3]] == [
        "0.8000",
        "0.7916",
    ]
    assert all(line == line.rstrip() for line in lines)


def test_no_probabilities_are_told_where_the_loss_is_not_known():
    sure = row("logistic", 1, 0.9, roc_auc=0.9, accuracy=0.8, log_loss=0.4)
    dumb = row("svm_linear", 2, 0.8, roc_auc=0.8, accuracy=0.7, log_loss=None)
    told = "n/a log loss: the model gives no probabilities"
    assert told in "\n".join(table("classification", "roc_auc", sure, dumb))
    assert told not in "\n".join(table("classification", "roc_auc", sure, sure | {"place": 2}))


def test_the_plan_says_how_long_it_will_take():
    plan = sample.classification()["plan"] | {"fits": 1608, "repeats": 1, "cv": 5}
    told = "\n".join(terminal.plan_lines(plan, "quick", "estimated 1-3 min"))
    assert "about 1,608 fits, estimated 1-3 min on an idle machine" in told
    assert max(map(len, told.splitlines())) <= 96
