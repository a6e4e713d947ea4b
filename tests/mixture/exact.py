"""One step of expectation and maximisation in 40 digits, with mpmath."""

import mpmath
import numpy as np

DIGITS = 40


def number(values):
    """Floats as mpmath numbers, in nested lists."""
    if np.ndim(values):
        return [number(v) for v in values]
    return mpmath.mpf(float(values))


def one_step(X, w, weights, means, precisions, kind):
    """Mean log likelihood at the start; weights, means and covariances after one step."""
    with mpmath.workdps(DIGITS):
        rows, w, means = number(X), number(w), number(means)
        shares, bound = _shares(rows, w, number(weights), means, precisions)
        K, p, total = len(means), len(rows[0]), mpmath.fsum(w)
        mass = [mpmath.fdot(w, [s[k] for s in shares]) for k in range(K)]
        own = [[v * s[k] for v, s in zip(w, shares)] for k in range(K)]
        centres = [
            [mpmath.fdot(own[k], [x[j] for x in rows]) / mass[k] for j in range(p)]
            for k in range(K)
        ]
        scatter = [_scatter(rows, own[k], centres[k]) for k in range(K)]
        return bound, [m / total for m in mass], centres, _shaped(scatter, mass, p, kind)


def _shares(rows, w, weights, means, precisions):
    """Shares of the components in each row, and the weighted mean of the log likelihood."""
    p, shares, logs = len(rows[0]), [], []
    roots = [mpmath.sqrt(mpmath.det(mpmath.matrix(number(A)))) for A in precisions]
    A = [number(part) for part in precisions]
    for x in rows:
        joint = []
        for k, m in enumerate(means):
            d = [a - b for a, b in zip(x, m)]
            squared = mpmath.fsum(
                d[i] * A[k][i][j] * d[j] for i in range(p) for j in range(p) if A[k][i][j]
            )
            density = roots[k] * mpmath.exp(-squared / 2) / (2 * mpmath.pi) ** (mpmath.mpf(p) / 2)
            joint.append(weights[k] * density)
        total = mpmath.fsum(joint)
        shares.append([v / total for v in joint])
        logs.append(mpmath.log(total))
    return shares, mpmath.fdot(w, logs) / mpmath.fsum(w)


def _scatter(rows, own, centre):
    p = len(centre)
    out = [[mpmath.mpf(0)] * p for _ in range(p)]
    apart = [[a - b for a, b in zip(x, centre)] for x in rows]
    for i in range(p):
        scaled = [v * d[i] for v, d in zip(own, apart)]
        for j in range(p):
            out[i][j] = mpmath.fdot(scaled, [d[j] for d in apart])
    return out


def _shaped(scatter, mass, p, kind):
    """Covariances as `covariances_` has them."""
    if kind == "tied":
        total = mpmath.fsum(mass)
        return [[mpmath.fsum(S[i][j] for S in scatter) / total for j in range(p)] for i in range(p)]
    if kind == "full":
        return [[[v / m for v in row] for row in S] for S, m in zip(scatter, mass)]
    diagonal = [[S[j][j] / m for j in range(p)] for S, m in zip(scatter, mass)]
    return diagonal if kind == "diag" else [mpmath.fsum(row) / p for row in diagonal]


def digits(ours, exact):
    """Correct digits of the worst number, relative to the largest one of its kind; at most 17."""
    flat = _flat(exact)
    with mpmath.workdps(DIGITS):
        size = max(abs(v) for v in flat)
        errors = [abs(mpmath.mpf(float(a)) - b) for a, b in zip(np.ravel(ours), flat, strict=True)]
        return 17.0 if not max(errors) else min(17.0, -float(mpmath.log10(max(errors) / size)))


def _flat(values):
    return [v for part in values for v in _flat(part)] if isinstance(values, list) else [values]
