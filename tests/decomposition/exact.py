"""Principal components in 60 digits: means, covariance and eigenvectors with mpmath."""

import mpmath
import numpy as np

DIGITS = 60


def components(X, weights=None):
    """Variances (divisor n - 1) and axes, in descending order, as mpmath numbers."""
    with mpmath.workdps(DIGITS):
        n, p = X.shape
        w = [mpmath.mpf(1)] * n if weights is None else [mpmath.mpf(float(v)) for v in weights]
        total = mpmath.fsum(w)
        columns = [[mpmath.mpf(float(v)) for v in column] for column in X.T]
        means = [mpmath.fdot(w, column) / total for column in columns]
        centred = [[v - m for v in column] for column, m in zip(columns, means)]
        C = mpmath.matrix(p, p)
        for i in range(p):
            scaled = [a * b for a, b in zip(w, centred[i])]
            for j in range(i + 1):
                C[i, j] = C[j, i] = mpmath.fdot(scaled, centred[j]) / (total - 1)
        values, vectors = mpmath.eigsy(C)
        order = sorted(range(p), key=lambda i: -values[i])
        axes = [[vectors[f, i] for f in range(p)] for i in order]
        return [values[i] for i in order], [fix_sign(axis) for axis in axes], means


def fix_sign(axis):
    largest = max(axis, key=abs)
    return [-v for v in axis] if largest < 0 else axis


def digits(ours, exact):
    """Correct digits of the worst number, relative to the largest one; at most 17."""
    with mpmath.workdps(DIGITS):
        size = max(abs(v) for v in exact)
        error = max(abs(mpmath.mpf(float(a)) - b) for a, b in zip(ours, exact)) / size
        return 17.0 if error == 0 else min(17.0, -float(mpmath.log10(error)))


def relative_digits(ours, exact):
    """Correct digits of the worst number, each relative to itself."""
    return min(digits([a], [b]) for a, b in zip(np.ravel(ours), exact))
