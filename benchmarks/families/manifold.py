"""t-SNE: the same steps from the same points; rounding is soon magnified, so answers are near."""

from benchmarks.answers import divergence
from benchmarks.samples import classification
from benchmarks.workload import Workload

# All steps write to the same arrays; all pairs of some thousand rows would take minutes otherwise.
FEWEST_STEPS = {"max_iter": 250}

WORKLOADS = (
    Workload(
        name="t-SNE, groups by a tree",
        estimator="manifold.TSNE",
        source=classification(1_000, 20, classes=3, supervised=False),
        answer=divergence(relative=0.05),
        goals={"fit": 1.5},
        params=lambda sample: {"init": 1e-4 * sample.X[:, :2].copy()},
        in_memory=FEWEST_STEPS,
    ),
    Workload(
        name="t-SNE, all pairs",
        estimator="manifold.TSNE",
        source=classification(400, 20, classes=3, supervised=False),
        answer=divergence(relative=0.05),
        goals={"fit": 1.5},
        params=lambda sample: {"method": "exact", "init": 1e-4 * sample.X[:, :2].copy()},
        in_memory=FEWEST_STEPS,
    ),
)
