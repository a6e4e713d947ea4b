"""Declarations, texts and small functions that all gradient boosting classes share."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.parameters import Integer, Real, param, shared

LEARNING_RATE = param(
    0.1,
    Real(0, None, "neither"),
    "Factor for the values of each tree. Smaller values need more rounds.",
)
ROUNDS = param(
    100,
    Integer(1),
    "Number of rounds. A round adds one tree, or one per class if there are more than two.",
)
SUBSAMPLE = param(
    1.0,
    Real(0, 1, "right"),
    "Share of the samples that is drawn, without replacement, for each tree.",
)
CONTINUE = shared.WARM_START.replace(
    description="Whether to keep the trees of the last fit and to add more."
)
TOL = param(0.0, Real(0, None), "Smallest improvement of the score that counts in early stopping.")

TREES = "The trees of all rounds as plain arrays of their nodes."
BASELINE = "Raw prediction before the first tree, one number for each output."
LOSSES_BY_ROUND = (
    "Mean loss before the first and after each round, as a dict of arrays: 'iteration', 'objective' "
    "(training rows) and, with early stopping, 'validation_loss'."
)
N_ROUNDS = "Number of rounds; fewer than the parameter if boosting stopped early."
TREES_PER_ROUND = "Number of trees in a round: 1, or the number of classes if it is above two."
VALIDATION_SEED = "Seed of the validation rows, if they were split from the training rows."


def seed_if(drawing: bool, random_state: Any) -> np.random.SeedSequence | None:
    """The seed of a fit that draws; a fit that does not draw needs none."""
    return parallel.seed_sequence(random_state) if drawing else None
