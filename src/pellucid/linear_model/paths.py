"""Coefficients of the lasso and elastic net along a range of penalties.

Invariant: a path point is what `ElasticNet(fit_intercept=False)` finds at that alpha; every point
starts from the one before.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.errors import DataError
from pellucid.parameters import Integer, Real, check, number_list
from pellucid.records import Recorder, fitting


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> tuple:
    """`enet_path` with l1_ratio = 1."""
    given = {"eps": eps, "alphas": alphas, "positive": positive, "tol": tol, "max_iter": max_iter}
    return _path("lasso_path", X, y, given | {"l1_ratio": 1.0}, return_n_iter)


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    check_input: bool = True,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> tuple:
    """alphas (m,) falling, coefs (p, m) or (targets, p, m), dual gaps (m,) or (targets, m).

    X and y are not centred: centre them first if you want an intercept. `alphas` is a number
    of penalties, evenly spaced in logarithm from the smallest that leaves no column down to `eps`
    times it, or the penalties themselves. Several targets have one path each, at the same penalties.
    `precompute`, `Xy`, `copy_X`, `coef_init`, `verbose` and `check_input` have no effect. With
    `return_n_iter`, the epochs of each point too.

    Examples
    --------
    >>> alphas, coefs, gaps = lasso_path([[1.0], [-1.0]], [2.0, -2.0], alphas=[1.0, 0.5])
    >>> coefs
    array([[1. , 1.5]])
    """
    given = {"eps": eps, "alphas": alphas, "positive": positive, "tol": tol, "max_iter": max_iter}
    return _path("enet_path", X, y, given | {"l1_ratio": l1_ratio}, return_n_iter)


def _path(owner: str, X: Any, y: Any, given: dict[str, Any], return_n_iter: bool) -> tuple:
    from pellucid.data.problem import InputSpec, prepare
    from pellucid.linear_model._lasso.base import PARAMETERS

    check(owner, given, PARAMETERS | {"l1_ratio": Real(0, 1, "right")})
    problem, _ = prepare(X, y, None, None, None, InputSpec(owner=owner, target="several"))
    Y, l1_ratio, positive = problem.y.reshape(problem.n, -1), given["l1_ratio"], given["positive"]
    grid = penalty_grid(
        owner,
        problem.X,
        Y,
        problem.weights,
        given["alphas"],
        l1_ratio,
        given["eps"],
        False,
        positive,
    )
    with fitting(owner):
        coef, gap, n_iter = path_on(
            problem.X, Y, problem.weights, grid, l1_ratio, positive, given["tol"],
            given["max_iter"],
        )  # fmt: skip
    if problem.y.ndim == 1:
        coef, gap, n_iter = coef[0], gap[0], n_iter[0]
    return (grid, coef, gap, n_iter) if return_n_iter else (grid, coef, gap)


def penalty_grid(
    owner: str, X: Any, Y: np.ndarray, weights: np.ndarray, alphas: Any, l1_ratio: float,
    eps: float, intercept: bool, positive: bool = False, correlation: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Penalties in falling order; `correlation` is X'y / N of centred columns, if it is known."""
    if not Integer(1).accepts(alphas):
        return np.sort(number_list(owner, "alphas", alphas, Real(0, None)))[::-1]
    with np.errstate(over="ignore", invalid="ignore"):
        if correlation is None:
            share = weights / weights.sum()
            centred = Y - share @ Y if intercept else Y
            correlation = np.asarray(X.T @ (centred * share[:, None]))
        correlation = correlation if positive else np.abs(correlation)
        top = float(correlation.max(initial=0.0)) / l1_ratio
    if not np.isfinite(top):
        raise DataError(
            "The products of the columns with y overflow float64. Rescale X or y, or pass the "
            "penalties: alphas=[...]."
        )
    if not top > np.finfo(float).resolution:
        return np.full(alphas, np.finfo(float).resolution)
    return np.geomspace(top, top * eps, num=alphas)


def path_on(
    X: Any, Y: np.ndarray, weights: np.ndarray, alphas: np.ndarray, l1_ratio: float,
    positive: bool, tol: float, max_iter: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Coefficients (k, p, m), gaps (k, m) and epochs (k, m), without an intercept."""
    from pellucid import parallel
    from pellucid.linear_model._lasso import solver

    targets, p, m = Y.shape[1], X.shape[1], len(alphas)
    coef, gap = np.zeros((targets, p, m)), np.zeros((targets, m))
    n_iter = np.zeros((targets, m), dtype=int)
    net, recorder = solver.Net(0.0, 0.0, False, positive, tol, max_iter), Recorder("path", m)
    with parallel.one_blas_thread():
        task = solver.prepare(X, Y, weights, False)
        products = solver.make_products(task)
        for k in range(targets):
            b = np.zeros(p)
            for i, alpha in enumerate(alphas):
                given = replace(net, l1=alpha * l1_ratio, l2=alpha * (1 - l1_ratio))
                if given.l1 == 0:
                    found = solver.elastic_net(X, Y[:, k : k + 1], weights, given)
                    coef[k, :, i], n_iter[k, i] = found.coef[0], 1
                    _record(recorder, k, i, alpha, coef[k, :, i])
                    continue
                l1, l2 = solver.strengths(task, k, given.l1, given.l2)
                state = solver.solve_target(products, k, l1, l2, b, given)
                b, n_iter[k, i] = state.b, max(state.epochs, 1)
                coef[k, :, i] = np.ldexp(b, task.units + task.lift[k])
                gap[k, i] = np.ldexp(state.gap, 2 * int(task.lift[k]))
                _record(recorder, k, i, alpha, coef[k, :, i])
    return coef, gap, n_iter


def _record(recorder: Recorder, target: int, i: int, alpha: float, coef: np.ndarray) -> None:
    used = int(np.count_nonzero(coef))
    recorder.step(
        i + 1, {"coef": coef}, {"alpha": float(alpha), "target": target}, alpha=float(alpha),
        nonzero=used, sentence=f"With alpha = {alpha:.4g}, the number of nonzero coefficients is "
        f"{used}.",
    )  # fmt: skip
