"""Standard errors and fit statistics of unpenalised generalised linear models.

Invariant: what `summary()` shows was summed up during the fit, except robust errors, which need its
rows again; nothing is shown where theory gives no answer.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc, gammaln, xlogy

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, PellucidError
from pellucid.linear_model._glm.solver import Task, information, prepare, solve
from pellucid.linear_model._inference.intervals import slack
from pellucid.linear_model._inference.least_squares import (
    COLUMNS,
    SHRUNK,
    estimate_lines,
    few_groups_note,
    missing_notes,
    penalised_summary,
)
from pellucid.linear_model._inference.robust import Wanted
from pellucid.linear_model._logistic.solver import INFERENCE_SIZE
from pellucid.numerics.collinearity import as_if_absent
from pellucid.numerics.objectives.families import Family, GLMLoss
from pellucid.numerics.row_blocks import Rows
from pellucid.records import SummaryTable

# Families whose variance is a known function of the mean: nothing else is estimated.
KNOWN_DISPERSION = ("binomial", "poisson", "negative_binomial")
# Families whose likelihood does not ask whether a weight is copies or precision.
EITHER_WAY = ("poisson", "negative_binomial", "gamma", "inverse_gaussian")
NULL_STEPS = 100
WIDE = (
    f"Models of {INFERENCE_SIZE} or more columns keep no covariance, so there are no standard errors. "
    "pellucid.inspection.bootstrap gives intervals for any model."
)
ROUNDING = 2.0**-50  # share of a mean, and of its linear predictor's part in it, that is rounding
TABLE = 4096  # factorials up to which a table is cheaper


def has_facts(model: Any, p: int) -> bool:
    """Whether a fit of p columns leaves `facts`: theory knows them, and there is room for them."""
    return model.alpha == 0 and model.solver != "gd" and p < INFERENCE_SIZE


def facts(
    task: Task, x: np.ndarray, problem: Problem, loss: GLMLoss, endless: np.ndarray
) -> dict[str, Any]:
    """A root of the covariance (for dispersion 1), deviances, log-likelihoods and counts of rows."""
    family, known_dispersion = loss.family, loss.family.name in KNOWN_DISPERSION
    known = information(task, x, endless)
    y, w = problem.y, problem.weights
    task.objective.evaluate(x)
    eta, null_eta = task.objective.last["eta"], constant_scores(task, loss)
    middle = w @ y / w.sum()

    def sums(rows: slice) -> np.ndarray:
        with np.errstate(all="ignore"):
            t, mu, share = y[rows], loss.link.inverse(eta[rows]), w[rows]
            own = share @ family.half_deviance(t, mu)
            means = np.full_like(t, middle)
            if null_eta is not None:
                means = loss.link.inverse(null_eta[rows])
            null = share @ family.half_deviance(t, means)
            V, noise = family.variance(mu), 0.0
            if not known_dispersion:
                noise = np.abs(mu) + np.abs(eta[rows] * loss.link.slope(eta[rows]))
                noise = ROUNDING**2 * (share @ (noise**2 / V))
            return np.array([own, null, share @ ((t - mu) ** 2 / V), noise])

    blocks = task.objective.X.blocks
    own, null, pearson, noise = parallel.reduce(sums, np.ndarray.__iadd__, blocks).tolist()
    pearson = 0.0 if pearson <= noise else pearson
    seen = Seen(loss, y, eta, w, blocks, 2 * own, pearson, known.rank)
    likelihood = seen.log_likelihood(problem.total)
    same = family.name in EITHER_WAY
    by_precision = likelihood if same else seen.log_likelihood(float(problem.n), precision=True)
    if family.name == "normal" and np.any(problem.weights % 1):
        likelihood = by_precision  # no copies: weights are inverse variances
    return {
        "root": known.root, "centre": known.centre, "aliased": known.aliased, "null": known.null,
        "endless": known.endless,
        "slack": slack(problem.X, known.null[:-1], known.null[-1]),
        "rank": known.rank, "total": problem.total, "rows": problem.n, "deviance": 2 * own,
        "pearson": pearson,
        "null_deviance": 2 * null,
        "log_likelihood": likelihood, "log_likelihood_precision": by_precision,
        "known": known_dispersion, "constant": bool(y.min() == y.max()),
        "family": family.name, "link": loss.link.name,
    }  # fmt: skip


def constant_scores(task: Task, loss: GLMLoss) -> np.ndarray | None:
    """Linear predictors of the model without columns; None if their mean is that of y."""
    if task.objective.intercept and task.objective.offset is None:
        return None
    alone = replace(
        task.objective, X=Rows(np.zeros((task.objective.X.n, 0))), alpha=np.zeros(0), shift=None,
    )  # fmt: skip
    empty = Task(alone, np.zeros(0), np.zeros(0, dtype=np.int64), task.weights_lift)
    x = np.zeros(1)
    if alone.intercept:
        try:
            x = solve(empty, loss, "auto", 0.0, NULL_STEPS, None).x
        except DataError:  # beside this offset no constant has a possible mean for every row
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


@dataclass(frozen=True)
class Seen:
    """Rows, their fitted linear predictors and how far apart rows and means are."""

    loss: GLMLoss
    y: np.ndarray
    eta: np.ndarray
    w: np.ndarray
    blocks: list[slice]
    deviance: float
    pearson: float
    rank: int

    def log_likelihood(self, n: float, precision: bool = False) -> float:
        """At the fitted means; NaN if there is no formula.

        As in R: an estimated dispersion is deviance / n for normal errors, and deviance / sum of
        weights for gamma and inverse Gaussian, whatever a weight means. For Tweedie it is
        pearson / (n - rank), as in statsmodels. With `precision` weights shares of trials count
        the ways to draw them.
        """
        with np.errstate(all="ignore"):
            if self.loss.family.name == "normal":
                units = 0.5 * float(np.log(self.w).sum()) if precision else 0.0
                return units - 0.5 * n * float(np.log(2 * np.pi * np.divide(self.deviance, n)) + 1)
            scale = float(np.divide(self.deviance, self.w.sum()))
        return self._without_rows() + float(
            parallel.reduce(
                lambda rows: np.array([self._part(rows, n, scale, precision)]),
                np.ndarray.__iadd__,
                self.blocks,
            )[0]
        )

    def _without_rows(self) -> float:
        """What the deviance says already: counts are only compared with their own means."""
        return -0.5 * self.deviance if self.loss.family.name == "poisson" else 0.0

    def _part(self, rows: slice, n: float, scale: float, precision: bool) -> float:
        """What a block of rows adds."""
        name, y, w = self.loss.family.name, self.y[rows], self.w[rows]
        if name == "poisson":
            return float(w @ best_log_chance(y))
        with np.errstate(all="ignore"):
            mu = self.loss.link.inverse(self.eta[rows])
            if name == "binomial":
                ways = gammaln(w + 1) - gammaln(w * y + 1) - gammaln(w * (1 - y) + 1)
                return float(w @ (xlogy(y, mu) + xlogy(1 - y, 1 - mu)) + precision * ways.sum())
            if name == "gamma":
                shape = np.divide(1.0, scale)
                each = shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)
                return float(w @ each)
            if name == "inverse_gaussian":
                return -0.5 * float(w @ (np.log(2 * np.pi * scale) + 3 * np.log(y) + 1))
            if name == "negative_binomial":
                return float(w @ _negative_binomial(y, mu, extra_variance(self.loss.family)))
            power = power_of(self.loss.family)
            if 1 < power < 2 and n > self.rank:
                return float(w @ _tweedie(y, mu, power, self.pearson / (n - self.rank)))
            return float("nan")


def best_log_chance(y: np.ndarray) -> np.ndarray:
    """log of the chance of a count y if its mean is y, from a table where y are small."""

    def chance(y: np.ndarray) -> np.ndarray:
        return xlogy(y, y) - y - gammaln(y + 1)

    top = float(y.max(initial=0.0))
    if top < TABLE:
        whole = y.astype(np.int64)
        if np.array_equal(whole, y):
            return chance(np.arange(top + 1))[whole]
    return chance(y)


def extra_variance(family: Family) -> float:
    """alpha of V = mu + alpha mu^2."""
    return float(family.variance(np.ones(1))[0]) - 1.0


def power_of(family: Family) -> float:
    """p of V = mu^p."""
    return float(np.log2(family.variance(np.full(1, 2.0))[0]))


def _negative_binomial(y: np.ndarray, mu: np.ndarray, alpha: float) -> np.ndarray:
    size = 1 / alpha
    ways = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
    return ways + xlogy(y, alpha * mu) - (y + size) * np.log1p(alpha * mu)


def _tweedie(y: np.ndarray, mu: np.ndarray, power: float, scale: float) -> np.ndarray:
    """Sums of a Poisson number of gamma amounts: the density of y > 0 is a Wright function."""
    from scipy.special import log_wright_bessel

    kernel = y * mu ** (1 - power) / (1 - power) - mu ** (2 - power) / (2 - power)
    a = (2 - power) / (power - 1)
    some = np.where(y > 0, y, 1.0)
    t = ((power - 1) * scale / some) ** -a / ((2 - power) * scale)
    return kernel / scale + np.where(y > 0, log_wright_bessel(a, 0.0, t) - np.log(some), 0.0)


def glm_summary(model: Any, wanted: Wanted) -> SummaryTable:
    """The table of a fitted GLM."""
    wanted.check()
    kept = vars(model).get("inference_")
    if kept is None:
        if model.solver == "gd":
            raise PellucidError(
                "solver='gd' is for watching: fit with solver='auto' for a summary."
            )
        shown = {"alpha": float(model.alpha)}
        if model.l1_ratio > 0:
            shown["l1_ratio"] = float(model.l1_ratio)
        return penalised_summary(model, shown, SHRUNK if model.alpha > 0 else WIDE)
    n = kept["total"] if wanted.weights == "frequency" else kept["rows"]
    residual = n - kept["rank"]
    dispersion = dispersion_of(kept, residual)
    names, estimate, errors = _estimates(model, kept, dispersion)
    dof, wald = np.inf if kept["known"] else residual, {}
    if wanted.errors != "classical":
        errors, dof, wald = _robust(model, kept, wanted, errors)
    with np.errstate(invalid="ignore"):
        lines = estimate_lines(estimate, errors, dof, wanted.level)
    rows: list[tuple] = [(name, *line) for name, line in zip(names, lines)]
    columns = tuple("z" if np.isinf(dof) and c == "t" else c for c in COLUMNS)
    header = [*_header(model, kept, n, dispersion, wanted), *wald.items()]
    notes = (*_notes(model), *few_groups_note(wald))
    return SummaryTable(type(model).__name__, tuple(header), columns, tuple(rows), notes)


def _estimates(
    model: Any, kept: dict[str, Any], dispersion: float
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names, estimates and classical standard errors, the intercept first; NaN if aliased."""
    names = list(model.terms_)
    estimate = np.append(model.coef_, model.intercept_)
    estimate = as_if_absent(estimate, kept["aliased"], kept["null"])
    errors = np.linalg.norm(_user_root(kept), axis=1) * np.sqrt(dispersion)
    estimate[kept["aliased"]] = errors[kept["aliased"]] = np.nan
    errors[kept["endless"].any(axis=1)] = np.nan
    if not model.fit_intercept:
        return names, estimate[:-1], errors[:-1]
    return ["intercept", *names], np.roll(estimate, 1), np.roll(errors, 1)


