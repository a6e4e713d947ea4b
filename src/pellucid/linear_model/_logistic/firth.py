"""Firth's bias-reduced logistic regression: the likelihood times the square root of |information|.

    F(B) = sum_i w_i loss(y_i, B x_i) - log det I(B) / 2,    I(B) = sum_i w_i V_i (x) x_i x_i'

V_i = diag(p) - p p' of the classes 1..q. F has a finite minimum on separated tables too, and its
minimum is free of the first-order bias of maximum likelihood (Firth 1993; Heinze and Schemper
2002). The derivative of log det I by the score of class c in row i is w_i times

    sum_ab Q_ab dV_ab / deta_c = p_c (Q_cc - sum_a p_a Q_aa - 2 sum_b p_b Q_cb + 2 sum_ab p_a p_b Q_ab)

with Q_ab = x_i' (I^-1)_ab x_i. A linear change of coordinates only adds a constant to F. So F is
minimised for orthonormal columns Z = X R^-1, where R is the triangle of the weighted table, to lose
as little accuracy as possible if columns are nearly dependent.

Invariant: columns that are combinations of others would make I singular. They are left out of F, and
of all coefficients with the same scores the smallest are returned.
"""

from dataclasses import dataclass, replace

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model._logistic.preparation import Prepared, Setting
from pellucid.linear_model._logistic.solver import ACCURACY, start, to_classes, with_smallest_norm
from pellucid.numerics.collinearity import Aliases, find_aliases
from pellucid.numerics.linalg import Factor, block_qr, cholesky_factor, triangular_factor
from pellucid.numerics.optimise import Point, Solve, length, newton
from pellucid.numerics.row_blocks import Rows
from pellucid.records import Solution, Status, converting_x

WELL_CONDITIONED = 1e2  # condition beyond which a QR replaces the Cholesky factor of I


def solve_firth(prepared: Prepared, setting: Setting) -> tuple[Prepared, Solution]:
    """The minimum of F, and the problem prepared for it (centred)."""
    whole = prepared.likelihood
    if setting.intercept and whole.shift is None:
        whole = replace(whole, shift=prepared.mean)
        prepared = replace(prepared, likelihood=whole, mean=np.zeros_like(prepared.mean))
    columns = OrthonormalColumns.of(whole)
    F = Jeffreys(columns.likelihood)
    x0 = columns.from_original(start(prepared, setting))
    if not np.isfinite(F.evaluate(x0)[0]):  # coefficients of another table
        x0 = np.zeros_like(x0)

    def measure(point: Point) -> dict:
        return {
            "gradient_norm": length(columns.original_gradient(point.gradient)),
            "parameter_norm": length(prepared.to_user(columns.to_original(point.x)).ravel()),
            "learning_rate": point.step,
        }

    with converting_x(lambda x: to_classes(prepared, columns.to_original(x), setting)):
        found = newton(
            F.evaluate, F.factor, x0, max_iter=setting.max_iter, accuracy=ACCURACY, measure=measure
        )
    status = found.status
    if not status.ok:
        status = Status(status.code, status.message, "Increase max_iter.")
    null = np.kron(np.eye(whole.q), columns.aliases.null)
    x = with_smallest_norm(prepared, columns.to_original(found.x), null)
    return prepared, Solution(x, status, found.history, found.n_iter)


@dataclass(frozen=True)
class OrthonormalColumns:
    """The likelihood of orthonormal columns with the same span, the intercept included."""

    likelihood: Likelihood
    aliases: Aliases
    width: int

    @classmethod
    def of(cls, whole: Likelihood) -> "OrthonormalColumns":
        aliases = find_aliases(whole.triangle(), whole.intercept)
        inverse = aliases.factor.inverse_rows()
        Z = np.empty((whole.X.n, len(aliases.kept)))
        for rows in whole.X.blocks:
            Z[rows] = whole.table(rows)[:, aliases.kept] @ inverse
        inner = replace(whole, X=Rows(Z), alpha=np.zeros(Z.shape[1]), intercept=False, shift=None)
        return cls(inner, aliases, whole.X.p + 1)

    def from_original(self, x: np.ndarray) -> np.ndarray:
        """Coefficients of the orthonormal columns; the place of the intercept is 0."""
        B = x.reshape(-1, self.width)[:, self.aliases.kept]
        C = B @ self.aliases.factor.triangle().T
        return np.column_stack([C, np.zeros(len(C))]).ravel()

    def to_original(self, x: np.ndarray) -> np.ndarray:
        """Coefficients of the columns of the table, 0 for those that were left out."""
        C = x.reshape(self.likelihood.q, -1)[:, :-1]
        B = np.zeros((len(C), self.width))
        B[:, self.aliases.kept] = C @ self.aliases.factor.inverse_rows().T
        return B.ravel()

    def original_gradient(self, g: np.ndarray) -> np.ndarray:
        """The gradient by the coefficients of the columns of the table that are kept."""
        G = g.reshape(self.likelihood.q, -1)[:, :-1]
        return (G @ self.aliases.factor.triangle()).ravel()


