"""Logistic regression by Newton's method with 40 digits: the reference of the digit tests."""

import mpmath
import numpy as np


def precise_logistic(X, y, K, C, intercept, digits=40):
    """Symmetric coefficients (K, p + 1), or one row for two classes, the intercept last."""
    with mpmath.workdps(digits):
        p = X.shape[1]
        rows = [[mpmath.mpf(float(v)) for v in row] + [mpmath.mpf(1)] * intercept for row in X]
        d, q = p + int(intercept), K - 1
        alpha = mpmath.mpf(0) if np.isinf(C) else 1 / mpmath.mpf(float(C))
        metric = [
            [mpmath.mpf(int(k == l)) - (mpmath.mpf(1) / K if q > 1 else 0) for l in range(q)]
            for k in range(q)
        ]
        B = [[mpmath.mpf(0)] * d for _ in range(q)]
        for _ in range(60):
            g, H = _derivatives(rows, y, B, alpha, metric, p)
            step = mpmath.lu_solve(H, g)
            size = max(abs(v) for v in step)
            B = [[B[k][j] - step[k * d + j] for j in range(d)] for k in range(q)]
            if size < mpmath.mpf(10) ** (5 - digits) * max(abs(v) for row in B for v in row):
                break
        else:
            raise AssertionError("the reference did not converge")
        if q > 1:
            B = [[mpmath.mpf(0)] * d, *B]
            mean = [sum(row[j] for row in B) / K for j in range(d)]
            B = [[row[j] - mean[j] for j in range(d)] for row in B]
        return np.array([[float(v) for v in row] for row in B])


def _derivatives(rows, y, B, alpha, metric, p):
    q, d = len(B), len(B[0])
    g, H = mpmath.matrix(q * d, 1), mpmath.matrix(q * d, q * d)
    for x, label in zip(rows, y):
        e = [mpmath.exp(sum(a * b for a, b in zip(x, beta))) for beta in B]
        total = 1 + sum(e)
        P = [v / total for v in e]
        for k in range(q):
            r = P[k] - int(label == k + 1)
            for j in range(d):
                g[k * d + j] += r * x[j]
            for l in range(q):
                c = P[k] * (int(k == l) - P[l])
                for i in range(d):
                    for j in range(d):
                        H[k * d + i, l * d + j] += c * x[i] * x[j]
    for k in range(q):
        for l in range(q):
            for j in range(p):
                g[k * d + j] += alpha * metric[k][l] * B[l][j]
                H[k * d + j, l * d + j] += alpha * metric[k][l]
    return g, H


def precise_firth(X, y, digits=60):
    """Firth's fit of two classes with an intercept, (p + 1,), the intercept last.

    Steps I^-1 U with his score U = sum_i (y_i - p_i + h_i (1/2 - p_i)) x_i, h the leverages.
    """
    with mpmath.workdps(digits):
        rows = [[*(mpmath.mpf(float(v)) for v in row), mpmath.mpf(1)] for row in X]
        d = len(rows[0])
        b = mpmath.matrix(d, 1)
        for _ in range(200):
            P = [1 / (1 + mpmath.exp(-sum(b[j] * x[j] for j in range(d)))) for x in rows]
            information, score = mpmath.matrix(d, d), mpmath.matrix(d, 1)
            for x, chance in zip(rows, P):
                for i in range(d):
                    for j in range(d):
                        information[i, j] += chance * (1 - chance) * x[i] * x[j]
            inverse = information**-1
            for x, label, chance in zip(rows, y, P):
                reach = sum(x[i] * inverse[i, j] * x[j] for i in range(d) for j in range(d))
                pull = label - chance + chance * (1 - chance) * reach * (mpmath.mpf(1) / 2 - chance)
                for j in range(d):
                    score[j] += pull * x[j]
            step = inverse * score
            b += step
            if max(abs(v) for v in step) < mpmath.mpf(10) ** -30 * max(abs(v) for v in b):
                return np.array([float(v) for v in b]), np.array(
                    [[float(v) for v in inverse[i, :]] for i in range(d)]
                )
        raise AssertionError("the reference did not converge")
