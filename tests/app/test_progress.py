"""Progress lines and the board: what is told of a model, and what a resumed run knows already."""

import re

import pytest

from pellucid.app.messages import Messages
from pellucid.app.progress import Board, Lines
from pellucid.comparison.analysis.pairs import interval_of_folds
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.time_estimate import cheap_first

SCORES = [0.9, 1.0, 0.95, 0.97, 0.93]


@pytest.fixture(scope="module")
def plan():
    return prepare("iris", Settings.of({"models": "tree,knn", "effort": "quick"}))[0]


def done(model, fold, score=0.9, **more):
    metrics = {"accuracy": score}
    return {"event": "done", "model": model, "fold": str(fold), "metrics": metrics, **more}


def through(progress, model, **more):
    for fold, score in enumerate(SCORES):
        if not more:
            progress.update({"event": "started", "model": model, "fold": str(fold)})
        progress.update(done(model, fold, score, **more))


def test_a_line_has_the_mean_its_margin_and_the_time_of_the_model(plan, capsys):
    through(Lines(Messages(), plan), "tree")
    line = capsys.readouterr().err
    low, high = interval_of_folds(plan, SCORES)
    assert re.fullmatch(r" tree +scored +0\.950 \+-0\.\d{3} +0\.\d s\n", line)
    assert float(line.split("+-")[1].split()[0]) == pytest.approx((high - low) / 2, rel=0.1)


def test_a_score_that_does_not_exist_has_no_margin(plan, capsys):
    lines = Lines(Messages(), plan)
    for fold in range(5):
        lines.update(done("tree", fold, None))
    assert re.fullmatch(r" tree +scored +n/a +earlier\n", capsys.readouterr().err)


def test_a_resumed_run_tells_of_models_that_were_begun_before(plan, capsys):
    lines = Lines(Messages(), plan)
    through(lines, "tree", recalled=True)
    for fold, score in enumerate(SCORES[:3]):
        lines.update(done("knn", fold, score, recalled=True))
    assert capsys.readouterr().err.split()[:3] == ["tree", "scored", "0.950"]
    lines.update(done("knn", 2))  # done again, because its answers were lost
    assert capsys.readouterr().err == ""
    for fold in (3, 4):
        lines.update({"event": "started", "model": "knn", "fold": str(fold)})
        lines.update(done("knn", fold, SCORES[fold]))
    assert "knn                scored  0.950 +-" in capsys.readouterr().err


def test_the_board_tells_what_is_done_and_what_is_left(plan):
    board = Board(Messages(), plan)
    through(board, "tree")
    board.update({"event": "started", "model": "knn", "fold": "0"})
    board.update(done("knn", 0))
    board.update({"event": "candidate", "model": "knn", "fold": "1", "candidate": 1})
    lines = board.board(100).splitlines()
    assert max(map(len, lines)) <= 100
    own = {line.split()[0]: line for line in lines[:3]}  # a line for each, from the start
    assert list(own) == [c.id for c in cheap_first(plan)]
    assert "scored  0.950" in own["tree"] and own["tree"].endswith("<- leading")
    assert f" {'#' * 16}---- " in own["tree"]  # five of six rounds
    assert re.search(r"fold 2/5, candidate 2/3 +0 s +~0 s left", own["knn"])
    assert own["majority"].split() == ["majority", "-" * 20, "waiting"]
    assert re.match(r" total +#{6}-{14}   33 %  elapsed 0:00", lines[3])  # 6 of 18 rounds
    assert "  cross-validation" in " ".join(lines[3:])


def test_a_bar_is_full_when_a_model_is_done_and_not_before(plan):
    board = Board(Messages(), plan)
    through(board, "tree")
    assert "scored" in board.board() and "done" not in board.board().split("keeps")[0]
    board.update({"event": "started", "model": "tree", "fold": "final"})
    assert board.phase == "final fits on all training rows"
    board.update(done("tree", "final"))
    for width, size in ((80, 10), (120, 20)):
        assert f" tree               {'#' * size}  done    0.950 +-" in board.board(width)
    board.update({"event": "finishing", "model": "tree"})
    assert "testing and explaining tree" in board.board()


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_board_keeps_to_the_terminal(plan, width):
    board = Board(Messages(), plan)
    through(board, "tree")
    why = {"how": "failed", "why": "a reason of many words " * 9}
    board.update({"event": "failed", "model": "majority", **why})
    board.update({"event": "candidate", "model": "knn", "fold": "1", "candidate": 1})
    lines = board.board(width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.endswith("<- leading") for line in lines)
    low = board.board(width, height=3).splitlines()
    assert "1 finished model not shown" in low[0] and any("tree" in line for line in low)


def test_scores_and_margins_of_a_run_have_the_same_decimals():
    numbers = prepare("tips", Settings.of({"models": "tree,knn", "effort": "quick"}))[0]
    lines = Lines(Messages(), numbers)
    assert lines.shown(1.0661) == "1.066" and lines.shown(12.3) == "12.300"
    assert lines.shown(0.04) == "0.040" and lines.shown(1e-5) == "1e-5"
    shares = Lines(Messages(), prepare("iris", Settings.of({"effort": "quick"}))[0])
    assert [shares.shown(v) for v in (0.04, 0.058, 1.0)] == ["0.040", "0.058", "1.000"]


def test_what_was_done_before_says_nothing_of_the_time(plan):
    board = Board(Messages(), plan)
    board.began -= 60
    through(board, "tree", recalled=True)
    assert "left" not in board.total()
    through(board, "knn")
    assert " left " in board.total()
