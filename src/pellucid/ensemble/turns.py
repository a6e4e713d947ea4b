"""What the AdaBoosts share: when the turns end, who decides then, and rows drawn by weight.

Invariant: a perfect learner outweighs all before it together, so it decides alone.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.bags import Bag, Drawer
from pellucid.records import Status

NO_BETTER = 1e-12  # than chance: an error that is lower by less is rounding


def decisive(before: np.ndarray) -> float:
    """The weight of a perfect learner after others of these weights."""
    return 1.0 + 2.0 * float(before.sum())


def drawn(problem: Problem, w: np.ndarray, seed: Any, t: int) -> Bag:
    """As many rows as the table stands for, drawn by weight, for learner t that takes no weights."""
    drawer = Drawer(problem.reweight(w), int(problem.total), 1.0, True, False)
    return drawer.draw(parallel.stream(seed, "bag", t))


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
