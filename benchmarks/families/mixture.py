"""Gaussian mixtures from given parameters: both walk the same path."""

import numpy as np

from benchmarks.answers import negative_log_likelihood
from benchmarks.samples import Sample, classification
from benchmarks.workload import Workload


def _start(sample: Sample) -> dict:
    p = sample.X.shape[1]
    return {
        "n_components": 5, "weights_init": np.full(5, 0.2), "means_init": sample.X[:5].copy(),
        "precisions_init": np.stack([np.eye(p)] * 5),
    }  # fmt: skip


WORKLOADS = (
    Workload(
        name="Gaussian mixture, k=5",
        estimator="mixture.GaussianMixture",
        source=classification(50_000, 10, classes=3, supervised=False),
        # scikit-learn adds 1e-6 to the variances, ours do not unless they need it.
        answer=negative_log_likelihood(relative=1e-6),
        goals={"fit": 4.0, "predict": 1.0},
        params=_start,
    ),
)
