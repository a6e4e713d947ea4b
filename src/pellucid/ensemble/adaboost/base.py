"""What the AdaBoosts share: when the turns end, who decides then, and rows drawn by weight.

Invariant: a perfect learner outweighs all before it together, so it decides alone.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import EACH, copies_of
from pellucid.ensemble.base_estimators import takes_weights
from pellucid.ensemble.bootstrap_samples import Bag, Drawer
from pellucid.records import Status
from pellucid.tree.base import TreeModel

NO_BETTER = 1e-12  # than chance: an error that is lower by less is rounding


def decisive(before: np.ndarray) -> float:
    """The weight of a perfect learner after others of these weights."""
    return 1.0 + 2.0 * float(before.sum())


def drawn(problem: Problem, w: np.ndarray, seed: Any, t: int) -> Bag:
    """As many rows as the table stands for, drawn by weight, for learner t that takes no weights."""
    drawer = Drawer(problem.reweight(w), int(problem.total), 1.0, True, False)
    return drawer.draw(parallel.stream(seed, "bag", t))


def by_samples(problem: Problem, learner: Any) -> Problem:
    """The problem with a row for each sample, if the learner may count them: weights that change
    from turn to turn do not say how many samples a row is. Beyond `EACH` of them, and four times the
    rows, a row stays one."""
    copies = copies_of(problem.weights)
    if copies is None or not _counts(learner) or copies.sum() > max(EACH, 4 * problem.n):
        return problem
    rows = np.repeat(np.arange(problem.n), copies)
    return problem.gathered().take(rows, np.ones(len(rows)))


def _counts(learner: Any) -> bool:
    """Whether the number of samples can matter to a learner that is given weights."""
    if not isinstance(learner, TreeModel):
        return takes_weights(learner)
    limits = (learner.min_samples_leaf, learner.min_samples_split)
    return limits != (1, 2) or learner.ccp_alpha == "cv"


def told(errors: np.ndarray, learners: int, limit: float, classes: bool) -> Status:
    """How the turns ended; `errors` are 1 where there is no learner, from `limit` on one is useless:
    of classes that is chance."""
    error, useless = float(errors[learners - 1]), limit - NO_BETTER
    if learners == 1 and classes and error > limit + NO_BETTER:
        return Status(
            "worse_than_chance",
            f"The first learner has the error {error:.3g}, where guesses have {limit:.3g}: no other can "
            "follow it, and the model is worse than guesses.",
            "Use another estimator.",
        )
    if error <= 0:
        return Status("early_stopped", f"Learner {learners} makes no mistake: it decides alone.")
    if learners == len(errors) and error < useless:
        return Status("ok", f"{learners} learners took their turns, as asked.")
    which = 1 if error >= useless else learners + 1
    why = "is no better than chance" if classes else "has a mean loss of one half or more"
    return Status("early_stopped", f"Learner {which} {why}: the turns ended there.")
