"""Naive Bayes: one pass over the table is all the work there is."""

from benchmarks.answers import error_rate
from benchmarks.samples import classification, words
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
    Workload(
        name="Bernoulli, sparse",
        estimator="naive_bayes.BernoulliNB",
        source=words(20_000, 2000),
        answer=_SAME,
        goals={"fit": 1.5, "predict": 1.5},
    ),
    Workload(
        name="multinomial, sparse",
        estimator="naive_bayes.MultinomialNB",
        source=words(20_000, 2000, classes=4),
        answer=_SAME,
        goals={"fit": 1.5, "predict": 1.0},
    ),
    Workload(
        name="multinomial",
        estimator="naive_bayes.MultinomialNB",
        source=words(20_000, 2000, classes=4, sparse=False),
        answer=_SAME,
        goals={"fit": 1.5, "predict": 1.0},
    ),
)