def dispersion_of(kept: dict[str, Any], residual: float) -> float:
    """1 where the family knows it, else Pearson's estimate."""
    if kept["known"]:
        return 1.0
    return kept["pearson"] / residual if residual > 0 else np.nan


def _robust(model: Any, kept: dict[str, Any], wanted: Wanted, classical: np.ndarray) -> Any:
    """Robust errors of the lines, their degrees of freedom, and the Wald test."""
    from pellucid.linear_model._inference.least_squares import robust_lines
    from pellucid.linear_model._inference.robust import robust_root, training_rows

    problem, groups = training_rows(model, wanted)
    root = robust_root(
        model, model._loss(), problem, groups, wanted, model.coef_, model.intercept_, problem.y,
        kept["rank"],
    )  # fmt: skip
    n = problem.total if wanted.weights == "frequency" else problem.n
    free = float(n - kept["rank"] if groups is None else groups.max())
    free = np.inf if kept["known"] else free
    errors, dof, wald = robust_lines(root, model.coef_, classical, model, free, groups)
    if wald and np.isinf(dof):
        chi2 = wald["Wald F"] * len(model.coef_)
        wald = {"Wald chi2": chi2, "p of Wald": float(chdtrc(len(model.coef_), chi2))}
    return errors, dof, wald


