"""The 95 % interval of a cross-validated score, from the contribution of each tested row.

The interval is about the models that cross-validation fitted: it covers the mean of their true scores,
that is, of the scores that they would have on all rows of the population. It does not cover the score
that the procedure would have with other training rows. The variance of the rows is inflated for the
training rows that the models share, see `evidence`.

- Proportions (accuracy, F1, ...): Wilson's interval with an effective number of rows.
- Area under the ROC curve: Newcombe's interval with effective class sizes.
- Losses: on a log scale (R2: of the unexplained share); the upper end of a skewed loss is further out
  (Hall 1992).
- scikit-learn scorers have no row values: their intervals come from the folds (`by_folds`).
"""

from __future__ import annotations

import numpy as np

from pellucid.comparison.analysis import statistics
from pellucid.comparison.analysis.evidence import (
    ROUNDING,
    CVDesign,
    Evidence,
    as_loss,
    standard_error,
)
from pellucid.comparison.analysis.statistics import EffectiveSample

HIDDEN = 3.0  # factor on the sample skewness, which is too small because large losses are rare
Ends = tuple[float, float]


def score_interval(design: CVDesign, found: Evidence, sample: EffectiveSample | None) -> Ends:
    """The interval of one model; `sample` has the tested rows of each class."""
    factor = design.inflation(design.shared_by_score)
    if sample is not None and sample.rows is not None:
        return _of_share(found, sample, factor)
    if sample is not None and design.metric.name == "roc_auc":
        return _of_auc(found, sample, factor)
    loss = as_loss(design.metric.name, found)
    if loss is None or not loss.score > 0:
        half = statistics.reach(len(found.parts) - 1) * standard_error(found.parts, factor)
        return found.score - half, found.score + half
    low, high = _of_loss(loss, factor)
    if design.metric.name != "r2":
        return low, high
    if found.pooled is not None:
        again = _of_loss(Evidence(1 - found.pooled.score, -found.pooled.parts), factor)
        low, high = min(low, again[0]), max(high, again[1])
    return 1 - high, 1 - low


def _of_share(found: Evidence, sample: EffectiveSample, factor: float) -> Ends:
    """Wilson's interval; if no prediction is wrong, there are at most as many rows as units."""
    share, units = min(max(found.score, 0.0), 1.0), len(found.parts)
    spread = standard_error(found.parts, 1.0) ** 2
    known = min(sample.rows or 0.0, float(units))
    if spread > ROUNDING**2:
        known = min(share * (1 - share) / spread, sum(sample.by_class))
    return statistics.wilson(share, known / factor, df=units - 1)


def _of_auc(found: Evidence, sample: EffectiveSample, factor: float) -> Ends:
    """Newcombe's interval; class sizes are reduced if the rows vary more than it assumes."""
    fewest = min(sample.by_class)
    rest, auc = sum(sample.by_class) - fewest, min(max(found.score, 0.0), 1.0)
    expected = statistics.auc_variance(auc, fewest, rest)
    spread = standard_error(found.parts, 1.0) ** 2
    factor *= max(1.0, spread / expected) if expected > 0 else 1.0
    return statistics.auc_interval(auc, fewest / factor, rest / factor, df=len(found.parts) - 1)


def _of_loss(loss: Evidence, factor: float) -> Ends:
    """Interval on a log scale; the upper end depends on the skewness of the rows."""
    n = len(loss.parts)
    z = statistics.reach(n - 1)
    share = standard_error(loss.parts, factor) / loss.score
    centred = loss.parts - loss.parts.mean()
    spread = np.sqrt((centred**2).mean())
    skew = float((centred**3).mean() / spread**3) if spread > 0 else 0.0
    more = HIDDEN * max(skew, 0.0) * (1 + 2 * z**2) / (6 * np.sqrt(n))
    reach = min((z + more) * share, np.log(statistics.FARTHEST))
    return float(loss.score * np.exp(-z * share)), float(loss.score * np.exp(reach))
