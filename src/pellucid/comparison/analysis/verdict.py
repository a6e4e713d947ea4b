"""Which models are as good as the best, and which one is recommended: rules fixed in advance.

1. Some model is better than the baseline if p < 0.05 for the model with the highest score, or for any
   after Holm's correction. If none is, the baseline is recommended. Ranking metrics (AUC) require
   p < ALPHA_OF_RANKING for the highest score: without signal, AUCs scatter around the baseline, so the
   highest of many is high by selection; by other metrics such models fall below the baseline.
2. If some model is better, only models that are (p < 0.05) can be as good as the best, which is the
   highest score among them.
3. One of these is as good as the best if it loses less than `margin` of what the best gains over the
   baseline, or if it is not significantly worse (Holm over them) and its loss times 1 - p is at most
   MAX_LOST of that gain: a large loss is not acceptable merely because few rows cannot prove it.
4. Marks follow the order of scores: no model below one that is not as good as the best is as good as
   the best (except for a baseline that no model beats).
5. Recommended is the simplest of those as good as the best (`prefer="simple"`; among equally simple
   ones that with the lowest loss), or the best itself (`prefer="score"`).

All functions take and return plain numbers. Invariant: leaderboard, pairwise matrix, conclusion and
report all use the same `Verdict`, so they cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pellucid.comparison.analysis.statistics import LEVEL, holm
from pellucid.model_selection.metrics import Metric

MARGIN = 0.01
MAX_LOST = 0.1  # share of the best's gain over the baseline that a model may lose, times 1 - p
ALPHA_OF_RANKING = 0.02  # significance level for the highest of many AUCs against the baseline
BEST, SAME, NEAR = "best", "not significantly worse", "within the margin"
WORSE, LOWER = "significantly worse", "below a model that is not as good"
FAR = f"probably loses more than {MAX_LOST:.0%} of the best's gain over the baseline"
NO_BETTER, BELOW = "not significantly better than the baseline", "below the baseline"


@dataclass(frozen=True)
class Mark:
    """The comparison of a model with the best: p, Holm's p, p against the baseline, the share of the
    best's gain over the baseline that it loses, whether it is as good as the best, and why."""

    p: float | None
    p_holm: float | None
    p_baseline: float | None
    lost: float | None
    as_good: bool
    why: str


@dataclass(frozen=True)
class Verdict:
    """All marks, the best model, the recommended one, and whether some model beats the baseline."""

    marks: dict[str, Mark]
    best: str | None
    recommended: str | None
    beats_baseline: bool


@dataclass(frozen=True)
class Board:
    """Scores (higher is better), and the two-sided p of any pair (NaN if unknown)."""

    scores: Mapping[str, float]
    p_of: Callable[[str, str], float]
    baseline: str
    margin: float = MARGIN
    alpha: float = 1 - LEVEL

    @property
    def order(self) -> list[str]:
        """Models by score, the highest first."""
        return sorted(self.scores, key=lambda name: (-self.scores[name], name))

    def above(self, name: str) -> bool:
        """Whether a model scores higher than the baseline (or there is none)."""
        return self.scores[name] > self.scores.get(self.baseline, float("-inf"))

    def better(self) -> list[str]:
        """Rule 1: the models that are significantly better than the baseline."""
        above = [name for name in self.order if self.above(name) and name != self.baseline]
        if self.baseline not in self.scores:
            return above
        p = [self.p_of(name, self.baseline) for name in above]
        opened = any(q < self.alpha for q in p[:1]) or any(q < 1 - LEVEL for q in holm(p))
        return [name for name, q in zip(above, p) if q < 1 - LEVEL] if opened else []

    def gain(self, best: str) -> float:
        """The gain of a model over the baseline; NaN without a baseline."""
        return self.scores[best] - self.scores.get(self.baseline, float("nan"))


def baseline_alpha(metric: Metric) -> float:
    """Significance level at which the highest score beats the baseline."""
    return ALPHA_OF_RANKING if metric.needs == "scores" else 1 - LEVEL


def judge(
    board: Board, ranks: Mapping[str, int], losses: Mapping[str, float], prefer: str = "simple"
) -> Verdict:
    """Apply all rules."""
    better = board.better()
    pool = better or [n for n in board.order if board.above(n) or n == board.baseline]
    if not pool:
        return Verdict({}, None, None, False)
    best = pool[0]
    marks = _within(board, pool, best, board.gain(best) if better else float("nan"))
    for name in board.order:
        if name not in marks:
            p, why = _known(board.p_of(best, name)), _outside(board, name)
            marks[name] = Mark(p, None, None, None, False, why)
    if not better and board.baseline in marks and best != board.baseline:  # rule 1
        marks[board.baseline] = replace(marks[board.baseline], as_good=True, why=SAME)
    marks = {name: _against_baseline(board, best, name, marks[name]) for name in board.order}
    wanted = best if better and prefer == "score" else recommend(marks, ranks, losses)
    return Verdict(marks, best, wanted, bool(better))


def _within(board: Board, pool: list[str], best: str, gain: float) -> dict[str, Mark]:
    """Rules 3 and 4, for the models that can be as good as the best; `gain` is NaN if none gains."""
    others = pool[1:]
    p = [board.p_of(best, name) for name in others]
    fallen = False
    marks = {best: Mark(None, None, None, None, True, BEST)}
    for name, unadjusted, adjusted in zip(others, p, holm(p)):
        lost = board.scores[best] - board.scores[name]
        far = lost * (1 - unadjusted) > MAX_LOST * gain
        why = _reason(adjusted < 1 - LEVEL, lost <= board.margin * gain, far)
        why = LOWER if fallen and why in (SAME, NEAR) else why
        fallen = fallen or why in (WORSE, FAR)
        marks[name] = Mark(_known(unadjusted), _known(adjusted), None, None, not fallen, why)
    return marks


def _reason(significant: bool, near: bool, far: bool) -> str:
    """Rule 3."""
    if significant:
        return NEAR if near else WORSE
    return FAR if far and not near else SAME


def _outside(board: Board, name: str) -> str:
    """Why a model cannot be as good as the best, which is better than the baseline."""
    if name == board.baseline:
        return WORSE
    return BELOW if board.scores[name] < board.scores[board.baseline] else NO_BETTER


def _against_baseline(board: Board, best: str, name: str, mark: Mark) -> Mark:
    gain = board.gain(best)
    lost = (board.scores[best] - board.scores[name]) / gain if gain > 0 else None
    p = None
    if name != board.baseline and board.baseline in board.scores:  # it may have timed out
        p = _known(board.p_of(name, board.baseline))
    return replace(mark, p_baseline=p, lost=lost)


def _known(p: float) -> float | None:
    return p if p == p else None


def recommend(
    marks: Mapping[str, Mark], ranks: Mapping[str, int], losses: Mapping[str, float]
) -> str | None:
    """The simplest model as good as the best, then the lowest loss, then by name."""
    good = [name for name, mark in marks.items() if mark.as_good]

    def order(name: str) -> tuple[int, float, str]:
        loss = losses.get(name, float("nan"))
        return ranks[name], loss if loss == loss else float("inf"), name

    return min(good, key=order, default=None)
