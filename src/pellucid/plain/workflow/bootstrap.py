"""The bootstrap: how much would a statistic vary if the rows were drawn again?

    wanted      Var[t(rows)] when rows are drawn from the population
    instead     Var[t(rows*)] when rows* are drawn from the rows themselves, with replacement

The rows stand for the population, and resampling them stands for sampling it.

1. Draw n row numbers with replacement; some rows appear twice, about 37% not at all.
2. Compute the statistic of these rows. Repeat steps 1 and 2.
3. The standard error is the standard deviation of the values.
4. The percentile interval leaves out (1 - level) / 2 of the values on each side.
"""

import numpy as np


class Bootstrap:
    """Standard error and percentile interval of `statistic(rows)`, a number or an array."""

    def __init__(self, statistic, n_resamples=1000, level=0.95, rng=None):
        self.statistic, self.n_resamples, self.level = statistic, n_resamples, level
        self.rng = rng or np.random.default_rng(0)

    def fit(self, rows):
        n, values = len(rows), []
        for _ in range(self.n_resamples):
            drawn = self.rng.integers(0, n, n)  # step 1
            values.append(self.statistic(rows[drawn]))  # step 2
        self.values = np.array(values)
        self.estimate = self.statistic(rows)
        self.standard_error = self.values.std(axis=0, ddof=1)  # step 3
        tail = (1 - self.level) / 2
        self.low, self.high = np.quantile(self.values, [tail, 1 - tail], axis=0)  # step 4
        return self
