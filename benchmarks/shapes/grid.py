"""The tables of the grid: small, tall, wide, sparse, of many classes, with missing values, ...

A shape holds one source per task: "classes", "numbers", "counts" (positive targets), "words"
(non-negative cells) and "groups" (no target). A peer that does not take the table as it is gets the
pipeline that its own documentation recommends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.samples import Source, classification, counts, regression


@dataclass(frozen=True)
class Shape:
    """One row of the grid; `quick` is the number of rows for a first look, None to leave it out."""

    name: str
    n: int
    columns: int
    sources: Mapping[str, Source]
    classes: int = 2
    kind: str = "dense"  # "dense", "sparse", "missing", "levels", "targets"
    quick: int | None = None
    pipeline: Callable[[Any], Any] | None = field(default=None)

    @property
    def encoded(self) -> int:
        """Number of columns that a linear model sees."""
        return 3000 if self.kind == "levels" else self.columns


def _dense(n: int, d: int, classes: int = 2, quick: int | None = None) -> Shape:
    suffix = f" x {classes}" if classes > 2 else ""
    sources = {"classes": classification(n, d, classes)}
    if classes == 2:
        sources |= {
            "numbers": regression(n, d, informative=min(10, d)),
            "counts": counts(n, d),
            "groups": replace(classification(n, d), supervised=False),
        }
    return Shape(f"{n} x {d}{suffix}", n, d, sources, classes, quick=quick)


def _changed(source: Source, change: Callable[[np.ndarray], Any]) -> Source:
    """The same rows, after `change` of the table."""

    def draw(rows: int) -> tuple[Any, np.ndarray]:
        X, y = source.draw(rows)
        return change(X), y

    return replace(source, draw=draw)


def _float32() -> Shape:
    shape = _dense(50_000, 30, quick=5_000)
    as_float32 = {
        task: _changed(source, lambda X: X.astype(np.float32))
        for task, source in shape.sources.items()
    }
    return replace(shape, name="50000 x 30 float32", sources=as_float32)


def _missing() -> Shape:
    """Three cells in ten are missing."""

    def with_missing(X: np.ndarray) -> np.ndarray:
        return np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)

    shape = _dense(20_000, 20, quick=2_000)
    kept = {task: _changed(shape.sources[task], with_missing) for task in ("classes", "numbers")}
    return replace(
        shape, name="20000 x 20 missing", sources=kept, kind="missing", pipeline=_imputed
    )


def _imputed(estimator: Any) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(add_indicator=True), estimator)


_LEVELS = (3, 5, 10, 20, 50, 100, 200, 400, 700, 1000)


def _levels() -> Shape:
    """Ten columns of strings; every level has an effect of its own."""
    n = 20_000

    def draw(rows: int, classes: bool) -> tuple[Any, np.ndarray]:
        import pandas

        rng = np.random.default_rng(0)
        codes = [rng.integers(0, levels, rows) for levels in _LEVELS]
        effect = sum(rng.normal(size=levels)[c] for levels, c in zip(_LEVELS, codes))
        noisy = effect + rng.normal(size=rows)
        X = pandas.DataFrame(
            {f"c{i}": np.char.add("v", c.astype(str)) for i, c in enumerate(codes)}
        )
        return X, (noisy > 0).astype(int) if classes else noisy

    sources = {
        "classes": Source(n, "20k x 10 levels", lambda rows: draw(rows, True)),
        "numbers": Source(n, "20k x 10 levels", lambda rows: draw(rows, False)),
    }
    return Shape("20000 x 10 levels", n, 10, sources, kind="levels", quick=2_000, pipeline=_onehot)


def _onehot(estimator: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    sparse = not type(estimator).__name__.endswith(("NB", "Analysis"))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    return make_pipeline(encoder, estimator)


def _text(classes: int) -> Shape:
    """Counts of 60 words a row; every class has its own favourites."""
    n, d, each = 20_000, 30_000, 60

    def draw(rows: int) -> tuple[Any, np.ndarray]:
        from scipy.sparse import csr_array

        rng = np.random.default_rng(0)
        y = rng.integers(0, classes, rows)
        liked = rng.integers(0, d, (classes, d // 10))
        own = liked[y[:, None], rng.integers(0, d // 10, (rows, each))]
        common = (d * rng.random((rows, each)) ** 3).astype(np.int64)  # some words are frequent
        columns = np.where(rng.random((rows, each)) < 0.2, own, common).ravel()
        entries = (np.ones(rows * each), (np.repeat(np.arange(rows), each), columns))
        X = csr_array(entries, shape=(rows, d))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y

    def numbers(rows: int) -> tuple[Any, np.ndarray]:
        X, _ = draw(rows)
        rng = np.random.default_rng(1)
        return X, X @ rng.normal(size=d) * (rng.random(1)[0] + 1) + rng.normal(size=rows)

    sources = {task: Source(n, "20k x 30k CSR", draw) for task in ("classes", "words")}
    if classes == 2:
        sources |= {"numbers": Source(n, "20k x 30k CSR", numbers)}
    suffix = f" x {classes}" if classes > 2 else ""
    return Shape(f"20000 x 30000 CSR{suffix}", n, d, sources, classes, "sparse", quick=2_000)


def _targets() -> Shape:
    source = regression(20_000, 20, targets=10)
    return Shape(
        "20000 x 20, 10 targets", 20_000, 20, {"numbers": source}, kind="targets", quick=2_000
    )


def shapes() -> tuple[Shape, ...]:
    """The grid, small tables first."""
    return (
        _dense(100, 5, quick=100),
        _dense(1_000, 10, quick=1_000),
        _dense(10_000, 20, quick=10_000),
        _dense(50, 200, quick=50),
        _dense(1_000, 300, quick=1_000),
        _dense(700, 2_000, quick=700),
        _dense(300, 3_000, quick=300),
        _dense(2_000, 10_000),
        _dense(20_000, 20, 50, quick=4_000),
        _dense(20_000, 20, 300),
        _float32(),
        _missing(),
        _levels(),
        _targets(),
        _text(2),
        _text(4),
        _dense(100_000, 50),
        _dense(500_000, 10),
        _dense(1_000_000, 5),
    )
