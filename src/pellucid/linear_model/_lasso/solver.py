"""The elastic net by working sets: minimise

    1/(2N) sum_i w_i (y_i - x_i . b - b0)^2 + sum_j l1_j |b_j| + sum_j l2_j b_j^2 / 2,  N = sum w

Invariant: a solution is accepted by its duality gap over all columns; coefficients outside the support
are exactly 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.linear_model._lasso import _coordinate, active_set, wide_support
from pellucid.linear_model._lasso.gram_products import (
    AllProducts,
    Columns,
    Products,
    few_columns,
    make_products,
    many_rows,
)
from pellucid.linear_model._ridge.solver import Ridge, prepare, ridge, ridge_positive
from pellucid.numerics.linalg import cholesky_factor
from pellucid.numerics.row_blocks import scaled_penalty
from pellucid.numerics.simd import fastest
from pellucid.parallel import StopFlag
from pellucid.parallel.memory import is_limited
from pellucid.parallel.shard import shard
from pellucid.records import Recorder, Status, converting

descend = fastest(_coordinate).descend  # coordinate descent, with as many lanes as the machine has

FIRST_SET = 10  # smallest number of columns that enter, if there are enough candidates
FEW = 24  # columns up to which an epoch of `descend` depends on the last point alone
SMALL = 64  # columns up to which active sets solve an elastic net, which keeps most of them
COSTLY = 2**25  # products of cells from which a lasso first looks for a solution with few columns
MANY = 200  # columns from which it does
SPARSE = 8  # times as many columns as such a solution has
WHOLE = 512  # columns up to which an elastic net works on all of them at once
EPOCHS = 50  # between two computations of the gap over all columns
ROUNDING = 1e-16
MORE = 1 + 1e-14  # gradient, as a share of the penalty, that exceeds rounding
EXACT = 1e-14  # relative gap at which nothing is left to gain
POLISH_COLUMNS = 4096
POLISH_ROUNDS = 20
FLAT = 1e-9  # damping of directions that the rows do not determine


@dataclass(frozen=True)
class Net:
    """Penalties and stopping rule of an elastic net."""

    l1: float
    l2: float
    intercept: bool
    positive: bool
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Fit:
    """coef (k, p), intercept (k,), means (p,), gap (k,) and how they were found."""

    coef: np.ndarray
    intercept: np.ndarray
    means: np.ndarray
    gap: np.ndarray
    n_iter: np.ndarray
    history: dict[str, np.ndarray]
    status: Status


@dataclass
class State:
    """One target's descent: b, X'r/N at b, the objective and its gap."""

    b: np.ndarray
    g: np.ndarray
    value: float = np.inf
    gap: float = np.inf
    epochs: int = 0


def strengths(task: Ridge, k: int, l1: float, l2: float) -> tuple[np.ndarray, np.ndarray]:
    """The penalties of each column in the units of the task."""
    corner = scaled_penalty(float(l1), task.units - task.lift[k])
    return corner, scaled_penalty(float(l2), 2 * task.units)


def solve_target(
    products: Products, k: int, l1: np.ndarray, l2: np.ndarray, b: np.ndarray, net: Net,
    recorder: Recorder | None = None, scale: float = 1.0, wanted: float = EXACT,
    most: int | None = None,
) -> State:  # fmt: skip
    """Working sets of at most `most` columns: the state is not final if more are needed.

    0. A lasso whose products are all known, or an elastic net of few columns, starts at the result of
       active sets, mostly the solution.
    1. The set: columns with a coefficient, and those whose gradient exceeds the penalty most.
    2. Coordinate descent on the set's products. 3. Given the signs, the rest is linear: solve it.
    4. The gap over all columns decides; else the set grows.
    """
    state, flag = State(b.copy(), np.empty(0)), StopFlag()
    update_gap(products, k, l1, l2, state, net)
    record(recorder, state, scale, k)
    few = len(b) <= SMALL or not l2.any()  # active sets suit few columns
    if few and isinstance(products, AllProducts) and not (b.any() or np.ptp(l1)):
        task = active_set.from_products(products, k, l2)
        penalties, found = active_set.solve(task, float(l1[0]), net.positive, wanted, net.max_iter)
        record_path(recorder, penalties, found, k)
        state.b, state.epochs = active_set.last_point(found)
        update_gap(products, k, l1, l2, state, net)
        record(recorder, state, scale, k)
    gram, yy = wide_support.RowGram(len(b)), float(products.yy[k])
    least, tol = first_set(products, k, l2)
    stuck, best = 0, np.inf
    while state.gap > wanted * yy and state.epochs < net.max_iter:
        flag.check()
        before, active = state.gap, working_set(state, l1, l2, net.positive, least)
        if not len(active) or (most is not None and len(active) > most):
            break
        improve(products, k, active, state, l1, l2, net, recorder, tol, gram)
        update_gap(products, k, l1, l2, state, net)
        record(recorder, state, scale, k)
        if not state.gap < before / 2:
            if tol < ROUNDING * np.sqrt(yy) and stuck > 3:
                break
            tol = max(tol / 16, ROUNDING / 2 * np.sqrt(yy))
        # A gap may be wide for long while the objective still falls.
        stuck = 0 if state.gap < before / 2 or state.value < best - EXACT * yy else stuck + 1
        best = min(best, state.value)
    return state


def first_set(products: Products, k: int, l2: np.ndarray) -> tuple[int, float]:
    """The size of the first working set, and when its first descent ends. A ridge penalty keeps most
    columns."""
    p, size = len(l2), 1e-4 * float(np.sqrt(max(float(products.yy[k]), 1e-300)))
    if not l2.min(initial=np.inf) > 0:
        return FIRST_SET, size
    if isinstance(products, Columns):
        return max(FIRST_SET, min(len(products.y), p) // 4), size
    return (p, 1e-6 * size) if SMALL < p <= WHOLE else (FIRST_SET, size)


def improve(
    products: Products, k: int, active: np.ndarray, state: State, l1: np.ndarray, l2: np.ndarray,
    net: Net, recorder: Recorder | None, tol: float, gram: wide_support.RowGram,
) -> None:  # fmt: skip
    """Steps 2 and 3 of `solve_target`: with more columns than rows, on the columns themselves."""
    left = net.max_iter - state.epochs
    if isinstance(products, Columns) and l2.min() > 0 and 4 * len(active) > len(products.y):
        state.epochs += wide_support.improve(
            products, k, active, state.b, l1, l2, net.positive, tol, left, gram
        )
        return
    inner = state.b[active]
    l1, l2 = l1[active], l2[active]
    Q, q = products.block(active), products.q[active, k]
    given = (Q, q, inner, inner @ Q, l1, l2, net.positive, tol)
    if recorder is not None and recorder.watched and len(q) < FEW:
        state.epochs += descend_watched(recorder, state, active, k, given, min(EPOCHS, left))
    else:
        state.epochs += descend(*given, min(EPOCHS, left))
    state.b[active] = solve_support(Q, q, inner, l1, l2)


def working_set(
    state: State, l1: np.ndarray, l2: np.ndarray, positive: bool, least: int = FIRST_SET
) -> np.ndarray:
    """Columns in use, and the others that exceed the penalty most, at most as many again (or `least`);
    with a ridge penalty, which keeps many columns, three times as many."""
    used = state.b != 0
    correlation = state.g - l2 * state.b
    excess = np.where(used, 0.0, (correlation if positive else np.abs(correlation)) - MORE * l1)
    waiting = np.flatnonzero(excess > 0)
    room = max(least, int(used.sum()) * (3 if l2.any() else 1))
    if len(waiting) > room:
        waiting = waiting[np.argsort(-excess[waiting], kind="stable")[:room]]
    return np.sort(np.append(np.flatnonzero(used), waiting))


def solve_support(
    Q: np.ndarray, q: np.ndarray, b: np.ndarray, l1: np.ndarray, l2: np.ndarray
) -> np.ndarray:
    """b with its support solved for exactly.

    While signs hold, the objective is a quadratic: go to its minimum, or as far as the first
    coefficient that reaches 0; that one leaves, and the rest is solved again.
    """
    for _ in range(POLISH_ROUNDS):
        support = np.flatnonzero(b)
        if not 0 < len(support) <= POLISH_COLUMNS:
            return b
        H = Q[np.ix_(support, support)] + np.diag(l2[support])
        right = q[support] - l1[support] * np.sign(b[support])
        factor = cholesky_factor(H)
        if factor is None:
            # More columns than the rows determine: a long step along flat directions.
            damped = H + np.diag(FLAT * np.diagonal(H))
            factor = cholesky_factor(damped)
        if factor is None:
            return b
        old = b[support]
        new = old + factor.solve(right - H @ old)
        new += factor.solve(right - H @ new)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(np.sign(new) != np.sign(old), old / (old - new), np.inf)
        first = int(np.argmin(reach))
        b = b.copy()
        if reach[first] > 1:
            b[support] = new
            return b
        b[support] = old + reach[first] * (new - old)
        b[support[first]] = 0.0
        b[support[np.sign(b[support]) != np.sign(old)]] = 0.0
    return b


def update_gap(
    products: Products, k: int, l1: np.ndarray, l2: np.ndarray, state: State, net: Net
) -> None:
    """Gradient, objective and duality gap at b.

    The dual point is the residual (of the table extended by sqrt(l2) rows), shrunk until no gradient
    exceeds its penalty.
    """
    b = state.b
    active, yy = np.flatnonzero(b), float(products.yy[k])
    if len(active):
        state.g, own = products.gradient(k, b, active), b[active]
        fitted, curve = float(products.q[active, k] @ own), float(l2[active] @ own**2)
        explained = fitted - float(state.g[active] @ own)  # b'Qb
        residual = max(yy - 2 * fitted + explained, 0.0) + curve
        state.value = 0.5 * residual + float(l1[active] @ np.abs(own))
    else:
        state.g, fitted, residual, state.value = products.q[:, k].copy(), 0.0, yy, 0.5 * yy
    correlation = state.g - l2 * b
    correlation = correlation if net.positive else np.abs(correlation)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(correlation > l1, l1 / correlation, 1.0)
    shrink = float(ratio.min(initial=1.0))
    dual = shrink * (yy - fitted) - 0.5 * shrink**2 * residual
    state.gap = max(state.value - dual, 0.0)


def descend_watched(
    recorder: Recorder, state: State, active: np.ndarray, k: int, given: tuple, room: int
) -> int:
    """`descend` one epoch at a time, which gives the same bits for fewer than `FEW` columns."""
    Q, _, inner, _, _, curve, _, tol = given
    roots = np.sqrt(np.diagonal(Q) + curve)
    for epoch in range(1, room + 1):
        before, b = inner.copy(), state.b.copy()
        descend(*given, 1)
        b[active] = inner
        used = int(np.count_nonzero(b))
        recorder.step(
            state.epochs + epoch, {"b": b, "target": k}, {"epoch": state.epochs + epoch},
            nonzero=used, sentence=f"Epoch {state.epochs + epoch} of coordinate descent: the number "
            f"of nonzero coefficients is {used}.",
        )  # fmt: skip
        if float(np.max(np.abs(inner - before) * roots)) <= tol:
            break
    return epoch


def record_path(
    recorder: Recorder | None, penalties: np.ndarray, found: active_set.Points, k: int
) -> None:
    """Steps at the larger penalties on the way to the one wanted."""
    if recorder is None or not recorder.watched:
        return
    for i, b in enumerate(found.coef[: min(found.made, len(penalties) - 1)]):
        factor, used = float(penalties[i] / penalties[-1]), int(np.count_nonzero(b))
        recorder.step(
            int(found.rounds[: i + 1].sum()), {"b": b, "target": k}, {"penalty_factor": factor},
            penalty_factor=factor, nonzero=used, sentence=f"At {factor:.3g} times the penalty, the "
            f"number of nonzero coefficients is {used}.",
        )  # fmt: skip


def record(recorder: Recorder | None, state: State, scale: float, k: int) -> None:
    if recorder is not None:
        largest = np.finfo(float).max
        with np.errstate(over="ignore"):
            recorder.add(
                iteration=state.epochs, objective=min(state.value * scale, largest),
                gap=min(state.gap * scale, largest), nonzero=int(np.count_nonzero(state.b)),
                state=lambda: {"b": state.b, "target": k},
            )  # fmt: skip


def elastic_net(
    X: Any, Y: np.ndarray, weights: np.ndarray, net: Net, start: np.ndarray | None = None,
    task: Ridge | None = None,
) -> Fit:  # fmt: skip
    """Fit every column of Y (n, k); `task` is the result of `prepare`, if it exists already."""
    if net.l1 == 0:
        return without_l1(X, Y, weights, net)
    n, p = X.shape
    plain = task is None and isinstance(X, np.ndarray) and shard() is None and not is_limited()
    if plain and start is None and net.l2 == 0 and Y.shape[1] == 1 and may_be_sparse(n, p):
        task = prepare(X, Y, weights, net.intercept)
        found = fit_targets(task, make_products(task, False), net, None, p // SPARSE)
        if found is not None:
            return found
        task = None
    few = (many_rows if plain and net.l2 > 0 else few_columns)(n, p)
    task = prepare(X, Y, weights, net.intercept, few) if task is None else task
    found = fit_targets(task, make_products(task, few), net, start)
    assert found is not None
    return found


def may_be_sparse(n: int, p: int) -> bool:
    """Whether a lasso with few coefficients would be found before the products of all columns."""
    return few_columns(n, p) and p >= MANY and n * p * p >= COSTLY


def fit_targets(
    task: Ridge, products: Products, net: Net, start: np.ndarray | None, most: int | None = None
) -> Fit | None:
    """The fit of every target; None if a working set would have more columns than `most`."""
    targets, p = products.q.shape[1], len(products.q)
    b, gap, n_iter = np.zeros((targets, p)), np.zeros(targets), np.zeros(targets, dtype=int)

    def on_original_scale(b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        coef, intercept, means = task.to_user(b, products.mean, products.mean_y)
        return coef, intercept if net.intercept else np.zeros(targets), means

    def all_targets(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
        whole = b.copy()
        whole[state["target"]] = state["b"]
        return dict(zip(("coef", "intercept"), on_original_scale(whole)))

    with converting(all_targets):
        recorder, good = Recorder("coordinate descent", net.max_iter), True
    for k in range(targets):
        if start is not None:
            with np.errstate(under="ignore", over="ignore"):
                b[k] = np.ldexp(start[k], -task.units - task.lift[k])
        l1, l2 = strengths(task, k, net.l1, net.l2)
        with np.errstate(over="ignore"):
            scale = float(np.ldexp(1.0, 2 * int(task.lift[k])))
        if most is None:
            state = solve_target(products, k, l1, l2, b[k], net, recorder, scale)
        else:
            state = solve_target(products, k, l1, l2, b[k], net, most=most)
            if state.gap > EXACT * float(products.yy[k]):
                return None
            begin = State(b[k].copy(), np.empty(0))
            update_gap(products, k, l1, l2, begin, net)
            record(recorder, begin, scale, k)
            record(recorder, state, scale, k)
        b[k], n_iter[k] = state.b, max(state.epochs, 1)
        good &= state.gap <= max(net.tol, 1e-12) * float(products.yy[k])
        with np.errstate(over="ignore"):
            gap[k] = state.gap * scale
    return Fit(*on_original_scale(b), gap, n_iter, recorder.history(), status_of(good, gap, n_iter))


def status_of(good: bool, gap: np.ndarray, n_iter: np.ndarray) -> Status:
    epochs, width = int(n_iter.max()), float(gap.max())
    if good:
        return Status(
            "converged", f"Converged after {epochs} rounds; the duality gap is {width:.2g}."
        )
    return Status(
        "max_iter",
        f"Stopped after {epochs} rounds (max_iter) with a duality gap of {width:.2g}, above tol.",
        "Increase max_iter or alpha, or bring the columns to similar scales.",
    )


def without_l1(X: Any, Y: np.ndarray, weights: np.ndarray, net: Net) -> Fit:
    """No l1 part: ridge regression, or least squares."""
    from pellucid.linear_model._ridge.solver import objective

    total = float(weights.sum())
    alpha = np.full(Y.shape[1], net.l2 * total)
    solve = ridge_positive if net.positive else ridge
    found = solve(X, Y, weights, alpha, net.intercept)
    value = objective(X, Y, weights, alpha, found) / total
    history = {"iteration": np.ones(1), "objective": np.array([value])}
    status = Status("ok", "Solved directly: there is no l1 penalty.")
    coef, intercept, means = found
    return Fit(
        coef,
        intercept,
        means,
        np.zeros(Y.shape[1]),
        np.ones(Y.shape[1], dtype=int),
        history,
        status,
    )
