"""Robust covariances of estimates that solve sum_i score_i = 0: bread, meat, bread.

    cov = H^-1 M H^-1,    H the curvature summed over rows, M the products of scores

    HC0  M = sum_i s_i s_i'                      HC1  times n / (n - rank)
    HC2  each term divided by 1 - h_i            HC3  by (1 - h_i)^2,  h_i the leverage
    clustered  scores are summed within groups first; times G / (G - 1) (n - 1) / (n - rank)

Invariant: nothing here depends on a model; a row counts `counts` times, so weights can mean copies.
"""

from collections.abc import Callable

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError, ParameterError

KINDS = ("HC0", "HC1", "HC2", "HC3", "clustered")
ALONE = 1e-10  # 1 - leverage below which a row fixes a coefficient alone

# rows -> scores (m, k) of one copy of each row, and the leverages (m,) of a copy, or None.
Visit = Callable[[slice], tuple[np.ndarray, np.ndarray | None]]


def sandwich(
    bread: np.ndarray, visit: Visit, blocks: list[slice], counts: np.ndarray, kind: str, *,
    n: float, rank: int, groups: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The covariance (k, k); `bread` is H^-1, `groups` the codes 0..G-1 of the rows."""
    if kind == "clustered":
        assert groups is not None
        meat = _clustered(visit, blocks, counts, groups, bread.shape[0])
        G = int(groups.max()) + 1
        if G < 2:
            raise DataError("Clustered standard errors need at least two groups.")
        meat *= G / (G - 1) * (n - 1) / (n - rank) if n > rank else np.nan
    else:
        meat = parallel.reduce(
            lambda rows: _products(*visit(rows), counts[rows], kind, rows.start),
            np.ndarray.__iadd__,
            blocks,
        )
        if kind == "HC1":
            meat *= n / (n - rank) if n > rank else np.nan
    return bread @ meat @ bread


def _products(
    scores: np.ndarray, leverage: np.ndarray | None, counts: np.ndarray, kind: str, first: int
) -> np.ndarray:
    factor = counts
    if kind in ("HC2", "HC3"):
        if leverage is None:
            raise ParameterError(
                f"{kind} needs leverages, which this model does not have: use HC1."
            )
        rest = 1.0 - leverage
        alone = np.flatnonzero(rest < ALONE)
        if len(alone):
            raise DataError(
                f"Row {first + int(alone[0])} fixes a coefficient alone (its leverage is 1), so "
                f"{kind} has no value. Use HC1, or leave out the column that only this row has."
            )
        factor = counts / rest if kind == "HC2" else counts / rest**2
    return scores.T @ (scores * factor[:, None])


def _clustered(
    visit: Visit, blocks: list[slice], counts: np.ndarray, groups: np.ndarray, k: int
) -> np.ndarray:
    sums = np.zeros((int(groups.max()) + 1, k))
    for rows in blocks:
        np.add.at(sums, groups[rows], visit(rows)[0] * counts[rows][:, None])
    return sums.T @ sums
