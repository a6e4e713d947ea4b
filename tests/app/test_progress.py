"""Progress lines and the board: what is told of a model, and what a resumed run knows already."""

import re

import pytest

from pellucid.app.progress import Board, Lines
from pellucid.app.voice import Voice
from pellucid.compare.pairs import interval_of_folds
from pellucid.compare.prepare import prepare
from pellucid.compare.settings import Settings

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
            progress.hear({"event": "started", "model": model, "fold": str(fold)})
        progress.hear(done(model, fold, score, **more))


def test_a_line_has_the_mean_its_margin_and_the_time_of_the_model(plan, capsys):
    through(Lines(Voice(), plan), "tree")
    line = capsys.readouterr().err
    low, high = interval_of_folds(plan, SCORES)
    assert re.fullmatch(r" tree +done +0\.95 +\+-0\.\d+ +0\.\d s\n", line)
    assert float(line.split("+-")[1].split()[0]) == pytest.approx((high - low) / 2, rel=0.1)


def test_a_score_that_does_not_exist_has_no_margin(plan, capsys):
    lines = Lines(Voice(), plan)
    for fold in range(5):
        lines.hear(done("tree", fold, None))
    assert re.fullmatch(r" tree +done +n/a +earlier\n", capsys.readouterr().err)


def test_a_resumed_run_tells_of_models_that_were_begun_before(plan, capsys):
    lines = Lines(Voice(), plan)
    through(lines, "tree", recalled=True)
    for fold, score in enumerate(SCORES[:3]):
        lines.hear(done("knn", fold, score, recalled=True))
    assert capsys.readouterr().err.split()[:3] == ["tree", "done", "0.95"]
    lines.hear(done("knn", 2))  # done again, because its answers were lost
    assert capsys.readouterr().err == ""
    for fold in (3, 4):
        lines.hear({"event": "started", "model": "knn", "fold": str(fold)})
        lines.hear(done("knn", fold, SCORES[fold]))
    assert capsys.readouterr().err.split()[:3] == ["knn", "done", "0.95"]


def test_the_board_tells_what_is_done_and_what_is_left(plan):
    board = Board(Voice(), plan)
    through(board, "tree")
    board.hear({"event": "started", "model": "knn", "fold": "0"})
    board.hear(done("knn", 0))
    board.hear({"event": "candidate", "model": "knn", "fold": "1", "candidate": 1})
    lines = board.board().splitlines()
    assert max(map(len, lines)) <= 96
    assert "done   0.95" in lines[0] and lines[0].endswith("<- leading")
    assert re.search(r"fold 2/5, candidate 2/3 +0 s +left ~0 s", lines[1])
    assert lines[2].split() == ["majority", "...", "waiting"]
    assert re.match(r" total #{7}-{13}  33 %  elapsed 0:00", lines[3])  # 6 of 18 rounds


def test_what_was_done_before_says_nothing_of_the_time(plan):
    board = Board(Voice(), plan)
    board.began -= 60
    through(board, "tree", recalled=True)
    assert "left" not in board.total()
    through(board, "knn")
    assert "left ~" in board.total()
