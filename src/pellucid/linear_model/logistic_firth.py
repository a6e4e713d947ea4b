"""Firth's bias-reduced logistic regression: the likelihood times the root of its information.

    F(B) = sum_i w_i loss(y_i, B x_i) - log det I(B) / 2,    I(B) = sum_i w_i V_i (x) x_i x_i'

V_i = diag(p) - p p' of the classes 1..q. F has a finite minimum on separated tables too, and its
minimum is free of the first-order bias of maximum likelihood (Firth 1993; Heinze and Schemper
2002). Its slope by the score of class c in row i, beyond that of the loss, is minus half of

    sum_ab Q_ab dV_ab / deta_c = p_c (Q_cc - sum_a p_a Q_aa - 2 sum_b p_b Q_cb + 2 sum_ab p_a p_b Q_ab)

with Q_ab = x_i' (I^-1)_ab x_i. Columns that others span would make I singular: they are left out,
with coefficient 0.
"""

from dataclasses import replace

import numpy as np

from pellucid import parallel
from pellucid.linear_model.likelihood import Likelihood
from pellucid.linear_model.logistic_solvers import ACCURACY, Prepared, Setting, measure_in, start
from pellucid.numerics.aliases import find_aliases
from pellucid.numerics.linalg import Factor, cholesky_factor
from pellucid.numerics.optimise import Solve, newton
from pellucid.numerics.tables import Rows
from pellucid.records import Solution


def solve_firth(prepared: Prepared, setting: Setting) -> tuple[Prepared, Solution]:
    """The minimum of F, and the problem prepared for it (centred)."""
    whole = prepared.likelihood
    if setting.intercept and whole.shift is None:
        whole = replace(whole, shift=prepared.mean, last={})
        prepared = replace(prepared, likelihood=whole, mean=np.zeros_like(prepared.mean))
    kept = np.sort(find_aliases(whole.triangle(), whole.intercept).kept)
    kept = kept[kept < whole.X.p]
    X = whole.X.X[:, kept]
    part = replace(
        whole, X=Rows(X if whole.X.sparse else np.ascontiguousarray(X)), last={},
        alpha=np.zeros(len(kept)), shift=None if whole.shift is None else whole.shift[kept],
    )  # fmt: skip
    inner = replace(
        prepared, likelihood=part, mean=prepared.mean[kept], spread=prepared.spread[kept],
        units=prepared.units[kept],
    )  # fmt: skip
    F = Jeffreys(part)
    x0 = start(prepared, setting).reshape(whole.q, -1)[:, np.append(kept, whole.X.p)].ravel()
    found = newton(
        F.evaluate, F.factor, x0, max_iter=setting.max_iter, accuracy=ACCURACY,
        scale=np.tile(np.append(inner.spread, 1.0), part.q), measure=measure_in(inner),
    )  # fmt: skip
    B = np.zeros((whole.q, whole.X.p + 1))
    B[:, np.append(kept, whole.X.p)] = found.x.reshape(part.q, -1)
    return prepared, Solution(B.ravel(), found.status, found.history, found.n_iter)


class Jeffreys:
    """The objective F and its slope."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood

    def information(self, x: np.ndarray) -> Factor | None:
        H = self.likelihood.curvature(x)
        if not self.likelihood.intercept:
            edge = np.arange(self.likelihood.X.p, len(H), self.likelihood.X.p + 1)
            H[edge, edge] = 1.0
        return cholesky_factor(H)

    def factor(self, x: np.ndarray) -> Solve:
        found = self.information(x)
        return (lambda g: g) if found is None else found.solve

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        L = self.likelihood
        loss, slope = L.evaluate(x)
        factor = self.information(x)
        if factor is None:  # beyond the reach of double precision: the search turns back
            return np.inf, slope
        log_det = 2 * float(np.log(np.diagonal(factor.T)).sum())
        log_det -= 2 * float(np.log(2.0) * factor.exponents.sum())
        rows = factor.inverse_rows()
        inverse = (rows @ rows.T).reshape(L.q, L.X.p + 1, L.q, L.X.p + 1)
        return loss - 0.5 * log_det, slope - 0.5 * self._pull(x, inverse)

    def _pull(self, x: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Slope of log det I at x."""
        L = self.likelihood

        def partial(rows: slice) -> np.ndarray:
            table, p = L.table(rows), L.chances(x, rows)
            Q = np.empty((len(p), L.q, L.q))
            for a in range(L.q):
                for b in range(a + 1):
                    Q[:, a, b] = Q[:, b, a] = ((table @ inverse[a, :, b]) * table).sum(axis=1)
            own = np.einsum("ncc->nc", Q)
            mixed = np.einsum("ncb,nb->nc", Q, p)
            rest = 2 * (mixed * p).sum(axis=1) - (own * p).sum(axis=1)
            R = L.weights[rows, None] * p * (own - 2 * mixed + rest[:, None])
            return R.T @ table

        return parallel.reduce(partial, np.ndarray.__iadd__, L.X.blocks).ravel()
