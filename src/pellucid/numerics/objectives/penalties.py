"""Penalties on coefficients, with gradient, curvature and proximal map, as a table.

Invariant: prox(w, t) minimises penalty(v) + |v - w|^2 / (2 t) over v, exactly; `strength` may be
one number or one per coefficient (0 leaves a coefficient, such as an intercept, unpenalised).
"""

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Penalty:
    """sum_j strength_j (l1_ratio |w_j| + (1 - l1_ratio) / 2 w_j^2)."""

    strength: float | Array = 0.0
    l1_ratio: float = 0.0

    @property
    def smooth(self) -> bool:
        return self.l1_ratio == 0 or not np.any(self.strength)

    def value(self, w: Array) -> float:
        each = self.l1_ratio * np.abs(w) + (0.5 * (1 - self.l1_ratio)) * w**2
        return float(np.sum(self.strength * each))

    def gradient(self, w: Array) -> Array:
        """Gradient of the squared part, plus the subgradient of the rest that is 0 at 0."""
        return self.strength * ((1 - self.l1_ratio) * w + self.l1_ratio * np.sign(w))

    def curvature(self, w: Array) -> Array:
        return np.broadcast_to(self.strength * (1 - self.l1_ratio), w.shape)

    def prox(self, w: Array, step: float | Array) -> Array:
        """Soft threshold, then shrink."""
        reach = step * self.strength
        kept = np.maximum(np.abs(w) - reach * self.l1_ratio, 0.0)
        return np.sign(w) * kept / (1 + reach * (1 - self.l1_ratio))

    def distance(self, w: Array, gradient: Array) -> Array:
        """Per coefficient, distance of -gradient from the subdifferential: 0 at the optimum."""
        pull = gradient + self.strength * (1 - self.l1_ratio) * w
        corner = self.strength * self.l1_ratio
        return np.where(
            w == 0, np.maximum(np.abs(pull) - corner, 0.0), np.abs(pull + corner * np.sign(w))
        )


def none() -> Penalty:
    """No penalty."""
    return Penalty(0.0, 0.0)


def l1(strength: float | Array) -> Penalty:
    """strength sum |w|."""
    return Penalty(strength, 1.0)


def l2(strength: float | Array) -> Penalty:
    """strength / 2 sum w^2."""
    return Penalty(strength, 0.0)


def elastic_net(strength: float | Array, l1_ratio: float) -> Penalty:
    """strength (l1_ratio sum |w| + (1 - l1_ratio) / 2 sum w^2)."""
    return Penalty(strength, l1_ratio)


PENALTIES = {"elastic_net": elastic_net, "l1": l1, "l2": l2, "none": none}
