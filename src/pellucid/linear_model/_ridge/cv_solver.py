"""The penalty of a ridge regression by leaving rows out: one by one, or fold by fold.

Leaving out row i changes its residual r_i to r_i / (1 - h_i), with the leverage h_i of the full
fit: no row is ever really left out.

Invariant: with whole numbers as weights one copy of a row is left out, else the whole row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model._ridge.eigen import Spectrum, make_spectrum
from pellucid.linear_model.cv_folds import Fold
from pellucid.numerics.double_double import loops

ALONE = 1e-13  # 1 - leverage below which nothing is left to predict the row from

# (predictions (m, k), y (m, k), weights (m,)) -> score; larger is better.
Score = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Search:
    """scores (alphas, targets), or (alphas, 1) of all targets together, larger is better; predictions
    (n, k, alphas) of the left-out rows."""

    scores: np.ndarray
    predictions: np.ndarray | None


def leave_one_out(
    problem: Problem, Y: np.ndarray, alphas: np.ndarray, made: Spectrum, keep: bool,
    score: Score | None, together: bool,
) -> Search:  # fmt: skip
    """Every row predicted without itself, for all penalties at once. `together`: one score of all
    targets."""
    tall = problem.n >= problem.p
    visit = _tall_rows(made, alphas) if tall else _wide_rows(made, alphas)
    w, k, m = problem.weights, Y.shape[1], len(alphas)
    single = 1.0 if problem.counts else w  # how much is left out at once
    units = np.broadcast_to(single, w.shape)
    all_rows = np.empty((problem.n, k, m)) if keep or score is not None else None

    def partial(rows: slice) -> np.ndarray:
        residual, rest = visit(rows, units[rows])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slip = np.where(rest[:, None, :] > ALONE, residual / rest[:, None, :], np.inf)
            if all_rows is not None:
                all_rows[rows] = Y[rows][:, :, None] - np.ldexp(slip, made.lift[:, None])
            return np.einsum("i,ikm->mk", w[rows], slip**2)

    squares = parallel.reduce(partial, np.ndarray.__iadd__, made.task.design.X.blocks)
    if score is not None:
        assert all_rows is not None
        scores = [_scores(all_rows[:, :, a], Y, w, score, together) for a in range(m)]
        return Search(np.array(scores), all_rows)
    with np.errstate(over="ignore"):
        errors = np.ldexp(squares / w.sum(), 2 * made.lift)
    return Search(-errors, all_rows)


def _tall_rows(made: Spectrum, alphas: np.ndarray) -> Any:
    """rows -> residuals (m, k, alphas) in units of 2**lift and 1 - leverage (m, alphas)."""
    design, units = made.task.design, made.task.units
    gain = 1.0 / (made.values[:, None] + alphas)
    B = made.projections[:, :, None] * gain[:, None, :]
    r, k, m = B.shape
    middle, one = np.ldexp(made.mean, units), float(design.constant) / made.total
    basis = np.ldexp(made.vectors, -units[:, None])
    # All that is made of a row at once: its parts along the directions, and its fits.
    sides = np.column_stack([basis, basis @ B.reshape(r, k * m)])
    far = bool(design.shift.any())  # there the mean must come off first, else at less cost after
    centre = np.zeros(r + k * m) if far else middle @ sides
    gain = np.ascontiguousarray(gain.T)

    def visit(rows: slice, single: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = design.X.dense(rows)
        Z = (X - middle if far else X) @ sides
        fit = (Z[:, r:] - centre[r:]).reshape(len(Z), k, m)
        residual = (design.Y[rows] - made.mean_y)[:, :, None] - fit
        lever = np.empty((len(Z), m))
        loops.row_squares(Z[:, :r], centre[:r], gain, lever)
        return residual, 1.0 - single[:, None] * (lever + one)

    return visit


def _wide_rows(made: Spectrum, alphas: np.ndarray) -> Any:
    """As `_tall_rows`: here 1 - leverage is a sum of small numbers, never a difference."""
    design, solver = made.task.design, made.solver
    U, w = solver.left[:, : len(made.values)], design.weights
    left = alphas / (made.values[:, None] + alphas)  # (r, alphas)
    inside = U.T @ solver.y  # (r, k)
    root = np.sqrt(w)
    constant = float(design.constant) * w / w.sum()
    whole = len(made.values) + int(design.constant) >= len(w)

    def visit(rows: slice, single: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = U[rows]
        share = single / np.ldexp(w[rows], made.task.weights_lift)
        residual = np.einsum("ij,jk,jm->ikm", part, inside, left, optimize=True)
        rest = np.square(part) @ left
        if not whole:
            residual += (solver.y[rows] - part @ inside)[:, :, None]
            rest += (1.0 - np.square(part).sum(axis=1) - constant[rows])[:, None]
        rest = 1.0 - share[:, None] * (1.0 - rest) if np.any(share != 1.0) else rest
        return residual / root[rows][:, None, None], rest

    return visit


def by_folds(
    problem: Problem, Y: np.ndarray, alphas: np.ndarray, folds: list[Fold], intercept: bool,
    score: Score, together: bool,
) -> Search:  # fmt: skip
    """The mean score over folds for every penalty. `together`: one score of all targets."""

    def one(fold: Fold) -> np.ndarray:
        made = make_spectrum(problem.X, Y, fold.train, intercept)
        rows = np.flatnonzero(fold.test)
        X, y, w = problem.X[rows], Y[rows], fold.test[rows]
        scores, guess = [], np.empty(y.shape)
        for alpha in alphas:
            for t in range(Y.shape[1]):
                b = made.ridge(alpha, t)
                centre = made.mean_y[t] - made.mean @ b
                guess[:, t] = np.ldexp(np.asarray(X @ b) + centre, made.lift[t])
            scores.append(_scores(guess, y, w, score, together))
        return np.array(scores)

    parts = parallel.map(one, folds)
    return Search(np.mean(parts, axis=0), None)


def _scores(
    guess: np.ndarray, y: np.ndarray, w: np.ndarray, score: Score, together: bool
) -> list[float]:
    """The score of each target, or the one score of all of them."""
    targets = [slice(None)] if together else [slice(t, t + 1) for t in range(y.shape[1])]
    return [score(guess[:, at], y[:, at], w) for at in targets]


def r_squared(guess: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Share of the variance of y that a prediction explains; of y that do not vary 1 or 0."""
    total = w @ (y - w @ y / w.sum()) ** 2
    rest = w @ (y - guess) ** 2
    perfect = np.where(rest == 0, 1.0, 0.0)
    return float(np.mean(np.where(total > 0, 1 - rest / np.where(total > 0, total, 1.0), perfect)))