def _header(
    model: Any, kept: dict[str, Any], n: float, dispersion: float, wanted: Wanted
) -> list[tuple[str, Any]]:
    extra = 0 if kept["known"] else 1
    k, residual = kept["rank"] + extra, n - kept["rank"]
    slopes = kept["rank"] - int(model.fit_intercept)
    gain = kept["null_deviance"] - kept["deviance"]
    test: list[tuple[str, Any]] = []
    if model.fit_intercept and slopes > 0 and np.isfinite(gain):
        if kept["known"]:
            test = [("LR chi2", gain), ("p of LR", float(chdtrc(slopes, max(gain, 0.0))))]
        elif residual > 0:
            with np.errstate(divide="ignore", invalid="ignore"):
                F = float(np.divide(gain / slopes, dispersion))
            test = [("F", F), ("p of F", float(fdtrc(slopes, residual, max(F, 0.0))))]
    copies = wanted.weights == "frequency"
    likelihood = kept["log_likelihood" if copies else "log_likelihood_precision"]
    return [
        ("family", kept["family"]), ("link", kept["link"]), ("rows", n), ("rank", kept["rank"]),
        ("standard errors", wanted.errors),
        ("degrees of freedom", residual), ("deviance", kept["deviance"]),
        ("null deviance", kept["null_deviance"]), ("dispersion", dispersion),
        ("log-likelihood", likelihood), ("AIC", 2 * k - 2 * likelihood),
        ("BIC", k * np.log(n) - 2 * likelihood), *test,
        ("condition number", _condition(_user_root(kept))),
    ]  # fmt: skip


