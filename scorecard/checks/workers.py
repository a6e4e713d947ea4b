"""Row 16: workers of Dask that are killed inside a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pellucid.beyond_memory import digest
from pellucid.cluster import KMeans
from pellucid.ensemble import HistGradientBoostingClassifier
from scorecard.checks import dask_workers
from scorecard.checks.partitions import MIXED, MODELS, NUMBERS, table
from scorecard.runner import Case, counted

KILLS = 20  # of each model
ROWS = 500_000  # 8 groups of rows, in two parts
WARM = 140_000  # for both workers, too
PARTS = 7
FIVE = ("LinearRegression", "LogisticRegression", "PoissonRegressor", "GaussianNB", "PCA")
# How a model is made, its target and its columns.
KILLED: dict[str, tuple[Callable[[], Any], str | None, list[str]]] = {
    **{name: MODELS[name] for name in FIVE},
    "KMeans": (partial(KMeans, 3, n_init=1, max_iter=20, tol=0.01, random_state=0), None, NUMBERS),
    "HistGradientBoostingClassifier": (
        partial(HistGradientBoostingClassifier, max_iter=5, random_state=0), "label", MIXED,
    ),
}  # fmt: skip


def kills(share: float) -> Iterator[Case]:
    """A worker is killed inside a random pass of a fit, 20 times for each of 7 models."""
    for number in counted(KILLS * len(KILLED), share):
        name = list(KILLED)[number % len(KILLED)]
        yield Case(f"{name} {number}", partial(_survives, name, number))


def _lazy(columns: list[str], rows: int) -> Any:
    """A frame whose partitions, of sizes that Dask does not know, are made by the workers."""
    import dask.dataframe as dd

    cuts = np.sort(np.random.default_rng(PARTS).integers(0, rows, PARTS - 1))
    sizes = np.diff([0, *cuts.tolist(), rows]).tolist()
    make = partial(_partition, columns)
    return dd.from_map(make, range(PARTS), sizes, meta=make(0, 1).iloc[:0])


def _partition(columns: list[str], seed: int, rows: int) -> pd.DataFrame:
    return table.__wrapped__(rows, seed)[columns]  # made again when it is asked for again


def _survives(name: str, number: int) -> dict[str, float]:
    """Equal bits; the seconds of the fit, and those of one before it that nothing disturbed."""
    from tests.data.test_dask_workers import fit_while_killing

    make, y, columns = KILLED[name]
    columns, target = [*columns, *([y] if y else [])], {"y": y} if y else {}
    with dask_workers.cluster(2) as (cluster, _):
        make().fit(_lazy(columns, WARM), **target)  # now the workers have imported what fits need
        lazy, usual = _lazy(columns, ROWS), make()
        usual.fit(lazy, **target)
        hit = int(np.random.default_rng([number, 16]).integers(usual.fit_report_["passes"]))
        found, _ = fit_while_killing(cluster, make(), lazy, y, hit, seed=number)
    assert digest(found._learned()) == digest(usual._learned()), "other bits than without the kill"
    seconds, before = found.fit_report_["seconds"], usual.fit_report_["seconds"]
    return {"seconds": seconds, "undisturbed": before, "ratio": seconds / before}
