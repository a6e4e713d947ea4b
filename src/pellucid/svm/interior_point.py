"""An interior-point solver of linear support vector machines: few steps at any scale of the columns.

    minimise 1/2 |V|**2 + sum_i c_i (max_k (d_ik + B_k V z_i) - b_i V z_i)

with z_i = (x_i, bias) and V (q, p + 1). Hinge loss: options B = (1), (0), d_ik = 1 for the wrong class,
b_i the right one. Epsilon-insensitive loss: B = (-1), (1), (0), d_i = (t_i - epsilon, -t_i - epsilon,
0), b_i = 0, without the third option if epsilon is 0. Crammer and Singer: B = 1, d_ik = 1 for all other
classes, b_i the row's own.

Invariant: the multipliers A (n, K) and the slacks R (n, K) below the largest option stay positive; the
multipliers of a row sum to c_i; the products A * R fall together until only rounding is left.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from pellucid.numerics.row_blocks import as_dense, largest_cell
from pellucid.svm import primal

FEWEST = 31  # epochs of coordinate descent that come first: easy problems need no more
USUAL = 30  # expected number of steps: 15 to 30 on breast cancer, wine, iris and diabetes
FIXED = 5e5  # operations that take as long as the fixed costs of one step
MOST = 100  # largest number of steps
WORK = 2e9  # largest number of operations of one step
SIZE = 3000  # largest number of equations of one step
INSIDE = 0.995  # share of the distance to the nearest bound that a step goes
CLOSE = 1e-15  # gap and residual, relative to their first values, that end the iteration
PATIENCE = 15  # steps without progress before it stops
DENSE_CELLS = 2**22  # sparse tables of at most this size become dense: their squares take BLAS


@dataclass(frozen=True)
class Options:
    """The problem, options B (K, q), their losses d (n, K), and the subtracted terms b (n, q)."""

    problem: primal.LinearProblem
    B: np.ndarray
    d: np.ndarray
    b: np.ndarray

    @property
    def work(self) -> float:
        """Number of operations of one step."""
        n, p = self.problem.X.shape
        q = self.B.shape[1]
        return n * (p + 1.0) ** 2 * q * (q + 1) / 2 + (q * (p + 1.0)) ** 3 / 3

    @property
    def reach(self) -> float:
        """The largest absolute value of a cell."""
        return max(largest_cell(self.problem.X), self.problem.bias)

    @property
    def fits(self) -> bool:
        """Whether a step is within `WORK` and `SIZE`."""
        return self.work <= WORK and self.B.shape[1] * (self.problem.X.shape[1] + 1) <= SIZE

    @property
    def whole(self) -> float:
        """Number of operations that take as long as all steps; each has fixed costs as well."""
        return USUAL * (self.work + FIXED)

    def due(self, passes: float, share: float = 0.125) -> bool:
        """Whether `passes` over all rows took this share of the expected time of all steps that fit.

        An operation of coordinate descent takes about five times as long as one of a step.
        """
        n, p = self.problem.X.shape
        spent = 5.0 * passes * n * self.B.shape[1] * (p + 1)
        return self.fits and passes >= FEWEST and spent >= share * USUAL * self.work

    def values(self, V: np.ndarray) -> np.ndarray:
        """d_ik + B_k V z_i."""
        return self.d + np.column_stack([self.problem.scores(v) for v in V]) @ self.B.T

    def moves(self, A: np.ndarray) -> np.ndarray:
        """Coefficients of each row in V for these multipliers, (n, q)."""
        return self.problem.costs[:, None] * self.b - A @ self.B

    def transposed(self, R: np.ndarray) -> np.ndarray:
        """sum_i R_i z_i', (q, p + 1)."""
        return np.array([self.problem.transposed(np.ascontiguousarray(r)) for r in R.T])

    def hessian(self, W: np.ndarray) -> np.ndarray:
        """1 + sum_i B'(diag(W_i) - W_i W_i' / sum(W_i)) B z_i z_i', (q (p + 1), q (p + 1))."""
        q, size = self.B.shape[1], self.problem.X.shape[1] + 1
        H = np.zeros((q, size, q, size))
        first = (W @ self.B) / W.sum(axis=1, keepdims=True)
        for a in range(q):
            for b in range(a, q):
                m = W @ (self.B[:, a] * self.B[:, b]) - (W @ self.B[:, a]) * first[:, b]
                # Options are alternatives: of one score m >= 0, of two of them m <= 0.
                part = primal.weighted_squares(self.problem, np.maximum(m if a == b else -m, 0.0))
                H[a, :, b, :] = H[b, :, a, :] = part if a == b else -part
        H = H.reshape(q * size, q * size)
        H[np.diag_indices(q * size)] += 1.0
        return H


