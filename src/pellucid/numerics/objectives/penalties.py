"""The penalty on coefficients that a solver handles by its proximal map.

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

    def value(self, w: Array) -> float:
        each = self.l1_ratio * np.abs(w) + (0.5 * (1 - self.l1_ratio)) * w**2
        return float(np.sum(self.strength * each))

    def prox(self, w: Array, step: float | Array) -> Array:
        """Soft threshold, then shrink."""
        reach = step * self.strength
        kept = np.maximum(np.abs(w) - reach * self.l1_ratio, 0.0)
        return np.sign(w) * kept / (1 + reach * (1 - self.l1_ratio))
