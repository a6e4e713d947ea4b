"""Weights mean repetition: weight k is k copies of the row, weight 0 is no row.

Equal to 1e-12 of the largest answer; the scale of weights does not matter only where the class
says so in `_invariant`.
"""

import numpy as np
import pytest

from pellucid.errors import PellucidError
from tests.contract.classes import (
    applies_to,
    classifier,
    invariant,
    make,
    supervised,
    takes,
    weighted,
)
from tests.contract.compare import answers, assert_close, assert_same_bits, fitted, learned
from tests.contract.data import class_count, mixed, noise, numbers

TABLES = {"numbers": numbers, "mixed": mixed}


@applies_to(weighted)
@pytest.mark.parametrize("table", TABLES)
def test_integer_weights_are_repeated_rows(Model, table):
    assert_weights_are_repetition(Model, TABLES[table](Model))


@applies_to(weighted, classifier)
def test_integer_weights_are_repeated_rows_of_a_rare_class(Model):
    assert_weights_are_repetition(Model, noise(Model))


def assert_weights_are_repetition(Model, sample):
    repeated = sample.take(np.repeat(np.arange(len(sample.weights)), sample.weights.astype(int)))
    by_weight = fitted(Model, sample, sample.weights)
    by_rows = fitted(Model, repeated)
    said = answers_of_new_rows(by_weight, sample.X), answers_of_new_rows(by_rows, sample.X)
    assert_close(*said, by_weight)


@applies_to(weighted)
@pytest.mark.parametrize("table", TABLES)
def test_weight_zero_is_no_row(Model, table):
    sample = TABLES[table](Model)
    weights = sample.weights.copy()
    weights[::5] = 0
    present = sample.take(np.flatnonzero(weights))
    by_weight = fitted(Model, sample, weights)
    by_rows = fitted(Model, present, present.weights)
    said = answers_of_new_rows(by_weight, present.X), answers_of_new_rows(by_rows, present.X)
    assert_close(*said, by_weight)


def answers_of_new_rows(model, X) -> dict:
    """Models that only describe their training rows have different rows to describe here."""
    said = answers(model, X)
    return said if not set(said) <= set(learned(model)) else {}


@applies_to(weighted, classifier, lambda Model: class_count(Model, 3) == 3)
def test_class_present_only_with_weight_zero_is_absent(Model):
    sample = numbers(Model)
    weights = np.where(sample.y == 0, 0.0, 1.0)
    by_weight = fitted(Model, sample, weights)
    by_rows = fitted(Model, sample.take(np.flatnonzero(weights)))
    assert_same_bits(by_weight.classes_, by_rows.classes_)


@applies_to(weighted, takes("class_weight"))
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_class_weights_and_weights_are_one_thing(Model, class_weight):
    """A class weight multiplies; "balanced" counts weights, as it would count repeated rows."""
    sample = numbers(Model, n_classes=2)
    sample = sample.take(np.r_[0:40, 41:60:2])  # classes of unequal size
    if class_weight == "balanced":
        total = np.bincount(sample.y, sample.weights)
        factor = total.sum() / (2 * total)
    else:
        factor = np.array([class_weight[0], class_weight[1]])
    by_class = fitted(Model, sample, sample.weights, class_weight=class_weight)
    by_hand = fitted(Model, sample, sample.weights * factor[sample.y])
    assert_close(answers(by_class, sample.X), answers(by_hand, sample.X), by_class)


@applies_to(weighted)
def test_equal_weights_of_one_change_nothing(Model):
    sample = numbers(Model)
    plain, ones = fitted(Model, sample), fitted(Model, sample, np.ones(len(sample.weights)))
    assert_same_bits(answers(plain, sample.X), answers(ones, sample.X))


@applies_to(weighted, supervised)
def test_weights_have_an_effect(Model):
    """So that the equalities above are not those of an estimator that ignores its weights."""
    sample = numbers(Model)
    rng = np.random.default_rng(5)
    heavy = np.where(rng.random(len(sample.weights)) < 0.2, 100.0, 1.0)
    if sample.y is not None and sample.y.ndim == 1:
        heavy = np.where(sample.y == np.max(sample.y), 100.0, heavy)
    plain, weighted_fit = fitted(Model, sample), fitted(Model, sample, heavy)
    # the schema holds weighted means of columns whatever the model does
    a, b = ({**learned(m), **answers(m, sample.X), "schema_": 0} for m in (plain, weighted_fit))
    with pytest.raises(AssertionError, match=r"is not|differ|agree"):
        assert_same_bits(a, b)


@applies_to(weighted, invariant("weight scale"))
@pytest.mark.parametrize("factor", [0.125, 8.0, 2.0**60])
def test_scale_of_weights_does_not_matter(Model, factor):
    sample = numbers(Model)
    one = fitted(Model, sample, sample.weights)
    other = fitted(Model, sample, sample.weights * factor)
    assert_close(answers(one, sample.X), answers(other, sample.X), one)


def test_order_of_rows_does_not_matter(Model):
    sample = numbers(Model)
    order = np.random.default_rng(9).permutation(len(sample.weights))
    one, other = fitted(Model, sample), fitted(Model, sample.take(order))
    said = answers_of_new_rows(one, sample.X), answers_of_new_rows(other, sample.X)
    if not said[0]:  # a model that describes its training rows describes the same ones
        said = {"rows": one.embedding_[order]}, {"rows": other.embedding_}
    assert_close(*said, one)


@applies_to(weighted)
@pytest.mark.parametrize(
    ("weights", "word"),
    [
        ([1.0] * 59 + [-1.0], "[Nn]egative"),
        ([1.0] * 59 + [np.nan], "missing|nan|NaN"),
        ([1.0] * 59 + [np.inf], "inf"),
        ([0.0] * 60, "zero"),
        ([1.0] * 59, "59"),
        ([[1.0, 2.0]] * 60, "1D|1-D|one-dimensional"),
        (["heavy"] * 60, "number"),
    ],
    ids=["negative", "missing", "infinite", "all zero", "too short", "two columns", "words"],
)
def test_bad_weights_are_refused(Model, weights, word):
    sample = numbers(Model)
    model = make(Model)
    with pytest.raises(PellucidError, match=word):
        model.fit(sample.X, sample.y, sample_weight=weights)
    assert not learned(model)
