"""Prediction intervals for a new observation of a generalised linear model.

The link of the mean is normal around its estimate. A new observation is drawn from the family, with
that uncertain mean and, where it was estimated, an uncertain dispersion: its distribution function
is an average over both (Gaussian quadrature), and the ends of the interval are its quantiles.

Invariant: the interval of a discrete observation covers at least its level; no random numbers are
drawn.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv, ndtri

from pellucid import parallel
from pellucid.linear_model._glm.distributions import Distribution, distribution
from pellucid.linear_model._inference.intervals import possible_means
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.roots import root_of_increasing

# Nodes for the mean: those of Gaussian quadrature as long as its standard error is at most the first
# of these shares of an observation's deviation, else an even grid, finer from the second on.
NODES, RATIOS = (15, 61, 401), (0.5, 5.0)
FAR = 6.5  # where the grid ends, in standard errors
WIDEST = 60  # nodes beyond two for a dispersion with one degree of freedom; half with two, ...
FINE = 2000  # points of the grid of dispersions
STEPS = 1100  # doublings from the smallest to the largest float
CLOSE = 1e-10  # distance, in deviations of the observation, within which a quantile is found
UNSURE = 1e-15  # probability that counts as 0


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
        new = NewRows(drawn, loss, eta[rows], error[rows], nodes)
        blocks = parallel.row_blocks(len(rows), len(nodes.share))
        ends[rows] = np.concatenate(parallel.map(functools.partial(new.ends, level), blocks))
    return ends


@dataclass(frozen=True)
class Nodes:
    """The uncertainty of the fit: with probability `share` the linear predictor is `shift` standard
    errors off and the dispersion is `phi`; `middle` is the most likely case."""

    shift: np.ndarray
    phi: np.ndarray
    share: np.ndarray

    @property
    def middle(self) -> int:
        return int(np.argmax(self.share))


def make_nodes(phi: float, dof: float, count: int) -> Nodes:
    """The dispersion is phi dof / chi2 for an estimate phi with `dof` degrees of freedom; the error of
    the linear predictor grows as its root, so that normal observations have Student's t."""
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

    They are the eigenvalues of s, a fine grid, in the basis of the first orthogonal polynomials
    (Lanczos).
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
class NewRows:
    """Rows for which an observation is predicted."""

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
        """Ends (n, 2) of the intervals of some of the rows."""
        some = replace(self, eta=self.eta[rows], error=self.error[rows])
        return np.column_stack([quantile(some, (1 + side * level) / 2) for side in (-1, 1)])

    def probability(self, y: np.ndarray) -> np.ndarray:
        """Probability of at most y, one value for each row, averaged over the nodes."""
        return self.drawn.below(y[:, None], self.means, self.nodes.phi) @ self.nodes.share


def quantile(rows: NewRows, q: float) -> np.ndarray:
    """The smallest possible value whose averaged probability reaches q, for each row."""
    nodes, low = rows.nodes, rows.drawn.support[0]
    middle = rows.means[:, nodes.middle]
    found = np.where(np.isinf(rows.means) @ nodes.share > 1 - q, np.inf, middle)
    some = np.isfinite(found)
    if low == 0:
        none = rows.probability(np.zeros_like(middle)) >= q
        found[none], some = 0.0, some & ~none
    if not some.any():
        return found
    rows = replace(rows, eta=rows.eta[some], error=rows.error[some])
    found[some] = _first_number(rows, q) if rows.drawn.whole else _crossing(rows, q)
    return found


def _first_number(rows: NewRows, q: float) -> np.ndarray:
    """The smallest whole number >= 1 whose probability reaches q, by halving."""
    high = np.ceil(rows.means[:, rows.nodes.middle]) + 1
    low = np.zeros_like(high)
    for _ in range(STEPS):
        short = rows.probability(high) < q
        if not short.any():
            break
        low, high = np.where(short, high, low), np.where(short, high * 2, high)
    while np.any(high - low > np.maximum(1, 1e-15 * high)):
        middle = np.floor((low + high) / 2)
        short = rows.probability(middle) < q
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def _crossing(rows: NewRows, q: float) -> np.ndarray:
    """The value at which the probability passes q, in deviations t from the mean; where values are
    positive t counts on the scale of logarithms. Probabilities are compared as quantiles of the
    normal distribution, which makes them nearly straight in t."""
    middle, phi = rows.means[:, rows.nodes.middle], rows.nodes.phi[rows.nodes.middle]
    positive = rows.drawn.support[0] == 0
    with np.errstate(all="ignore"):
        spread = np.sqrt(phi * rows.loss.family.variance(middle))
        relative = spread / middle
    relative = np.where((relative > 0) & np.isfinite(relative), relative, 1.0)

    def value(t: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return middle * np.exp(relative * t) if positive else middle + spread * t

    def excess(t: np.ndarray) -> np.ndarray:
        return ndtri(np.clip(rows.probability(value(t)), 1e-300, 1 - 1e-16)) - ndtri(q)

    ends = np.full_like(middle, -4.0), np.full_like(middle, 4.0)
    return value(root_of_increasing(excess, *ends, CLOSE))
