"""Linear machines from inside their limits: few steps whatever the units of the columns are.

    minimise 1/2 |V|**2 + sum_i c_i (max_k (d_ik + B_k V z_i) - b_i V z_i)

with z_i = (x_i, bias) and V (q, p + 1). Hinge: options B = (1), (0), d_ik = 1 for the wrong one, b_i the
right one. Tube: B = (-1), (1), (0), d_i = (t_i - epsilon, -t_i - epsilon, 0), b_i = 0, without the third
if epsilon is 0. Crammer and Singer: B = 1, d_ik = 1 for other classes, b_i the own one.

Invariant: multipliers A (n, K) and distances R (n, K) from the largest option stay positive; multipliers
of a row sum to c_i; their products fall together until rounding ends it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pellucid.svm import primal

FEWEST = 31  # epochs of descent that come first: easy problems need no more
USUAL = 30  # steps that are expected: 15 to 30 on breast cancer, wine, iris and diabetes
MOST = 100  # steps that are allowed
WORK = 2e9  # operations of one step that are never exceeded
SIZE = 3000  # equations of one step, at most
INSIDE = 0.995  # share of the way to the nearest limit that a step goes
CLOSE = 1e-15  # share of the first gap and of the largest force at which nothing is left to gain
PATIENCE = 15  # steps without progress that are tried


@dataclass(frozen=True)
class Options:
    """Rows, options B (K, q), their costs d (n, K), what is taken off b (n, q)."""

    line: primal.Line
    B: np.ndarray
    d: np.ndarray
    b: np.ndarray

    @property
    def work(self) -> float:
        """Operations of one step."""
        n, p = self.line.X.shape
        q = self.B.shape[1]
        return n * (p + 1.0) ** 2 * q * (q + 1) / 2 + (q * (p + 1.0)) ** 3 / 3

    @property
    def reach(self) -> float:
        """The largest size of a cell."""
        X = self.line.X
        cells = X if isinstance(X, np.ndarray) else X.data
        return max(float(cells.max(initial=0.0)), -float(cells.min(initial=0.0)), self.line.bias)

    @property
    def fits(self) -> bool:
        """Whether steps are not too large."""
        return self.work <= WORK and self.B.shape[1] * (self.line.X.shape[1] + 1) <= SIZE

    def due(self, epochs: int) -> bool:
        """Whether so many epochs of descent have cost an eighth of all steps (at a fifth of the price of
        other operations) and steps are not too large.
        """
        n, p = self.line.X.shape
        spent = 8.0 * epochs * n * self.B.shape[1] * (p + 1)
        return self.fits and epochs >= FEWEST and spent >= USUAL / 5 * self.work

    def values(self, V: np.ndarray) -> np.ndarray:
        """d_ik + B_k V z_i."""
        return self.d + np.column_stack([self.line.scores(v) for v in V]) @ self.B.T

    def moves(self, A: np.ndarray) -> np.ndarray:
        """What multipliers add to each row of V, (n, q)."""
        return self.line.prices[:, None] * self.b - A @ self.B

    def pull(self, R: np.ndarray) -> np.ndarray:
        """sum_i R_i z_i', (q, p + 1)."""
        return np.array([self.line.pull(np.ascontiguousarray(r)) for r in R.T])

    def bend(self, W: np.ndarray) -> np.ndarray:
        """1 + sum_i B'(diag(W_i) - W_i W_i' / sum(W_i)) B z_i z_i', (q (p + 1), q (p + 1))."""
        q, size = self.B.shape[1], self.line.X.shape[1] + 1
        H = np.zeros((q, size, q, size))
        first = (W @ self.B) / W.sum(axis=1, keepdims=True)
        for a in range(q):
            for b in range(a, q):
                m = W @ (self.B[:, a] * self.B[:, b]) - (W @ self.B[:, a]) * first[:, b]
                # Options are alternatives: of one score m >= 0, of two of them m <= 0.
                part = primal.weighted_squares(self.line, np.maximum(m if a == b else -m, 0.0))
                H[a, :, b, :] = H[b, :, a, :] = part if a == b else -part
        H = H.reshape(q * size, q * size)
        H[np.diag_indices(q * size)] += 1.0
        return H


