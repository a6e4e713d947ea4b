"""The rules by which models are as good as the best, and one of them is recommended."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.comparison.analysis.statistics import holm
from pellucid.comparison.analysis.verdict import (
    BELOW,
    BEST,
    FAR,
    LOWER,
    NEAR,
    NO_BETTER,
    SAME,
    WORSE,
    Board,
    baseline_alpha,
    judge,
)
from pellucid.model_selection import METRICS

RANKS = {"mean": 0, "ridge": 1, "ols": 1, "tree": 2, "knn": 3, "forest": 5, "boosting": 5, "mlp": 6}


def board(scores, p=None, p_baseline=None, margin=0.01):
    """p[name] against the best, p_baseline[name] against the mean; 0.5 and 1e-6 if not given."""
    p, p_baseline = p or {}, p_baseline or {}

    def p_of(one, other):
        if "mean" in (one, other):
            return p_baseline.get(other if one == "mean" else one, 1e-6)
        return min(p.get(one, 1.0), p.get(other, 1.0), 0.5)

    return Board(scores, p_of, "mean", margin)


def verdict(*arguments, prefer="simple", losses=None, **more):
    made = board(*arguments, **more)
    return judge(made, RANKS, losses or {n: -s for n, s in made.scores.items()}, prefer)


def reasons(found):
    return {name: mark.why for name, mark in found.marks.items()}


def test_the_simplest_of_those_as_good_is_recommended():
    scores = {"forest": 0.90, "boosting": 0.89, "ridge": 0.88, "tree": 0.85, "mean": 0.5}
    found = verdict(scores, {"tree": 1e-5})
    assert reasons(found) == {
        "forest": BEST, "boosting": SAME, "ridge": SAME, "tree": WORSE, "mean": WORSE,
    }  # fmt: skip
    assert (found.best, found.recommended, found.beats_baseline) == ("forest", "ridge", True)
    assert verdict(scores, {"tree": 1e-5}, prefer="score").recommended == "forest"
    assert found.marks["ridge"].lost == pytest.approx(0.02 / 0.4)


def test_among_equally_simple_models_the_lowest_loss_decides():
    scores = {"ols": 0.90, "ridge": 0.89, "mean": 0.5}
    assert verdict(scores, losses={"ols": 0.4, "ridge": 0.3}).recommended == "ridge"
    assert verdict(scores, losses={"ols": 0.4}).recommended == "ols"  # an unknown loss comes last


def test_a_model_below_the_baseline_is_never_as_good():
    """However noisy: this is how an exploding model used to be recommended."""
    scores = {"forest": 0.98, "ridge": 0.2, "mean": 0.3}
    found = verdict(scores, {"ridge": 0.9}, {"ridge": 0.8})
    assert found.marks["ridge"].why == BELOW and not found.marks["ridge"].as_good
    assert found.recommended == "forest"


def test_a_model_not_shown_to_beat_the_baseline_is_not_as_good_when_another_is():
    scores = {"mlp": 0.75, "forest": 0.7, "ridge": 0.6, "mean": 0.5}
    found = verdict(scores, p_baseline={"mlp": 0.2, "ridge": 0.3})
    assert reasons(found)["ridge"] == reasons(found)["mlp"] == NO_BETTER
    assert found.best == found.recommended == "forest"


def test_without_a_model_better_than_the_baseline_the_baseline_is_recommended():
    scores = {"forest": 0.52, "ridge": 0.51, "mean": 0.5, "tree": 0.45}
    nothing = dict.fromkeys(scores, 0.3)
    for prefer in ("simple", "score"):
        found = verdict(scores, p_baseline=nothing, prefer=prefer)
        assert found.recommended == "mean" and not found.beats_baseline
    assert found.marks["mean"].as_good and not found.marks["tree"].as_good


def test_the_baseline_is_asked_first_and_alone_about_the_highest_score():
    """Many models must not hide that the highest beats the baseline; lower ones pay for Holm."""
    scores = {f"m{k}": 0.7 - 0.001 * k for k in range(20)} | {"mean": 0.5}
    ranks = dict.fromkeys(scores, 1)

    def beats(p, metric="rmse"):
        alpha = baseline_alpha(METRICS[metric])
        made = Board(scores, lambda a, b: p.get(a if b == "mean" else b, 0.5), "mean", alpha=alpha)
        return judge(made, ranks, {}).beats_baseline

    assert beats({"m0": 0.04}) and not beats({"m0": 0.06})
    assert beats({"m0": 0.01}, "roc_auc") and not beats({"m0": 0.04}, "roc_auc")
    assert not beats({"m5": 0.01}) and beats({"m5": 0.002})


def test_a_difference_within_the_margin_does_not_count():
    scores = {"forest": 0.900, "ridge": 0.897, "mean": 0.5}
    found = verdict(scores, {"ridge": 1e-9})
    assert found.marks["ridge"].why == NEAR and found.recommended == "ridge"
    assert verdict(scores, {"ridge": 1e-9}, margin=0.0).recommended == "forest"


def test_below_a_model_that_is_worse_none_is_as_good():
    scores = {"forest": 0.9, "boosting": 0.88, "ridge": 0.87, "mean": 0.5}
    found = verdict(scores, {"boosting": 1e-6, "ridge": 0.4})
    assert reasons(found)["ridge"] == LOWER and found.recommended == "forest"


def test_a_large_loss_is_not_as_good_only_because_rows_are_few():
    """The loss counts by how sure it is: 15 % of the gain with p = 0.2 is too much, with 0.4 not."""
    scores = {"forest": 0.90, "ridge": 0.84, "mean": 0.5}
    assert verdict(scores, {"ridge": 0.4}).recommended == "ridge"
    found = verdict(scores, {"ridge": 0.2})
    assert found.marks["ridge"].why == FAR and found.recommended == "forest"


@given(
    scores=st.dictionaries(st.sampled_from(sorted(RANKS)), st.floats(0, 1), min_size=1),
    seed=st.integers(0, 2**32 - 1),
    margin=st.sampled_from([0.0, 0.01, 0.3]),
    prefer=st.sampled_from(["simple", "score"]),
)
def test_marks_are_monotone_and_the_recommended_model_is_one_of_the_good(
    scores, seed, margin, prefer
):
    rng = np.random.default_rng(seed)
    drawn = {frozenset(pair): 10 ** -rng.uniform(0, 6) for pair in
             ((a, b) for a in RANKS for b in RANKS if a < b)}  # fmt: skip
    made = Board(scores, lambda a, b: drawn[frozenset((a, b))], "mean", margin)
    found = judge(made, RANKS, {}, prefer)
    marks, base = found.marks, scores.get("mean", -1.0)
    assert set(marks) == set(scores) and found.recommended in scores
    assert marks[found.recommended].as_good and marks[found.best].as_good
    fallen = False
    for name in made.order:
        fallen = fallen or marks[name].why in (WORSE, LOWER, FAR)
        unbeaten = name == "mean" and not found.beats_baseline
        assert not (fallen and marks[name].as_good) or unbeaten
        assert not (marks[name].as_good and scores[name] < base)
        if found.beats_baseline and marks[name].as_good:
            assert drawn.get(frozenset((name, "mean")), 0) < 0.05 or "mean" not in scores
    if not found.beats_baseline and "mean" in scores:
        assert found.recommended == "mean"


def test_a_plain_difference_stays_one_among_many_models():
    """The same tree among 3 models and among 19: models that add nothing must not make it tie."""
    few = {"forest": 0.9, "tree": 0.8, "mean": 0.5}
    many = few | {f"m{k}": 0.9 - 0.0001 * k for k in range(16)}
    ranks = RANKS | {f"m{k}": 5 for k in range(16)}
    for scores in (few, many):
        made = Board(
            scores,
            lambda a, b: 1e-6 if "mean" in (a, b) else 0.001 if "tree" in (a, b) else 0.9,
            "mean",
        )
        assert judge(made, ranks, {}).marks["tree"].why == WORSE, len(scores)


def test_models_that_cannot_be_as_good_do_not_count_in_holms_correction():
    """Junk below the baseline leaves the other comparisons as they are."""
    good = {"forest": 0.9, "tree": 0.8, "mean": 0.5}
    junk = {f"m{k}": 0.1 for k in range(16)}
    for scores in (good, good | junk):
        made = Board(
            scores,
            lambda a, b: 1e-6 if "mean" in (a, b) else 0.04 if "tree" in (a, b) else 0.9,
            "mean",
        )
        mark = judge(made, RANKS | dict.fromkeys(junk, 1), {}).marks["tree"]
        assert mark.p_holm == 0.04 and mark.why == WORSE


def test_an_unknown_p_marks_nobody_as_worse():
    made = Board({"forest": 0.9, "tree": 0.8}, lambda a, b: float("nan"), "mean")
    found = judge(made, RANKS, {})
    assert found.marks["tree"].as_good and found.marks["tree"].p is None
    assert judge(Board({}, lambda a, b: 1.0, "mean"), RANKS, {}).recommended is None


def test_holm_is_monotone_in_p():
    assert holm([0.04]) == [0.04] and holm([0.01, 0.02]) == [0.02, 0.02]


def test_a_wide_margin_also_holds_where_a_difference_is_not_significant():
    scores = {"forest": 0.90, "tree": 0.84, "mean": 0.5}  # tree loses 15 % of the gain
    assert reasons(verdict(scores, margin=0.2))["tree"] == SAME
    assert reasons(verdict(scores, {"tree": 1e-5}, margin=0.2))["tree"] == NEAR
    assert reasons(verdict(scores, {"tree": 0.1}))["tree"] == FAR


def test_a_score_equal_to_that_of_the_baseline_is_not_called_below_it():
    scores = {"mean": 0.5, "tree": 0.5, "knn": 0.4}
    assert reasons(verdict(scores)) == {"mean": BEST, "tree": NO_BETTER, "knn": BELOW}


def test_a_baseline_without_scores_is_asked_nothing():
    def p_of(one, other):
        return {("forest", "ridge"): 1e-5}[one, other]  # a pair with the mean is a KeyError

    found = judge(Board({"forest": 0.9, "ridge": 0.8}, p_of, "mean"), RANKS, {})
    assert found.recommended == "forest" and found.marks["ridge"].p_baseline is None
