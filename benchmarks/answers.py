"""Did both reach the same answer? One number per model, the lower the better.

Ours may be better than a peer's, never worse by more than the stated tolerance: a peer that stops
early did less work, which only flatters the peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.samples import Sample


@dataclass(frozen=True)
class Answer:
    """A measure of a fitted model, and by how much ours may exceed a peer's.

    `chance` marks work that depends on draws or ties. Its tolerance holds at the full size, and
    grows with the square root of the rows that are missing from it.
    """

    name: str
    measure: Callable[[Any, Sample], float]
    relative: float = 0.0
    absolute: float = 0.0
    chance: bool = False

    def at(self, share: float) -> Answer:
        """The comparison for a sample of `share` times the full size."""
        if not self.chance or share >= 1:
            return self
        wider = share**-0.5
        return replace(self, relative=self.relative * wider, absolute=self.absolute * wider)

    def agrees(self, ours: float, peer: float) -> bool:
        """True if ours is as good; NaN never is."""
        return bool(ours <= peer + self.absolute + self.relative * abs(peer))


def squared_error(relative: float) -> Answer:
    """Sum of squared residuals on the learned rows."""

    def measure(model: Any, sample: Sample) -> float:
        residual = sample.y - (sample.X @ np.ravel(model.coef_) + np.ravel(model.intercept_))
        return float(residual @ residual)

    return Answer("squared error", measure, relative=relative)


def shortest_fit(relative: float) -> Answer:
    """Squared length of the coefficients, plus squared residuals on the learned rows: 0 if all fit."""

    def measure(model: Any, sample: Sample) -> float:
        coef = np.ravel(model.coef_)
        residual = sample.y - (sample.X @ coef + np.ravel(model.intercept_))
        return float(coef @ coef + residual @ residual)

    return Answer("length of coefficients", measure, relative=relative)


def poisson_deviance(relative: float) -> Answer:
    """Half the Poisson deviance on the learned rows."""

    def measure(model: Any, sample: Sample) -> float:
        y, mu = np.asarray(sample.y), model.predict(sample.X)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(y > 0, y * np.log(y / mu), 0.0)
        return float(np.sum(own - y + mu))

    return Answer("Poisson deviance", measure, relative=relative)


def penalised_log_loss(C: float, relative: float) -> Answer:
    """C times the summed log loss, plus half the squared coefficients (intercepts are free).

    With two classes there is one row of coefficients, with more one per class.
    """

    def measure(model: Any, sample: Sample) -> float:
        coef = np.atleast_2d(model.coef_)
        scores = sample.X @ coef.T + np.atleast_1d(model.intercept_)
        codes = np.searchsorted(model.classes_, sample.y)
        if scores.shape[1] == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        top = scores.max(axis=1)
        losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
        losses -= scores[np.arange(len(scores)), codes]
        return float(C * losses.sum() + 0.5 * (coef**2).sum())

    return Answer("penalised log loss", measure, relative=relative)


def error_rate(absolute: float) -> Answer:
    """Share of wrong labels on unseen rows."""

    def measure(model: Any, sample: Sample) -> float:
        return float(np.mean(model.predict(sample.X_test) != sample.y_test))

    return Answer("error on unseen rows", measure, absolute=absolute, chance=True)


def unseen_log_loss(relative: float) -> Answer:
    """Mean log loss on unseen rows."""

    def measure(model: Any, sample: Sample) -> float:
        shares = model.predict_proba(sample.X_test)
        codes = np.searchsorted(model.classes_, sample.y_test)
        own = shares[np.arange(len(codes)), codes].astype(np.float64)
        return float(-np.mean(np.log(np.maximum(own, 1e-300))))

    return Answer("log loss on unseen rows", measure, relative=relative, chance=True)


def unseen_squares(relative: float) -> Answer:
    """Mean squared error on unseen rows."""

    def measure(model: Any, sample: Sample) -> float:
        return float(np.mean((model.predict(sample.X_test) - sample.y_test) ** 2))

    return Answer("squared error on unseen rows", measure, relative=relative, chance=True)


def inertia(relative: float, chance: bool = False) -> Answer:
    """Squared distances to the nearest centre, summed over the learned rows."""

    def measure(model: Any, sample: Sample) -> float:
        centres = np.asarray(model.cluster_centers_)
        total = 0.0
        for begin in range(0, len(sample.X), 8192):
            X = sample.X[begin : begin + 8192]
            total += float(np.min(((X[:, None, :] - centres) ** 2).sum(axis=2), axis=1).sum())
        return total

    return Answer("inertia", measure, relative=relative, chance=chance)


def lost_variance(relative: float) -> Answer:
    """Variance that the components leave out, computed from the components themselves."""

    def measure(model: Any, sample: Sample) -> float:
        centred = sample.X - sample.X.mean(axis=0)
        kept = centred @ np.asarray(model.components_).T
        return float((centred**2).sum() - (kept**2).sum())

    return Answer("lost variance", measure, relative=relative)


def negative_log_likelihood(relative: float) -> Answer:
    """Minus the mean log density of the learned rows."""

    def measure(model: Any, sample: Sample) -> float:
        return -float(model.score(sample.X))

    return Answer("negative log likelihood", measure, relative=relative)


def region(relative: float) -> Answer:
    """The objective a'Ka / 2 of a one-class machine with a Gaussian kernel, from its own vectors."""

    def measure(model: Any, sample: Sample) -> float:
        vectors, a = np.asarray(model.support_vectors_), np.asarray(model.dual_coef_)[0]
        gamma = 1.0 / (vectors.shape[1] * sample.X.var())
        squares = (vectors**2).sum(axis=1)
        distances = squares[:, None] + squares - 2.0 * vectors @ vectors.T
        return 0.5 * float(a @ np.exp(-gamma * np.maximum(distances, 0.0)) @ a)

    return Answer("objective", measure, relative=relative)


def divergence(relative: float) -> Answer:
    """Kullback-Leibler divergence of the points that t-SNE ends with."""
    return Answer(
        "divergence", lambda model, sample: float(model.kl_divergence_), relative, chance=True
    )
