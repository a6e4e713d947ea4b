"""Principal components."""

from benchmarks.answers import lost_variance
from benchmarks.samples import regression
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="PCA, 10 components",
        estimator="decomposition.PCA",
        source=regression(200_000, 100, supervised=False),
        answer=lost_variance(relative=1e-9),
        goals={"fit": 1.0, "transform": 1.0},
        params={"n_components": 10},
    ),
)
