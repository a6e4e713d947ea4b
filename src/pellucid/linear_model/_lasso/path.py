"""The elastic net along falling penalties, from the products X'X alone.

Invariant: a point of the path is accepted by its duality gap over all columns; the columns that
were ever active are kept together, so that no point copies their products again.
"""

import numpy as np
from scipy.linalg import lapack

from pellucid.linear_model._lasso.gram_products import AllProducts
from pellucid.linear_model._lasso.solver import descend
from pellucid.parallel import StopFlag

WANTED = 1e-10  # duality gap, as a share of y'y / N
FIRST_TOL = 1e-5  # of a step, as a share of the length of y
FIRST_EPOCHS = 30  # after which solving for the present signs is faster
FEW = 100  # columns up to which solving is cheap
EPOCHS = 100
FLAT = 1e-9
MORE = 1 + 1e-14  # gradient, as a share of the penalty, that exceeds rounding


class Path:
    """Minimises b'Qb/2 - q'b + l1 |b|_1 + l2 |b|^2/2 for one penalty after the other."""

    def __init__(self, products: AllProducts, positive: bool, max_iter: int) -> None:
        self.products, self.q = products, np.ascontiguousarray(products.q[:, 0])
        self.yy, self.positive, self.max_iter = float(products.yy[0]), positive, max_iter
        p = len(self.q)
        self.order = np.empty(0, dtype=np.int64)  # columns kept, in the order in which they came
        self.kept = np.zeros(p, dtype=bool)
        self.G = np.empty((0, 0))  # their products, with room to grow
        self.H = np.empty((0, p))  # their products with all columns
        self.b = np.empty(0)
        self.g = self.q.copy()  # X'(y - Xb) / N
        self.last = np.inf
        self.before: tuple[float, np.ndarray] | None = None  # the point before the last one
        self.flag = StopFlag()

    def _keep(self, columns: np.ndarray) -> None:
        """Make room for new columns, and fill in their products."""
        if not len(columns):
            return
        old, size = len(self.order), len(self.order) + len(columns)
        self.order = np.concatenate([self.order, columns])
        self.kept[columns] = True
        if size > len(self.G):
            room = min(max(2 * size, 64), len(self.q))
            G, H = np.empty((room, room)), np.empty((room, len(self.q)))
            G[:old, :old], H[:old] = self.G[:old, :old], self.H[:old]
            self.G, self.H = G, H
        self.H[old:size] = self.products.rows(columns)
        self.G[:size, old:size] = self.H[:size, columns]
        self.G[old:size, :old] = self.G[:old, old:size].T
        self.b = np.concatenate([self.b, np.zeros(len(columns))])

    def point(self, l1: float, l2: float) -> np.ndarray:
        """Coefficients (p,) at this penalty.

        1. Add columns whose gradient is near the penalty (strong rule); extrapolate the coefficients
           of the others from the last two penalties.
        2. Coordinate descent. 3. Given the signs, the rest is linear: solve it.
        4. The gap over all columns decides; else add columns that violate the penalty, or digits.
        """
        reach = max(2 * l1 - self.last, 0.0) if np.isfinite(self.last) else l1
        self._keep(self._violating(min(reach, l1)))
        self._extrapolate(l1)
        self.last, epochs, limit, tol = l1, 0, FIRST_EPOCHS, FIRST_TOL * np.sqrt(self.yy)
        while True:
            self.flag.check()
            K = len(self.order)
            qk, Gb = self.q[self.order], self.b @ self.G[:K, :K]
            corner, curve = np.full(K, l1), np.full(K, l2)
            limit = min(limit, self.max_iter - epochs)
            made = descend(self.G, qk, self.b, Gb, corner, curve, self.positive, tol, limit)
            epochs += made
            gap = self._update_gap(qk, l1, l2)
            slow = made == limit or len(self.order) < FEW
            if slow and gap > WANTED * self.yy and self._polish(qk, l1, l2):
                gap = self._update_gap(qk, l1, l2)
            if gap <= WANTED * self.yy or epochs >= self.max_iter:
                break
            new = self._violating(l1)
            if not len(new):
                if tol < 1e-15 * np.sqrt(self.yy):
                    break
                tol, limit = tol / 16, EPOCHS
            self._keep(new)
        full = np.zeros(len(self.q))
        full[self.order] = self.b
        return full

    def _extrapolate(self, l1: float) -> None:
        """Coefficients move almost linearly along a path; none may pass 0."""
        here, last = self.b.copy(), self.last
        if self.before is not None and last < self.before[0]:
            old = self.before[1]
            now = here[: len(old)]
            moved = now + (now - old) * ((l1 - last) / (last - self.before[0]))
            straight = (old != 0) & (np.sign(moved) == np.sign(now))
            self.b[: len(old)] = np.where(straight, moved, now)
        self.before = (last, here) if np.isfinite(last) else None

    def _violating(self, reach: float) -> np.ndarray:
        correlation = self.g if self.positive else np.abs(self.g)
        return np.flatnonzero((correlation > MORE * reach) & ~self.kept)

    def _update_gap(self, qk: np.ndarray, l1: float, l2: float) -> float:
        """Update X'r / N; the duality gap (see `solver.update_gap`)."""
        b, K = self.b, len(self.order)
        self.g = self.q - b @ self.H[:K]
        fitted, own = float(qk @ b), self.g[self.order]
        curve = l2 * float(b @ b)
        residual = max(self.yy - fitted - float(own @ b), 0.0) + curve
        value = 0.5 * residual + l1 * float(np.abs(b).sum())
        correlation = self.g.copy()
        correlation[self.order] -= l2 * b
        strongest = float((correlation if self.positive else np.abs(correlation)).max(initial=0.0))
        shrink = l1 / strongest if strongest > l1 else 1.0
        return max(value - shrink * (self.yy - fitted) + 0.5 * shrink**2 * residual, 0.0)

    def _polish(self, qk: np.ndarray, l1: float, l2: float) -> bool:
        """Go to the minimum for the present signs, if that keeps them; whether it did."""
        support = np.flatnonzero(self.b)
        if not len(support):
            return False
        whole = len(support) == len(self.order)
        K = len(support)
        H = self.G[:K, :K].copy() if whole else self.G[np.ix_(support, support)]
        H[np.arange(K), np.arange(K)] += l2 + FLAT * np.diagonal(H) * (l2 == 0.0) * 1e-3
        sign = np.sign(self.b[support])
        right = qk[support] - l1 * sign
        factor, failed = lapack.dpotrf(H.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            return False
        new, _ = lapack.dpotrs(factor, right, lower=0)
        kept = bool((np.sign(new) == sign).all())
        if kept:
            self.b[support] = new
        return kept
