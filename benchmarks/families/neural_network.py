"""Networks: the same number of steps of the same size on batches of the same size.

Starts and orders differ by design, so answers are compared on unseen rows.
"""

from benchmarks.answers import error_rate
from benchmarks.samples import classification
from benchmarks.workload import Workload

WORKLOADS = (
    Workload(
        name="MLP, one layer of 100, 20 epochs",
        estimator="neural_network.MLPClassifier",
        source=classification(20_000, 50),
        answer=error_rate(absolute=0.01),
        goals={"fit": 2.0, "predict": 1.0},
        params={"max_iter": 20, "tol": 0.0, "random_state": 0},
    ),
)