def _user_root(kept: dict[str, Any]) -> np.ndarray:
    """A root of the covariance of (b, b0) for dispersion 1."""
    root = kept["root"].copy()
    root[-1] -= kept["centre"] @ root[:-1]
    return root


def _condition(root: np.ndarray) -> float:
    """Of the coefficients, brought to equal size: the square root, as for X."""
    used = root.any(axis=1)
    if not used.any() or not np.isfinite(root).all():
        return float("inf")
    return float(np.linalg.cond(root[used] / np.linalg.norm(root[used], axis=1)[:, None]))


def _notes(model: Any) -> tuple[str, ...]:
    aliased, notes = model.inference_["aliased"], []
    if len(aliased):
        names = [*model.terms_, "intercept"]
        named = ", ".join(names[j] for j in aliased)
        notes.append(
            f"Spanned by the other terms: {named}. The others are shown as if these were not there; "
            "predictions are not affected (coef_ is another of the equally good answers)."
        )
    if model.inference_.get("constant"):
        notes.append("y is constant: there is nothing to explain, and tests mean nothing.")
    elif not (model.inference_["known"] or model.inference_["pearson"] > 0):
        notes.append("The fit is perfect: nothing is left over to judge it by.")
    if not model.status_.ok:
        notes.append(str(model.status_))
    return (*notes, *missing_notes(model.schema_))
