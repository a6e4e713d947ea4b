"""Plain twins of the loops of k-means: short, slow, and without doubt."""

from fractions import Fraction

import numpy as np


def squared_distance(x, c):
    """The sum from the first column to the last, every step rounded once."""
    total = 0.0
    for a, b in zip(x, c):
        total += (a - b) * (a - b)
    return total


def distance_table(X, C):
    return np.array([[squared_distance(x, c) for c in C] for x in X]).reshape(len(X), len(C))


def label(X, C):
    return distance_table(X, C).argmin(axis=1).astype(np.int32)


def exact_sums(X, w, labels, k):
    """Weighted sums of rows, and of weights in the last column, as fractions."""
    sums = [[Fraction(0)] * (X.shape[1] + 1) for _ in range(k)]
    for x, weight, j in zip(X, w, labels):
        for f, value in enumerate([*x, 1.0]):
            sums[j][f] += Fraction(float(weight)) * Fraction(float(value))
    return sums


def means(X, w, labels, C):
    """Correctly rounded means; a centre without rows stays."""
    out = np.array(C, dtype=float)
    for j, row in enumerate(exact_sums(X, w, labels, len(C))):
        if row[-1] > 0:
            out[j] = [float(value / row[-1]) for value in row[:-1]]
    return out


def plus_plus(X, w, k, rng):
    """Greedy k-means++ from the same draws: the row where the running sum passes u * total."""

    def draw(mass, u):
        running = np.cumsum(mass)
        return next(i for i in range(len(mass)) if running[i] > u * running[-1])

    seeds = [draw(w, rng.random(1)[0])]
    for _ in range(1, k):
        closest = distance_table(X, X[seeds]).min(axis=1)
        candidates = [draw(w * closest, u) for u in rng.random(2 + int(np.log(k)))]
        left = [w @ np.minimum(closest, distance_table(X, X[[c]])[:, 0]) for c in candidates]
        seeds.append(candidates[int(np.argmin(left))])
    return seeds
