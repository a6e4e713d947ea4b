"""Naive Bayes: one pass over the table is all the work there is."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

# Both learn the same sums; labels may differ only where two classes are tied to rounding.
_SAME = error_rate(absolute=1e-4)

WORKLOADS = (
    Workload(
        name="Gaussian",
        estimator="naive_bayes.GaussianNB",
        source=classification(200_000, 50),
        answer=_SAME,
        goals={"fit": 5.0, "predict": 5.0},
    ),
    Workload(
        name="Bernoulli",
        estimator="naive_bayes.BernoulliNB",
        source=classification(20_000, 2000),
        answer=_SAME,
        goals={"fit": 5.0, "predict": 5.0},
    ),
)
