"""Which models and which metric a table gets: counts, skewed targets, names of other libraries."""

import numpy as np
import pandas as pd
import pytest

from pellucid.compare.bench import Answers
from pellucid.compare.locked import intervals
from pellucid.compare.material import gather
from pellucid.compare.plan import bounds_of, make_plan, skewed, small_counts, whole_numbers
from pellucid.compare.settings import Settings
from pellucid.errors import ParameterError
from pellucid.model_selection import METRICS


def planned(y, **more):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=len(y)), "b": rng.normal(size=len(y)), "y": y})
    known = Settings.of({"target": "y", "task": "regression", "effort": "quick", **more})
    return make_plan(gather(table, known), known)


def draws(name, n=300):
    rng = np.random.default_rng(1)
    mean = np.exp(rng.normal(0.3, 0.6, n))
    return {
        "publications": rng.poisson(mean),
        "prices": np.round(1000 * mean),
        "stars": np.clip(np.round(rng.normal(3.5, 1.0, n)), 0, 5),
        "flag": rng.integers(0, 2, n),
        "amounts": mean,
        "noise": rng.normal(size=n),
        "bell": rng.normal(50, 5, n),
    }[name].astype(float)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("publications", "poisson_deviance"), ("prices", "rmse"), ("stars", "rmse"),
        ("flag", "rmse"), ("amounts", "rmse"), ("noise", "rmse"),
    ],
)  # fmt: skip
def test_small_counts_are_ranked_by_their_deviance(name, metric):
    y = draws(name)
    plan = planned(y)
    assert plan.metric.name == plan.metrics[0] == metric
    assert small_counts(y) == (metric == "poisson_deviance")
    assert len(set(plan.metrics)) == len(plan.metrics)
    assert ("poisson_deviance" in plan.metrics) == whole_numbers(y)
    assert {"rmse", "mae", "r2"} <= set(plan.metrics)


def test_a_metric_that_was_asked_for_ranks():
    assert planned(draws("publications"), metric="rmse").metric.name == "rmse"
    assert planned(draws("amounts"), metric="poisson_deviance").metric.name == "poisson_deviance"
    with pytest.raises(ParameterError, match="for counts, but the target has values below 0"):
        planned(draws("noise"), metric="poisson_deviance")
    assert bounds_of("poisson_deviance") == (0.0, np.inf)


def test_the_deviance_of_the_test_set_has_an_interval():
    rng = np.random.default_rng(2)
    mean, w = rng.gamma(2.0, 1.0, 400), np.ones(400)
    y = rng.poisson(mean).astype(float)
    value = METRICS["poisson_deviance"].compute(y, mean, w)
    low, high = intervals(y, w, Answers(mean), 0, {"poisson_deviance": value}, 0)[
        "poisson_deviance"
    ]
    assert 0.8 * value < low < value < high < 1.3 * value


@pytest.mark.parametrize(
    ("name", "tail"), [("amounts", True), ("prices", True), ("bell", False), ("noise", False),
                       ("publications", False)],
)  # fmt: skip
def test_skewed_targets(name, tail):
    assert skewed(draws(name)) is tail
    assert skewed(7.0 * draws(name)) is tail  # whatever the unit