class Jeffreys:
    """The objective F and its gradient; the determinant of I is Jeffreys' prior."""

    def __init__(self, likelihood: Likelihood) -> None:
        self.likelihood = likelihood

    def information(self, x: np.ndarray) -> Factor | None:
        """The factor of I(x); None if I(x) is singular in double precision."""
        H = self.likelihood.regular_curvature(x)
        quick = cholesky_factor(H)
        if quick is not None and quick.condition < WELL_CONDITIONED:
            return quick
        R = self._triangle(x)
        if not np.isfinite(R).all():
            return None
        found = triangular_factor(R, self.likelihood.X.n)
        return found if found.rank == len(H) else None

    def _triangle(self, x: np.ndarray) -> np.ndarray:
        """R with R'R = I(x), by QR of the rows of the table times the square roots of w_i V_i."""
        L = self.likelihood
        width = L.X.p + 1

        def block(rows: slice) -> np.ndarray:
            table, root = L.table(rows), _root(L.probabilities(x, rows))
            root *= np.sqrt(L.weights[rows])[:, None, None]
            return np.einsum("nab,nj->nabj", root, table).reshape(-1, L.q * width)

        R = block_qr(block, L.X.blocks)
        if L.intercept:
            return R
        return np.concatenate([R, np.kron(np.eye(L.q), np.eye(width)[-1:])])

    def factor(self, x: np.ndarray) -> Solve:
        found = self.information(x)
        return (lambda g: g) if found is None else found.solve

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        L = self.likelihood
        loss, gradient = L.evaluate(x)
        factor = self.information(x)
        if factor is None:  # the line search refuses this point
            return np.inf, gradient
        log_det = 2 * float(np.log(np.abs(np.diagonal(factor.T))).sum())
        log_det -= 2 * float(np.log(2.0) * factor.exponents.sum())
        inverse = np.empty((L.size, L.size))
        inverse[factor.order] = factor.inverse_rows()
        return loss - 0.5 * log_det, gradient - 0.5 * self._log_det_gradient(x, inverse)

    def _log_det_gradient(self, x: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Gradient of log det I at x, where I^-1 = inverse @ inverse.T."""
        L = self.likelihood
        parts = inverse.reshape(L.q, L.X.p + 1, -1)

        def partial(rows: slice) -> np.ndarray:
            table, p = L.table(rows), L.probabilities(x, rows)
            U = [table @ part for part in parts]
            Q = np.empty((len(p), L.q, L.q))
            for a in range(L.q):
                for b in range(a + 1):
                    Q[:, a, b] = Q[:, b, a] = np.einsum("nj,nj->n", U[a], U[b])
            own = np.einsum("ncc->nc", Q)
            mixed = np.einsum("ncb,nb->nc", Q, p)
            rest = 2 * (mixed * p).sum(axis=1) - (own * p).sum(axis=1)
            R = L.weights[rows, None] * p * (own - 2 * mixed + rest[:, None])
            return R.T @ table

        return parallel.reduce(partial, np.ndarray.__iadd__, L.X.blocks).ravel()


def _root(P: np.ndarray) -> np.ndarray:
    """T (n, K, q) with T'T = diag(p) - p p': row k is sqrt(p_k) (e_k - p), where e_0 = 0."""
    q = P.shape[1]
    all_classes = np.column_stack([np.maximum(1.0 - P.sum(axis=1), 0.0), P])
    return np.sqrt(all_classes)[:, :, None] * (np.eye(q + 1)[:, 1:] - P[:, None, :])
