"""Baselines: nothing is learned, so the row shows what our checks of X cost.

scikit-learn does not look at X here.
"""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="majority",
        estimator="dummy.DummyClassifier",
        source=classification(200_000, 20),
        answer=error_rate(absolute=0.0),
        goals={"fit": None, "predict": None},
    ),
)
