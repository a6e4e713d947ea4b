"""Intervals of predictions of generalised linear models: of the mean, and of a new observation.

The link of the mean is normal around its estimate. A new observation is drawn from the family, with
that uncertain mean and, where it was estimated, an uncertain dispersion: its distribution function
is an average over both (Gaussian quadrature), whose quantiles are its ends.

Invariant: a discrete observation's interval covers at least its level; nothing here draws.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri

from pellucid import parallel
from pellucid.errors import PellucidError
from pellucid.linear_model._glm.distributions import Distribution, distribution
from pellucid.linear_model._inference.glm import WIDE, dispersion_of
from pellucid.linear_model._inference.intervals import OFF, check_span, check_weights, t_reach
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.roots import root_of_increasing

# Nodes for the mean: those of Gaussian quadrature as long as its standard error is at most the first
# of these shares of an observation's deviation, else an even grid, finer from the second on.
NODES, RATIOS = (15, 61, 401), (0.5, 5.0)
FAR = 6.5  # where the grid ends, in standard errors
WIDEST = 60  # nodes beyond two for the dispersion of one degree of freedom; of two a half, ...
FINE = 2000  # points that stand for all dispersions
STEPS = 1100  # doublings from the smallest to the largest float
CLOSE = 1e-10  # distance, in deviations of the observation, within which a quantile is found
UNSURE = 1e-15  # probability that is not told from 0


def glm_ends(
    model: Any, X: Any, eta: np.ndarray, level: float, kind: str, trials: int, weights: str
) -> np.ndarray:
    """Low and high ends (n, 2) for encoded rows with linear predictor eta."""
    kept = _kept(model)
    check_weights(weights)
    residual = kept["total" if weights == "frequency" else "rows"] - kept["rank"]
    if not kept["known"] and residual <= 0:
        raise PellucidError(
            "No degrees of freedom are left to estimate the dispersion: no interval."
        )
    dispersion, dof = dispersion_of(kept, residual), np.inf if kept["known"] else residual
    null, edge = kept["null"][:-1], kept["null"][-1]
    _check_finite(model, X, kept["endless"])
    check_span(X @ null + edge, abs(X) @ np.abs(null) + np.abs(edge), kept["slack"])
    rows = (X if isinstance(X, np.ndarray) else X.toarray()) - kept["centre"]
    rows = np.column_stack([rows, np.full(len(rows), float(model.fit_intercept))])
    error = np.linalg.norm(rows @ kept["root"], axis=1) * np.sqrt(dispersion)
    loss = model._loss()
    normal = kept["family"] == "normal" and kept["link"] == "identity"
    if kind == "mean" or normal:
        spread = error if kind == "mean" else np.sqrt(error**2 + dispersion)
        return mean_ends(loss, eta, t_reach(level, dof) * spread)
    if dispersion == 0:
        return np.repeat(possible_means(loss, eta)[:, None], 2, axis=1)
    ends = observation_ends(loss, eta, error, dispersion, dof, level, trials)
    return ends / trials if kept["family"] == "binomial" else ends


def observation_ends(
    loss: GLMLoss, eta: np.ndarray, error: np.ndarray, phi: float, dof: float, level: float,
    trials: int,
) -> np.ndarray:  # fmt: skip
    """Quantiles (n, 2) of observations with these linear predictors and their standard errors."""
    drawn, ends = distribution(loss.family, trials), np.full((len(eta), 2), np.nan)
    with np.errstate(all="ignore"):
        ratio = error * np.sqrt(loss.expected(eta, eta) / phi)
    band = np.searchsorted(RATIOS, ratio)
    for k in np.unique(band):
        rows, nodes = np.flatnonzero(band == k), make_nodes(phi, dof, NODES[k])
        asked = Asked(drawn, loss, eta[rows], error[rows], nodes)
        blocks = parallel.row_blocks(len(rows), len(nodes.share))
        ends[rows] = np.concatenate(parallel.map(functools.partial(asked.ends, level), blocks))
    return ends


def _kept(model: Any) -> dict[str, Any]:
    """What the fit left for standard errors."""
    kept = vars(model).get("inference_")
    if kept is None:
        if model.alpha == 0 and model.solver != "gd":
            raise PellucidError(WIDE)
        raise PellucidError(
            "Intervals need standard errors, which theory gives for alpha=0 only (and not for "
            "solver='gd'). pellucid.inspection.bootstrap gives intervals for any model."
        )
    if not np.isfinite(kept["root"]).all():
        raise PellucidError(
            "The fit ended where rows have no finite information, so there are no standard errors."
        )
    return kept


def _check_finite(model: Any, X: Any, endless: np.ndarray) -> None:
    """Refuse rows whose linear predictor has no finite best value."""
    off, size = X @ endless[:-1] + endless[-1], abs(X) @ np.abs(endless[:-1]) + np.abs(endless[-1])
    far = np.flatnonzero((np.abs(off) > OFF * size).any(axis=1))
    if len(far):
        raise PellucidError(
            f"Row {far[0]} has no interval: the coefficients that its prediction needs grow without "
            f"limit. {model.status_}"
        )


def possible_means(loss: GLMLoss, eta: np.ndarray) -> np.ndarray:
    """mu(eta), or the possible mean next to it; infinite where an inverse link falls to 0."""
    if loss.link.name == "inverse_square" or _never_negative(loss):
        eta = np.maximum(eta, 0.0)
    with np.errstate(all="ignore"):
        return np.clip(loss.link.inverse(eta), *loss.family.y_range)


def _never_negative(loss: GLMLoss) -> bool:
    return loss.link.name == "inverse" and loss.family.name != "normal"


def mean_ends(loss: GLMLoss, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Smallest and largest mean of the linear predictors within reach of eta."""
    ends = eta[:, None] + reach[:, None] * np.array([-1.0, 1.0])
    means = np.sort(possible_means(loss, ends), axis=1)
    around = (ends[:, 0] < 0) & (ends[:, 1] > 0)
    if loss.link.name == "sqrt":
        means[around, 0] = 0.0
    elif loss.link.name == "inverse" and not _never_negative(loss):
        means[around] = [-np.inf, np.inf]
    return means


