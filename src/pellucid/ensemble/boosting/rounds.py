"""The rounds of gradient boosting.

1. Put the values of the columns into bins; start from the best constant.
2. Compute gradients and curvatures of the loss at the current predictions; record the losses; stop
   if the validation score has stalled.
3. Grow one tree per output on these, on all rows or a sample. The value of a leaf is a Newton step
   times the learning rate, shortened if the loss could grow beyond it, or follows from its residuals
   (quantiles, Huber's mean).
4. Add the trees to the predictions, in `_one_round` for the training rows.

Invariant: what is learned depends on the rows, the settings and the seed, never on threads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.boosting import shared_rows
from pellucid.ensemble.boosting.boosting_steps import Gradients
from pellucid.ensemble.boosting.losses import Objective
from pellucid.ensemble.boosting.scaling import Units, ordinary_weights, scaled, units_of
from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.ensemble.bootstrap_samples import Sampler
from pellucid.errors import DataError, ParameterError
from pellucid.parallel.shard import shard
from pellucid.records import Recorder
from pellucid.tree.histogram_bins import Bins, learn_bins
from pellucid.tree.histogram_grower import HistogramGrower, HistogramLimits

WORTH_THREADS = 2**13  # rows whose leaves are worth sorting in threads
COUNT_BITS = 26  # sums of samples stay below 2**this; the other bits are for curvatures
MOST_EXPECTED = 2**17  # nodes for which memory is reserved in advance
Before = tuple[BoostedTrees, np.ndarray]  # trees and baseline of an earlier fit


@dataclass(frozen=True)
class Settings:
    """Settings of the rounds, except the loss."""

    rounds: int
    rate: float
    limits: HistogramLimits
    max_bins: int = 255
    subsample: float = 1.0
    min_weight_share: float = 0.0
    signs: np.ndarray | None = None
    groups: np.ndarray | None = None
    # Rounds without improvement before stopping; None: no early stopping.
    patience: int | None = None
    tol: float = 0.0
    # Score of raw predictions (n, K) for early stopping; None: minus the loss.
    score: Callable[[np.ndarray, Problem], float] | None = None
    seed: np.random.SeedSequence | None = None  # None: nothing is drawn
    start: np.ndarray | None = None  # (K,), None: the best constant
    by_variance: bool = False  # splits reduce the variance of the gradients, not the loss
    leaf_penalty: float = 0.0  # in the unit of the gain of a split per weight (`ccp_alpha`)
    out_of_bag: bool = False  # whether the loss of the rows that a round does not draw is recorded


@dataclass(frozen=True)
class Outcome:
    """What the rounds learned; the scores are those for early stopping."""

    trees: BoostedTrees
    start: np.ndarray
    history: dict[str, np.ndarray]
    train_scores: np.ndarray
    validation_scores: np.ndarray
    # (rounds, 2): loss of the rows that a round did not draw, before and after it; may be empty.
    out_of_bag: np.ndarray
    gradients: Gradients | None = None  # of each round, if somebody watches


class BoostedRows:
    """Training or validation rows during the rounds: bins, targets, predictions in working units."""

    def __init__(self, problem: Problem, bins: Bins, units: Units, before: Before | None) -> None:
        self.problem, self.units, self.unweighted = problem, units, problem.unweighted
        self.words, self.y = bins.words(problem.X), units.target(problem)
        self.raw = np.ascontiguousarray(units.initial_raw(problem))
        self.weights, self.exponent = ordinary_weights(problem.weights)
        self.gradients = np.empty((len(self.raw), problem.n, 2))
        self.scores: list[float] = []
        if before is not None:
            trees = before[0]
            more = trees.add(
                problem.table,
                np.zeros((problem.n, len(self.raw))),
                trees.walkers(problem.table),
                0,
                trees.n_rounds,
            )
            self.raw += np.ldexp(more.T, -units.exponent)

    def update(self, score: Callable[[np.ndarray, Problem], float] | None) -> float:
        """Compute the gradients at the current predictions and record the score; the loss in working
        units."""
        # A loss that is not finite is refused later.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = self.units.objective.gradients(self.y, self.raw, self.weights, self.gradients)
        self.scores.append(-found if score is None else score(self.user_raw(), self.problem))
        return found

    def adapt(self) -> None:
        """Let a loss adapt to the residuals before a round."""
        if self.units.objective.adapt is not None:
            self.units.objective.adapt(self.y - self.raw[0], self.weights)

    def loss_of(self, rows: np.ndarray, share: np.ndarray) -> float:
        """The mean loss of some rows, or of a share of each; 0 without rows."""
        if not len(rows):
            return 0.0
        raw, w = np.ascontiguousarray(self.raw[:, rows]), self.weights[rows] * share
        return self.units.loss(self.units.objective.loss(self.y[rows], raw, w))

    def user_raw(self) -> np.ndarray:
        """Raw predictions (n, K) on the original scale."""
        more = self.raw - self.units.initial_raw(self.problem)
        start = self.units.start[:, None]
        return (start + np.ldexp(more, self.units.exponent)).T


@parallel.one_blas_thread()
def boost(
    objective: Objective,
    problem: Problem,
    settings: Settings,
    validation: Problem | None = None,
    before: Before | None = None,
) -> Outcome:
    """Run the rounds; the new trees come after those of `before`."""
    bins = learn_bins(  # 1
        problem.X, problem.kinds, problem.n_levels, problem.weights, settings.max_bins
    )
    units = units_of(objective, problem, settings.start if before is None else before[1])
    train = BoostedRows(problem, bins, units, before)
    held_out = None if validation is None else BoostedRows(validation, bins, units, before)
    grower, samples = _grower(train, bins, settings)
    recorder = Recorder("boosting", settings.rounds)
    unseen: list[tuple[float, float] | None] = []
    gradients = Gradients(train, settings.rounds) if recorder.watched else None
    score = settings.score if settings.patience is not None else None
    # Losses stay in working units until the end.
    power = units.loss_exponent if score is None else 0
    tol = float(scaled(settings.tol, -power))
    for number in range(0 if before is None else before[0].n_rounds, settings.rounds + 1):
        train.adapt()
        loss = units.loss(_finite(train.update(score)))  # 2
        more: dict[str, Any] = {}
        if held_out is not None:
            more["validation_loss"] = units.loss(held_out.update(score))
        recorder.add(iteration=number, objective=loss, **more)
        if number == settings.rounds or (
            held_out is not None and _stalled(held_out.scores, settings.patience, tol)
        ):
            break
        if gradients is not None:
            gradients.keep()
        unseen.append(_one_round(grower, train, settings, samples, number))  # 3
        if held_out is not None:
            grower.add_round(held_out.words, held_out.raw)  # 4
    grown, scores = grower.growth.export(), [] if held_out is None else held_out.scores
    train_scores = train.scores
    del grower, train, held_out  # frees most of the memory
    trees = trees_of(grown, bins, problem.n_levels, units)
    return Outcome(
        trees if before is None else joined(before[0], trees), units.start, recorder.history(),
        scaled(train_scores, power), scaled(scores, power),
        np.array([pair for pair in unseen if pair is not None], dtype=float).reshape(-1, 2),
        None if gradients is None else gradients.close(),
    )  # fmt: skip


def _finite(loss: float) -> float:
    if np.isfinite(loss):
        return loss
    raise DataError(
        "The loss is not finite: offsets or values of y are too far apart, or the learning_rate is too "
        "large. Rescale y, or use a smaller learning_rate."
    )


def _stalled(scores: list[float], patience: int | None, tol: float) -> bool:
    """No score of the last `patience` rounds is better, by `tol`, than the one before them."""
    if patience is None or len(scores) <= patience:
        return False
    return max(scores[-patience:]) <= scores[-patience - 1] + tol


def _grower(
    train: BoostedRows, bins: Bins, settings: Settings
) -> tuple[HistogramGrower, "Samples"]:
    """The grower in working units, and the sample counts of the rows."""
    limits, units = settings.limits, train.units
    samples = Samples.of(train.problem, settings)
    if settings.subsample < 1:
        sampler = Sampler(train.problem, settings.subsample, 1.0, False, False)
        samples = replace(samples, sampler=sampler)
    total, n = shared_rows.total(train.problem.weights), train.problem.n
    if shard() is not None:  # rows of weight 0 are those of the other side
        n = int(parallel.added(np.array([np.count_nonzero(train.problem.weights)]))[0])
    with np.errstate(over="ignore", under="ignore"):
        down = float(np.ldexp(1.0, -train.exponent - units.gradient_exponent))
        gain = float(np.ldexp(limits.min_gain * total, -train.exponent - units.loss_exponent))
    # Weights that sum to 1 must not forbid every split.
    curvature = limits.min_curvature * min(1.0, total / n)
    working = replace(
        limits, l2=limits.l2 * down, min_curvature=curvature * down, min_gain=gain,
        min_samples_leaf=samples.fewest, steep=units.objective.steep,
    )  # fmt: skip
    outputs, own = units.objective.outputs, bins.column
    signs = None if settings.signs is None else settings.signs[own]
    groups = None if settings.groups is None else np.ascontiguousarray(settings.groups[:, own])
    grower = HistogramGrower(bins, train.words, working, outputs, samples.counts, signs, groups)
    leaves = min(limits.max_leaves, train.problem.n // max(int(limits.min_samples_leaf), 1) + 1)
    grower.growth.expect(min(2 * leaves * outputs * settings.rounds, MOST_EXPECTED))
    return grower, samples


@dataclass(frozen=True)
class Samples:
    """Number of samples that each row counts for: its weight if weights are integers, else 1 (int32)."""

    counts: np.ndarray  # empty: 1 each
    fewest: float  # smallest number in a leaf
    unit: float = 1.0  # weight of a sample, if leaves need a share of the total weight
    sampler: Sampler | None = None  # draws the rows of a round; None: all

    @classmethod
    def of(cls, problem: Problem, settings: Settings) -> "Samples":
        w, limits, share = problem.weights, settings.limits, settings.min_weight_share
        fewest = limits.min_samples_leaf
        if problem.unweighted or (not problem.counts and share == 0 and shard() is None):
            return cls(np.empty(0, dtype=np.int32), max(fewest, share * problem.n))
        if not problem.counts and shard() is not None:
            return cls((w > 0).astype(np.int32), fewest)
        # Counts above every limit are clipped: no decision changes, and the bits are for curvatures.
        top = min(max(2.0 * fewest, limits.min_samples_split, 20.0), 2.0**30)
        if problem.counts and share == 0:
            cut = shared_rows.total(w) > 2.0**COUNT_BITS
            top = top if cut else float(parallel.largest(w.max()))
            return cls(np.minimum(w, top).astype(np.int32), fewest)
        unit = float(w.sum() / 2.0**COUNT_BITS)
        if problem.counts and unit <= 1:
            return cls(w.astype(np.int32), max(fewest, share * float(w.sum())))
        if fewest > 1 or limits.min_samples_split > 2:
            raise ParameterError(
                "With non-integer weights, min_weight_fraction_leaf cannot be combined "
                "with min_samples_leaf or min_samples_split. Use one of them."
            )
        counts = np.maximum(w / unit, 1.0).astype(np.int32)
        return cls(counts, share * float(counts.sum()), unit)

    def draw(self, weights: np.ndarray) -> None:
        """Count the drawn weights instead (in place)."""
        if len(self.counts):
            top = self.counts.max()
            self.counts[:] = np.minimum(weights / self.unit, top).astype(np.int32)


def _one_round(
    grower: HistogramGrower, train: BoostedRows, settings: Settings, samples: Samples, number: int
) -> tuple[float, float] | None:
    """Grow the trees of a round. Returns the mean loss of the samples that were not drawn, before and
    after; None if all were drawn."""
    n, K = train.problem.n, len(train.raw)
    rows, keys, weights = None, np.zeros(K, dtype=np.uint64), train.weights
    out, share, before, penalty = np.empty(0, dtype=np.int64), np.empty(0), 0.0, 0.0
    if settings.seed is not None:
        stream = parallel.stream(settings.seed, "round", number)
        keys = stream.integers(0, 2**64, K, dtype=np.uint64)
        if samples.sampler is not None:
            drawn = samples.sampler.draw(stream).weights
            rows = np.flatnonzero(drawn != 0).astype(np.int32)  # ten times as fast as of `drawn`
            share = drawn if train.unweighted else drawn / train.problem.weights
            weights = train.weights * share
            if not train.unweighted:  # only a part of a row may be drawn
                train.gradients *= share[:, None]
            if settings.out_of_bag:
                out = np.flatnonzero(share < 1)
                before = train.loss_of(out, 1 - share[out])
            samples.draw(drawn)
    if settings.leaf_penalty:
        total = settings.leaf_penalty * float(weights.sum())
        penalty = float(scaled(total, -train.units.loss_exponent))
    whole, renew = rows is None or len(rows) == n, train.units.objective.renew
    update = whole and renew is None
    scored = np.ascontiguousarray(weights) if settings.by_variance else None
    grower.grow(train.gradients, rows, keys, train.raw, settings.rate, penalty, update, scored)
    if renew is not None:
        residuals = train.y - train.raw[0]
        leaves = [own for _, own in grower.growth.leaf_rows()]
        jobs = None if n >= WORTH_THREADS else 1
        values = parallel.map(lambda own: renew(residuals[own], weights[own]), leaves, jobs)
        grower.growth.set_values(np.array(values), whole)
    grower.growth.store()
    if not whole:
        grower.add_round(train.words, train.raw)
    return (before, train.loss_of(out, 1 - share[out])) if len(out) else None


def trees_of(grown: Any, bins: Bins, n_levels: np.ndarray, units: Units) -> BoostedTrees:
    """The exported trees, with thresholds, levels and values on the original scale."""
    nodes, bin_sets, start = grown
    feature, at = nodes["feature"], nodes["bin"]
    with np.errstate(over="ignore"):
        value = np.ldexp(nodes["value"], units.exponent, out=nodes["value"])
    if not np.isfinite(value).all():
        raise DataError("The values of y are too far apart: a leaf has no finite value. Rescale y.")
    threshold = np.zeros(len(feature))
    for j, cuts in enumerate(bins.thresholds):
        own = (feature == j) & (nodes["set_at"] < 0)
        threshold[own] = np.append(cuts, np.inf)[at[own]]
    set_start, sets = _level_sets(nodes, bin_sets, bins, n_levels)
    column = np.append(bins.column, np.int32(-1))  # a leaf has none
    return BoostedTrees(
        start=start, feature=column[feature], threshold=threshold, left=nodes["left"],
        right=nodes["right"], missing_left=nodes["missing_left"],
        set_start=set_start, sets=sets, value=value, gain=nodes["gain"],
        n_samples=nodes["c"], weight=nodes["h"], n_levels=n_levels,
        n_outputs=units.objective.outputs,
    )  # fmt: skip


def _level_sets(
    nodes: dict[str, np.ndarray], bin_sets: np.ndarray, bins: Bins, n_levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sets of bins as sets of levels, 32 to a word."""
    set_start = np.full(len(nodes["set_at"]), -1, dtype=np.int32)
    parts, length = [np.empty(0, dtype=np.uint32)], 0
    for i in np.flatnonzero(nodes["set_at"] >= 0):
        j = nodes["feature"][i]
        words = bin_sets[nodes["set_at"][i]].view(np.uint8)
        goes_left = np.unpackbits(words, bitorder="little")[bins.bin_of[j]]
        packed = np.zeros(-(-int(n_levels[bins.column[j]]) // 32) * 4, dtype=np.uint8)
        packed[: -(-len(goes_left) // 8)] = np.packbits(goes_left, bitorder="little")
        set_start[i] = length
        parts.append(packed.view(np.uint32))
        length += len(parts[-1])
    return set_start, np.concatenate(parts)


def joined(a: BoostedTrees, b: BoostedTrees) -> BoostedTrees:
    """The trees of both, in this order."""
    both = {
        name: np.concatenate((getattr(a, name), getattr(b, name)))
        for name in ("feature", "threshold", "left", "right", "missing_left", "sets", "value",
                     "gain", "n_samples", "weight")
    }  # fmt: skip
    moved = np.where(b.set_start >= 0, b.set_start + len(a.sets), -1).astype(np.int32)
    return BoostedTrees(
        start=np.concatenate((a.start, b.start[1:] + a.start[-1])),
        set_start=np.concatenate((a.set_start, moved)),
        n_levels=a.n_levels,
        n_outputs=a.n_outputs,
        **both,
    )