def solve(options: Options, stop: np.ndarray) -> np.ndarray:
    """Multipliers A (n, K) of the minimum, 0 where an option is not the largest.

    1. Factor the equations of a step, reduced to V.
    2. Predict: the step towards products of 0. Correct: towards products as small as the predicted
       step reaches, counting what it bends.
    3. Go as far as all stay positive.
    """
    prices, K = options.line.prices[:, None], len(options.B)
    V = np.zeros((options.B.shape[1], options.line.X.shape[1] + 1))
    A, values = np.repeat(np.maximum(prices / K, 1e-250), K, axis=1), options.values(V)
    R = values.max(axis=1, keepdims=True) + max(float(np.ptp(options.d)), 1.0) - values
    units = np.maximum([float((A * R).sum()), float(prices.sum()) * options.reach], 1e-300)
    before, best, stale = (A, R), (np.inf, (A, R), (A, R)), 0
    for _ in range(MOST):
        step = _Step(options, A, R, V)  # 1
        left = float((step.sizes / units).max())
        stale = 0 if left < 0.9 * best[0] else stale + 1
        best = (left, (A, R), before) if left < best[0] else best
        if step.failed or stop[0] or left <= CLOSE or stale > PATIENCE:
            break
        products = A * R
        dA, dR, _ = step.towards(products)  # 2
        reached = (A + _inside(A, dA) * dA) * (R + _inside(R, dR) * dR)
        aim = products.mean() * float(reached.sum() / products.sum()) ** 3
        dA, dR, dV = step.towards(products + dA * dR - aim)
        share = INSIDE * min(_inside(A, dA), _inside(R, dR))  # 3
        before = A, R
        A, R, V = A + share * dA, R + share * dR, V + share * dV
    return _rounded(options.line.prices, *best[1:])


class _Step:
    """Newton's equations at one point; `towards` solves them for wanted changes of the products."""

    def __init__(self, options: Options, A: np.ndarray, R: np.ndarray, V: np.ndarray) -> None:
        self.options, self.R, self.W = options, R, A / R
        self.total = self.W.sum(axis=1, keepdims=True)
        self.force = V - options.pull(options.moves(A))
        self.sizes = np.array([float((A * R).sum()), float(np.abs(self.force).max())])
        H = options.bend(self.W)
        self.scale = 1.0 / np.sqrt(np.diagonal(H))
        self.failed = not np.isfinite(H).all()
        if not self.failed:
            try:
                self.root = linalg.cho_factor(
                    H * self.scale * self.scale[:, None], check_finite=False
                )
            except linalg.LinAlgError:  # rounding ate the 1: as near as this arithmetic comes
                self.failed = True

    def towards(self, fall: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of A, R and V, for products that fall by `fall`."""
        options, W = self.options, self.W
        E = -fall / self.R
        even = W * (E.sum(axis=1, keepdims=True) / self.total)
        right = -self.force - options.pull((E - even) @ options.B)
        dV = self.scale * linalg.cho_solve(
            self.root, self.scale * right.reshape(-1), check_finite=False
        )
        dV = dV.reshape(right.shape)
        dZ = options.values(dV) - options.d
        dR = (E + W * dZ).sum(axis=1, keepdims=True) / self.total - dZ
        return E - W * dR, dR, dV


def _inside(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step up to 1 that leaves x positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return min(1.0, float(np.where(dx < 0, -x / dx, np.inf).min()))


def _rounded(prices: np.ndarray, now: tuple, before: tuple) -> np.ndarray:
    """0 for multipliers that fall faster than their distances do; sums stay c_i."""
    (A, R), (older_A, older_R) = now, before
    out = np.where(A * older_R < older_A * R, 0.0, A)
    out[np.arange(len(A)), R.argmin(axis=1)] += np.maximum(prices - out.sum(axis=1), 0.0)
    return out * (prices / np.maximum(out.sum(axis=1), 1e-300))[:, None]


def for_classes(line: primal.Line, codes: np.ndarray, K: int) -> Options:
    """All classes in one machine."""
    own = np.arange(K) == codes[:, None]
    return Options(line, np.eye(K), 1.0 - own, own.astype(float))


def for_line(line: primal.Line) -> Options:
    """One score: a margin, or a tube."""
    if line.margin:
        own = np.array([1.0, -1.0]) == line.targets[:, None]
        return Options(line, np.array([[1.0], [0.0]]), 1.0 - own, own[:, :1].astype(float))
    t, none = line.targets, np.zeros(len(line.targets))
    sides = np.column_stack([t - line.epsilon, -t - line.epsilon, none])
    K = 3 if line.epsilon > 0 else 2
    return Options(line, np.array([[-1.0], [1.0], [0.0]])[:K], sides[:, :K], none[:, None])
