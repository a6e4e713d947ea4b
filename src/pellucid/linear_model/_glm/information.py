"""What a fit of a generalised linear model without penalty keeps for `summary` and intervals.

Invariant: everything that `summary` shows is summed during the fit, except robust errors, which need
its rows again. The keys of `facts` are part of the format of model files.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._glm.boundary import table_aliases
from pellucid.linear_model._glm.distributions import FittedRows
from pellucid.linear_model._glm.solver import Task, prepare, solve
from pellucid.linear_model._inference.information import NONE, Information
from pellucid.linear_model._inference.intervals import slack
from pellucid.linear_model._logistic.solver import INFERENCE_SIZE
from pellucid.numerics.collinearity import find_aliases
from pellucid.numerics.linalg import GRAM_DIGITS, cholesky_factor
from pellucid.numerics.moments import weighted_mean
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.row_blocks import Rows

# Families whose variance is a known function of the mean: nothing else is estimated.
KNOWN_DISPERSION = ("binomial", "poisson", "negative_binomial")
# Families whose likelihood is the same whether a weight means copies or precision.
EITHER_WEIGHTS = ("poisson", "negative_binomial", "gamma", "inverse_gaussian")
NULL_STEPS = 100
ROUNDING = 2.0**-50  # share of a mean, and of its linear predictor's part in it, that is rounding


def has_facts(model: Any, p: int) -> bool:
    """Whether a fit of p columns keeps `facts`: it has no penalty and is not too wide."""
    return model.alpha == 0 and model.solver != "gd" and p < INFERENCE_SIZE


def facts(
    task: Task, x: np.ndarray, problem: Problem, loss: GLMLoss, endless: np.ndarray
) -> dict[str, Any]:
    """A root of the covariance (for dispersion 1), deviances, log-likelihoods and counts of rows.

    `endless` (p + 1, m) holds directions along which the fit improves without limit.
    """
    family, known_dispersion = loss.family, loss.family.name in KNOWN_DISPERSION
    known = information(task, x, bool(endless.size))
    y, w = problem.y, problem.weights
    task.objective.evaluate(x)
    eta, null_eta = task.objective.last["eta"], constant_scores(task, loss)
    mean = weighted_mean(y, w)

    def sums(rows: slice) -> np.ndarray:
        with np.errstate(all="ignore"):
            t, mu, share = y[rows], loss.link.inverse(eta[rows]), w[rows]
            own = share @ family.half_deviance(t, mu)
            means = np.full_like(t, mean)
            if null_eta is not None:
                means = loss.link.inverse(null_eta[rows])
            null = share @ family.half_deviance(t, means)
            V, noise = family.variance(mu), 0.0
            if not known_dispersion:
                noise = np.abs(mu) + np.abs(eta[rows] * loss.link.derivative(eta[rows]))
                noise = ROUNDING**2 * (share @ (noise**2 / V))
            return np.array([own, null, share @ ((t - mu) ** 2 / V), noise])

    blocks = task.objective.X.blocks
    own, null, pearson, noise = parallel.reduce(sums, np.ndarray.__iadd__, blocks).tolist()
    pearson = 0.0 if pearson <= noise else pearson
    fitted = FittedRows(loss, y, eta, w, blocks, 2 * own, pearson, known.rank)
    likelihood = fitted.log_likelihood(problem.total)
    by_precision = likelihood
    if family.name not in EITHER_WEIGHTS:
        by_precision = fitted.log_likelihood(float(problem.n_all), precision=True)
    if family.name == "normal" and parallel.any_row(np.any(problem.weights % 1)):
        likelihood = by_precision  # weights that are not whole are inverse variances
    return {
        "root": known.root, "centre": task.centre, "aliased": known.aliased, "null": known.null,
        "endless": task.directions(endless),
        "slack": slack(problem.X, known.null[:-1], known.null[-1]),
        "rank": known.rank, "total": problem.total, "rows": problem.n_all, "deviance": 2 * own,
        "pearson": pearson,
        "null_deviance": 2 * null,
        "log_likelihood": likelihood, "log_likelihood_precision": by_precision,
        "known": known_dispersion, "constant": is_constant(y),
        "family": family.name, "link": loss.link.name,
    }  # fmt: skip


def is_constant(y: np.ndarray) -> bool:
    """Whether y is the same in all rows."""
    low, high = parallel.everywhere(
        (y.min(), -y.max()), lambda a, b: (min(a[0], b[0]), min(a[1], b[1]))
    )
    return bool(low == -high)


def information(task: Task, x: np.ndarray, endless: bool) -> Information:
    """On the original scale, for b and for what is predicted at `task.centre`."""
    objective = task.objective
    p = objective.X.p
    order = np.append(p, np.arange(p)) if objective.intercept else np.arange(p)
    H = objective.curvature(x, expected=True)[np.ix_(order, order)]
    null, aliased, rank = np.zeros((p + 1, 0)), NONE, len(order)
    if not np.isfinite(H).all():
        return Information(np.full((p + 1, rank), np.nan), rank, aliased, null, NONE)
    factor, kept = cholesky_factor(H), order
    if factor is None or endless:
        found = find_aliases(objective.triangle(x), objective.intercept)
        factor, kept = found.factor, found.kept
        table = table_aliases(objective) if endless else found
        aliased, null, rank = table.aliased, task.directions(table.null), len(table.kept)
    elif factor.condition > GRAM_DIGITS:
        place = np.eye(p + 1)[:, order]
        factor = factor.sharpened(lambda V: objective.gram_along(x, place @ V))
    root = np.zeros((p + 1, factor.rank))
    root[kept] = factor.inverse_rows()
    return Information(task.root(root), rank, aliased, null, NONE)


def constant_scores(task: Task, loss: GLMLoss) -> np.ndarray | None:
    """Linear predictors of the model without columns; None if their mean is that of y."""
    if task.objective.intercept and task.objective.offset is None:
        return None
    alone = replace(
        task.objective,
        X=Rows(np.zeros((task.objective.X.n_here, 0))),
        alpha=np.zeros(0),
        shift=None,
    )
    empty = Task(alone, np.zeros(0), NONE, task.weights_lift)
    x = np.zeros(1)
    if alone.intercept:
        try:
            x = solve(empty, loss, "auto", 0.0, NULL_STEPS, None).x
        except DataError:  # with this offset no constant gives every row a possible mean
            x[0] = np.nan
    alone.evaluate(x)
    return alone.last["eta"]


def constant_means(loss: GLMLoss, y: np.ndarray, w: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Means of the best constant beside an offset."""
    task = prepare(np.zeros((len(y), 0)), y, w, offset, loss, 0.0, True)
    eta = constant_scores(task, loss)
    assert eta is not None
    with np.errstate(over="ignore"):
        return loss.link.inverse(eta)
