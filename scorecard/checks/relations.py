"""Rows 7, 13 and 14: trees against every possible split; weights, row and column order; threads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pellucid import parallel
from pellucid.tree.grower import grow
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits
from scorecard.runner import Case, counted
from tests.contract.classes import exemptions, parameters, public_classes, weighted
from tests.contract.compare import answers, assert_close, assert_same_bits, fitted, learned
from tests.contract.data import Sample, frame, numbers
from tests.contract.test_weights import answers_of_new_rows, assert_weights_are_repetition
from tests.tree import test_splits

ORDER = "order_of_rows_does_not_matter"


def trees(share: float) -> Iterator[Case]:
    """Every node of a tree against a brute-force oracle, on small random tables."""
    for number in counted(2000, share):
        criterion = test_splits.CRITERIA[number % len(test_splits.CRITERIA)]
        yield Case(f"{criterion} {number}", partial(_best_splits, criterion, number))


def _best_splits(criterion: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 7])
    n, d = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    X, kinds, n_levels = test_splits.random_table(rng, n, d)
    y, k = test_splits.random_target(rng, n, criterion)
    if not k:  # nearly equal numbers would make ties that rounding decides
        y = np.maximum(np.round(y * 64), 1) / 64 if criterion == "gamma" else np.round(y * 64) / 64
    w = test_splits.random_weights(rng, n)
    leaf = int(rng.choice([1, 1, 2, 3]))
    limits = Limits(min_samples_leaf=leaf)
    nodes = grow(presort(X, kinds, n_levels), y, w, criterion, limits, k)
    rows, weight = (1, leaf) if (w == np.floor(w)).all() else (leaf, 0.0)
    test_splits.check_tree(nodes, X, y, w, kinds, criterion, k, rows, weight)


def weights(share: float) -> Iterator[Case]:
    """Weight k is k rows; the order of rows and of named columns does not matter: 500 samples each."""
    for name, Model in public_classes().items():
        for number in counted(500, share):
            yield Case(f"{name} {number}", partial(_same_fit, Model, number))


def _same_fit(Model: type, seed: int) -> None:
    rng = np.random.default_rng([seed, 13])
    sample = numbers(Model, n=int(rng.integers(24, 60)), p=int(rng.integers(2, 5)), seed=seed)
    kind = seed % 3
    if kind == 0 and weighted(Model):
        if "integer_weights_are_repeated_rows" not in exemptions(Model):
            assert_weights_are_repetition(Model, sample)
    elif kind == 1:
        # Folds are made of consecutive rows, so the order of rows matters to models with `cv`.
        if "cv" not in parameters(Model) and ORDER not in exemptions(Model):
            _other_order_of_rows(Model, sample, rng)
    else:
        named = sample.with_X(frame(sample.X))
        model = fitted(Model, named)
        order = rng.permutation(sample.X.shape[1])
        said = (answers_of_new_rows(model, X) for X in (named.X, named.X.iloc[:, order]))
        assert_same_bits(*said)


def _other_order_of_rows(Model: type, sample: Sample, rng: np.random.Generator) -> None:
    order = rng.permutation(len(sample.weights))
    one, other = fitted(Model, sample), fitted(Model, sample.take(order))
    said = [answers_of_new_rows(model, sample.X) for model in (one, other)]
    if said[0]:
        assert_close(*said, one)


def threads(share: float) -> Iterator[Case]:
    """Equal bits for 1, 2 and 4 threads, five times each."""
    for number, (name, Model) in enumerate(public_classes().items()):
        for n in (200, 3000):
            if share == 1 or (n == 200 and number % 20 == 0):
                yield Case(f"{name} {n} rows", partial(_one_hash, Model, n))


def _one_hash(Model: type, n: int) -> None:
    sample = numbers(Model, n=n, p=6 if n > 1000 else 4)
    expected = None
    try:
        for count in (1, 2, 4) * 5:
            parallel.set_threads(count)
            model = fitted(Model, sample, sample.weights)
            found = learned(model), answers(model, sample.X)
            expected = expected or found
            assert_same_bits(expected, found, f"{count} threads: ")
    finally:
        parallel.set_threads(None)
