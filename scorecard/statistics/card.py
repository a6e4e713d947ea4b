"""Both stages, the printed tables and the verdict.

The tables have percentages; "a>b" are the rule by folds and the rule that is judged.

alarms        equally good models that differ significantly
cover         intervals that cover the expected score of models fitted to tables of this size
fitted        intervals that cover the mean true score of the five fitted models
single, Holm  power for the smaller and the larger difference, without and with correction
found         how often the weaker model, and the trees, are significantly worse than the best

"!" marks figures that break their promise.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scorecard.statistics import store, verdict
from scorecard.statistics.cells import Cell, cells
from scorecard.statistics.rates import (
    COMPARISONS,
    Boards,
    Noise,
    Pairs,
    Rate,
    judge_boards,
    judge_noise,
    judge_pairs,
)
from scorecard.statistics.rules import BEFORE, NOW, Rule
from scorecard.statistics.simulate import simulate
from scorecard.statistics.verdict import Figure

QUICK_BOARDS = ("board-normal-all-300", "noise-normal-all-60")
SLACK, SLACK_OF_FEW = 2.0, 3.5  # in Monte Carlo errors; with few tables some figure lies far out
PAIRS = (
    "    n data      learner  metric     alarms    cover     fitted    single          Holm over 17"
)
BOARDS = "\n    n data      17 models, metric    weak found  trees found  false alarms"
NOISE = "\n    n data      noise, metric        baseline recommended"


def check(quick: bool, cache: str | None) -> list[Figure]:
    """Both stages, for the scorecard."""
    with tempfile.TemporaryDirectory() as folder:
        selected, where = chosen(quick, None), Path(cache or folder)
        simulate(selected, where, 1 if quick else os.cpu_count() or 1)
        return conclusions(selected, where, quick, [NOW])


def chosen(quick: bool, tables: int | None) -> list[Cell]:
    """All cells; with `quick` only linear models and trees, with few rows and tables."""
    if not quick:
        return cells(tables or 400)
    few = cells(tables or 30, (60, 300))
    pairs = [
        cell
        for cell in few
        if cell.learner in ("linear", "tree") and cell.data in ("classes", "normal")
    ]
    boards = [cell for cell in few if cell.learner == "all" and cell.data == "normal"]
    return [*pairs, *(cell for cell in boards if cell.name in QUICK_BOARDS)]


def conclusions(
    selected: Sequence[Cell], cache: Path, quick: bool, judged: Sequence[Rule]
) -> list[Figure]:
    """Judge each rule; print all figures, then those that break a promise."""
    slack, figures = SLACK_OF_FEW if quick else SLACK, []
    for rule in judged:
        own = judge(cache, selected, rule, slack)
        broken = [figure for figure in own if not figure.kept]
        print(f"\n{rule.name}: {len(own) - len(broken)} of {len(own)} figures keep their promise")
        print("".join(f"  {figure}\n" for figure in broken), flush=True)
        figures += own
    return figures


def judge(cache: Path, selected: Sequence[Cell], rule: Rule, slack: float) -> list[Figure]:
    """Print the conclusions of the rule in every stored cell; return all figures."""
    figures: list[Figure] = []
    print(f"{BEFORE.name} > {rule.name}")
    for arm, (header, count, promises, line) in ARMS.items():
        print(header)
        for cell in _stored(cache, selected, arm):
            found = count(cache, cell, [BEFORE, rule])
            for before, now in zip(_of(found, BEFORE), _of(found, rule)):
                own = list(promises(now, before, slack))
                print(line(before, now, own), flush=True)
                figures += own
    return figures


def _stored(cache: Path, selected: Sequence[Cell], arm: str) -> Iterable[Cell]:
    """The stored cells, by number of rows."""
    own = [cell for cell in selected if cell.arm == arm and store.stored(cache, cell)]
    return sorted(own, key=lambda cell: cell.n)


def _of(found: list[Any], rule: Rule) -> list[Any]:
    return [one for one in found if one.rule == rule.name]


def _pair_line(before: Pairs, now: Pairs, figures: list[Figure]) -> str:
    cell = now.cell
    broken = {figure.promise for figure in figures if not figure.kept}
    single = [_powers(one, 1) for one in (before, now)]
    holm = [_powers(one, COMPARISONS) for one in (before, now)]
    mark = "!" if any(promise.startswith("power") for promise in broken) else ""
    return (
        f"{cell.n:5} {cell.data:9} {cell.learner:8} {now.metric:9} "
        f"{_both(before.alarms(), now.alarms(), 'false alarms' in broken)} "
        f"{_both(before.coverage(), now.coverage(), False)} "
        f"{_both(before.coverage(True), now.coverage(True), 'coverage' in broken)} "
        f"{'>'.join(single):15} {'>'.join(holm)}{mark}"
    ).rstrip(" >")


def _board_line(before: Boards, now: Boards, figures: list[Figure]) -> str:
    return (
        f"{now.cell.n:5} {now.cell.data:9} {now.metric:20} "
        f"{_both(before.weak_found, now.weak_found, False)}  "
        f"{_both(before.trees_found, now.trees_found, False)}  "
        f"{_both(before.false_alarms, now.false_alarms, not figures[0].kept)}"
    )


def _noise_line(before: Noise, now: Noise, figures: list[Figure]) -> str:
    both = _both(before.baseline, now.baseline, any(not figure.kept for figure in figures))
    return f"{now.cell.n:5} {now.cell.data:9} {now.metric:20} {both}"


def _both(before: Rate, now: Rate, broken: bool) -> str:
    return f"{100 * before.share:4.1f}>{100 * now.share:4.1f}{'!' if broken else ' '}"


def _powers(one: Pairs, comparisons: int) -> str:
    found = [one.power(other, comparisons) for other in ("weak", "weaker")]
    return " ".join(f"{100 * power.share:3.0f}" for power in found if power is not None)


# arm: header, counting function, promises, formatter of a line
ARMS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any], Callable[..., str]]] = {
    "pair": (PAIRS, judge_pairs, verdict.of_pairs, _pair_line),
    "board": (BOARDS, judge_boards, verdict.of_boards, _board_line),
    "noise": (NOISE, judge_noise, verdict.of_noise, _noise_line),
}