@dataclass(frozen=True)
class Nodes:
    """What the fit leaves open: with probability `share` the linear predictor is `shift` standard
    errors off and the dispersion is `phi`; `middle` is the most likely case."""

    shift: np.ndarray
    phi: np.ndarray
    share: np.ndarray

    @property
    def middle(self) -> int:
        return int(np.argmax(self.share))


def make_nodes(phi: float, dof: float, count: int) -> Nodes:
    """An estimate phi with `dof` degrees of freedom stands for phi dof / chi2; the error of the
    linear predictor grows as its root, so that normal observations have Student's t."""
    if count == NODES[0]:
        z, share_z = np.polynomial.hermite_e.hermegauss(count)
    else:
        z = np.linspace(-FAR, FAR, count)
        share_z = np.exp(-0.5 * z * z)
    s, share = (np.ones(1), np.ones(1)) if np.isinf(dof) else chi_nodes(dof)
    shift, root = (grid.ravel() for grid in np.meshgrid(z, 1 / s))
    share = np.outer(share, share_z).ravel()
    return Nodes(shift * root, phi * root**2, share / share.sum())


@functools.lru_cache(16)
def chi_nodes(dof: float) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian quadrature over s = sqrt(chi2 / dof): nodes and shares.

    They are the eigenvalues of s, a fine grid, seen by the first orthogonal polynomials (Lanczos).
    """
    low, high = np.log(2 * gammaincinv(dof / 2, [UNSURE, 1 - UNSURE])) / 2
    t = np.linspace(low, high, FINE)
    s = np.exp(t)
    log_share = dof * t - s * s / 2
    first, s = np.exp((log_share - log_share.max()) / 2), s / np.sqrt(dof)
    Q = (first / np.linalg.norm(first))[None]
    for _ in range(1 + min(WIDEST, round(WIDEST / dof + 0.4))):
        v = s * Q[-1]
        for _ in range(2):
            v = v - Q.T @ (Q @ v)
        Q = np.vstack([Q, v / np.linalg.norm(v)])
    values, vectors = np.linalg.eigh((Q * s) @ Q.T)
    return values, vectors[0] ** 2


@dataclass(frozen=True)
class Asked:
    """Rows whose new observations are asked about."""

    drawn: Distribution
    loss: GLMLoss
    eta: np.ndarray
    error: np.ndarray
    nodes: Nodes

    @functools.cached_property
    def means(self) -> np.ndarray:
        """(rows, nodes)"""
        return possible_means(self.loss, self.eta[:, None] + self.error[:, None] * self.nodes.shift)

    def ends(self, level: float, rows: slice) -> np.ndarray:
        """Of the intervals (n, 2) of some of the rows."""
        some = replace(self, eta=self.eta[rows], error=self.error[rows])
        return np.column_stack([quantile(some, (1 + side * level) / 2) for side in (-1, 1)])

    def chance(self, y: np.ndarray) -> np.ndarray:
        """Of at most y, one value for each row, averaged over the nodes."""
        return self.drawn.below(y[:, None], self.means, self.nodes.phi) @ self.nodes.share


def quantile(asked: Asked, q: float) -> np.ndarray:
    """The smallest possible value whose averaged probability reaches q, for each row."""
    nodes, low = asked.nodes, asked.drawn.support[0]
    middle = asked.means[:, nodes.middle]
    found = np.where(np.isinf(asked.means) @ nodes.share > 1 - q, np.inf, middle)
    some = np.isfinite(found)
    if low == 0:
        none = asked.chance(np.zeros_like(middle)) >= q
        found[none], some = 0.0, some & ~none
    if not some.any():
        return found
    asked = replace(asked, eta=asked.eta[some], error=asked.error[some])
    found[some] = _first_number(asked, q) if asked.drawn.whole else _crossing(asked, q)
    return found


def _first_number(asked: Asked, q: float) -> np.ndarray:
    """The smallest whole number >= 1 whose probability reaches q, by halving."""
    high = np.ceil(asked.means[:, asked.nodes.middle]) + 1
    low = np.zeros_like(high)
    for _ in range(STEPS):
        short = asked.chance(high) < q
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, high * 2, high)
    while np.any(high - low > np.maximum(1, 1e-15 * high)):
        middle = np.floor((low + high) / 2)
        short = asked.chance(middle) < q
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def _crossing(asked: Asked, q: float) -> np.ndarray:
    """The value at which the probability passes q, in deviations t from the mean; where values are
    positive t counts on the scale of logarithms. Probabilities are compared as quantiles of the
    normal distribution, which makes them nearly straight in t."""
    middle, phi = asked.means[:, asked.nodes.middle], asked.nodes.phi[asked.nodes.middle]
    positive = asked.drawn.support[0] == 0
    with np.errstate(all="ignore"):
        spread = np.sqrt(phi * asked.loss.family.variance(middle))
        relative = spread / middle
    relative = np.where((relative > 0) & np.isfinite(relative), relative, 1.0)

    def value(t: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return middle * np.exp(relative * t) if positive else middle + spread * t

    def excess(t: np.ndarray) -> np.ndarray:
        return ndtri(np.clip(asked.chance(value(t)), 1e-300, 1 - 1e-16)) - ndtri(q)

    ends = np.full_like(middle, -4.0), np.full_like(middle, 4.0)
    return value(root_of_increasing(excess, *ends, CLOSE))