def solve(options: Options, stop: np.ndarray) -> np.ndarray:
    """Multipliers A (n, K) of the minimum, 0 for options that are not the largest.

    1. Factor Newton's equations, reduced to V.
    2. Mehrotra's method: the predictor aims at products of 0; the corrector aims at the products that
       the predictor reaches and includes its second-order term.
    3. Go as far as everything stays positive.
    """
    given = options.problem
    if given.X.shape[0] * given.X.shape[1] <= DENSE_CELLS:
        dense = replace(given, X=np.ascontiguousarray(as_dense(given.X)))
        options = replace(options, problem=dense)
    costs, K = given.costs[:, None], len(options.B)
    V = np.zeros((options.B.shape[1], options.problem.X.shape[1] + 1))
    A, values = np.repeat(np.maximum(costs / K, 1e-250), K, axis=1), options.values(V)
    R = values.max(axis=1, keepdims=True) + max(float(np.ptp(options.d)), 1.0) - values
    units = np.maximum([float((A * R).sum()), float(costs.sum()) * options.reach], 1e-300)
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
    return _rounded(options.problem.costs, *best[1:])


class _Step:
    """Newton's equations at one point; `towards` solves them for given changes of the products."""

    def __init__(self, options: Options, A: np.ndarray, R: np.ndarray, V: np.ndarray) -> None:
        self.options, self.R, self.W = options, R, A / R
        self.total = self.W.sum(axis=1, keepdims=True)
        self.residual = V - options.transposed(options.moves(A))
        self.sizes = np.array([float((A * R).sum()), float(np.abs(self.residual).max())])
        H = options.hessian(self.W)
        self.scale = 1.0 / np.sqrt(np.diagonal(H))
        self.failed = not np.isfinite(H).all()
        if not self.failed:
            try:
                self.root = linalg.cho_factor(
                    H * self.scale * self.scale[:, None], check_finite=False
                )
            except linalg.LinAlgError:  # the limit of double precision is reached
                self.failed = True

    def towards(self, fall: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of A, R and V that lower the products by `fall`."""
        options, W = self.options, self.W
        E = -fall / self.R
        even = W * (E.sum(axis=1, keepdims=True) / self.total)
        right = -self.residual - options.transposed((E - even) @ options.B)
        dV = self.scale * linalg.cho_solve(
            self.root, self.scale * right.reshape(-1), check_finite=False
        )
        dV = dV.reshape(right.shape)
        dZ = options.values(dV) - options.d
        dR = (E + W * dZ).sum(axis=1, keepdims=True) / self.total - dZ
        return E - W * dR, dR, dV


def _inside(x: np.ndarray, dx: np.ndarray) -> float:
    """The longest step of at most 1 that keeps x positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return min(1.0, float(np.where(dx < 0, -x / dx, np.inf).min()))


def _rounded(costs: np.ndarray, now: tuple, before: tuple) -> np.ndarray:
    """Set multipliers that fall faster than their slacks to 0; the sums stay c_i."""
    (A, R), (older_A, older_R) = now, before
    out = np.where(A * older_R < older_A * R, 0.0, A)
    out[np.arange(len(A)), R.argmin(axis=1)] += np.maximum(costs - out.sum(axis=1), 0.0)
    return out * (costs / np.maximum(out.sum(axis=1), 1e-300))[:, None]


def class_options(problem: primal.LinearProblem, codes: np.ndarray, K: int) -> Options:
    """Options of all classes in one problem, after Crammer and Singer."""
    own = np.arange(K) == codes[:, None]
    return Options(problem, np.eye(K), 1.0 - own, own.astype(float))


def single_score_options(problem: primal.LinearProblem) -> Options:
    """Options of one score: the hinge loss or the epsilon-insensitive loss."""
    if problem.margin:
        own = np.array([1.0, -1.0]) == problem.targets[:, None]
        return Options(problem, np.array([[1.0], [0.0]]), 1.0 - own, own[:, :1].astype(float))
    t, none = problem.targets, np.zeros(len(problem.targets))
    sides = np.column_stack([t - problem.epsilon, -t - problem.epsilon, none])
    K = 3 if problem.epsilon > 0 else 2
    return Options(problem, np.array([[-1.0], [1.0], [0.0]])[:K], sides[:, :K], none[:, None])
