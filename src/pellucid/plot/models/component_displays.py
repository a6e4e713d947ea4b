"""Principal components: biplot and scree; embeddings of t-SNE, PCA and other transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.errors import DataError, ParameterError, shown
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted, rows_of
from pellucid.plot.models.arrow_names import LONGEST, names_beside
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.grouping import grouped_points
from pellucid.plot.models.model_marks import xy
from pellucid.plot.picture import Axis, Bars, Line, Mark, Panel, Picture, Segments, Text

REACH = 0.9  # length of the longest arrow, as a share of the farthest row


class BiplotDisplay(ModelDisplay):
    """Rows on two principal components, and the columns as arrows.

    An arrow has the direction of the loadings of its column: entries of the component times its
    standard deviation. `frame()` has the scores of the rows (kind "row") and the loadings (kind
    "column"); the picture stretches all arrows by one factor.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.decomposition import PCA
    >>> X = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2]]
    >>> display = plot.biplot(PCA().fit(X), X)
    >>> display.frame()["kind"]
    ['row', 'row', 'row', 'row', 'column', 'column']
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        components: tuple[int, int] = (1, 2),
        most: int = 12,
        title: str | None = None,
    ) -> Self:
        """The biplot of a fitted PCA.

        Parameters
        ----------
        model : a fitted PCA.
        X : the table.
        y : classes or numbers that colour the rows; or the name of a column of X that the model did not
            see.
        components : numbers of the two components, from 1.
        most : largest number of arrows; the longest are drawn.
        title : the title.
        """
        owner = "plot.biplot"
        _check_pca(model, owner)
        X, target = rows_of(X, y)
        pair = _pair(components, len(model.components_), owner)
        scores = np.asarray(model.transform(X), dtype=float)[:, pair]
        spread = np.sqrt(np.asarray(model.explained_variance_, dtype=float))[pair]
        loadings = (np.asarray(model.components_, dtype=float)[pair] * spread[:, None]).T
        names = term_names(model, len(loadings))
        factor = REACH * float(np.abs(scores).max()) / max(float(np.abs(loadings).max()), 1e-300)
        order = np.argsort(-np.square(loadings).sum(axis=1), kind="stable")[: max(int(most), 1)]
        ends = loadings[order] * factor
        zeros = np.zeros(len(ends))
        marks: list[Mark] = [*grouped_points(scores, target)]
        marks.append(Segments(zeros, zeros, *xy(ends), arrows=True, index=None, widths=zeros + 1.6))
        tips = [names[j] for j in order]
        shares = 100 * np.asarray(model.explained_variance_ratio_)[pair]
        labels = [f"component {k + 1} ({share:.1f} %)" for k, share in zip(pair, shares)]
        left = len(loadings) - len(order)
        note = f"Arrows: loadings of the columns, stretched by {factor:.3g}."
        limits = [_roomy(c) for c in np.vstack([scores, ends]).T]
        x, y_axis = (Axis(label, *span) for label, span in zip(labels, limits))
        places, free = names_beside(ends, tips, limits)
        shown_tips = [tip for tip, clear in zip(tips, free) if clear]
        marks.append(Text(*xy(places[free]), shown_tips, bold=True, em=LONGEST))
        crowded = len(tips) - len(shown_tips)
        note += f" {crowded} without a name for lack of room." if crowded else ""
        panel = Panel(
            tuple(marks), x, y_axis, width=480, height=340, title=title or "Biplot",
            note=note + (f" {left} shorter arrows not shown." if left else ""),
        )  # fmt: skip
        both = np.vstack([scores, loadings])
        data = {
            "kind": ["row"] * len(scores) + ["column"] * len(loadings),
            "name": [*map(str, range(len(scores))), *names],
            f"component {pair[0] + 1}": both[:, 0].tolist(),
            f"component {pair[1] + 1}": both[:, 1].tolist(),
        }
        return cls(Picture((panel,), kind="Biplot of principal components"), data)


def _roomy(values: np.ndarray) -> tuple[float, float]:
    """The extent with room for the names of the arrows."""
    room = 0.12 * float(np.ptp(values))
    return float(values.min()) - room, float(values.max()) + room


def _check_pca(model: Any, owner: str) -> None:
    check_fitted(model, owner)
    if not hasattr(model, "components_") or not hasattr(model, "explained_variance_ratio_"):
        raise ParameterError(f"{owner} needs a fitted PCA. Got {type(model).__name__}.")


def _pair(components: Any, n: int, owner: str) -> list[int]:
    if n < 2:
        raise ParameterError(f"{owner} needs a PCA with two components. This one has {n}.")
    pair = [int(k) - 1 for k in components]
    if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= k < n for k in pair):
        raise ParameterError(
            f"The 'components' parameter of {owner} must be two different numbers from 1 to {n}, the "
            f"number of components of the model. Got {shown(components)} instead."
        )
    return pair


def term_names(model: Any, n: int) -> list[str]:
    """Names of the encoded columns of a model."""
    for name in ("terms_", "feature_names_in_"):
        found = getattr(model, name, None)
        if found is not None and len(found) == n:
            return [str(term) for term in found]
    return [f"x{j}" for j in range(n)]


class ScreeDisplay(ModelDisplay):
    """The share of the variance of each principal component, and the cumulative share.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.decomposition import PCA
    >>> display = plot.scree(PCA().fit([[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2]]))
    >>> [round(share, 3) for share in display.frame()["cumulative"]]
    [0.969, 1.0]
    """

    @classmethod
    def from_estimator(cls, model: Any, *, title: str | None = None) -> Self:
        """The scree plot of a fitted PCA.

        Parameters
        ----------
        model : a fitted PCA.
        title : the title.
        """
        _check_pca(model, "plot.scree")
        shares = np.asarray(model.explained_variance_ratio_, dtype=float)
        numbers = np.arange(1, len(shares) + 1)
        total = np.cumsum(shares)
        marks = (
            Bars(numbers, np.zeros(len(shares)), shares, horizontal=False, name="component"),
            Line(numbers, total, name="cumulative", index=1),
        )
        panel = Panel(
            marks, x=Axis("component", low=0.4, high=len(shares) + 0.6),
            y=Axis("share of the variance", low=0.0, high=1.02), title=title or "Scree plot",
        )  # fmt: skip
        data = {"component": numbers, "share": shares, "cumulative": total}
        return cls(Picture((panel,), kind="Scree plot"), data)


class EmbeddingDisplay(ModelDisplay):
    """Rows in the first two dimensions of an embedding, coloured by class or by number.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.decomposition import PCA
    >>> X = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2]]
    >>> display = plot.embedding(PCA().fit(X), X, ["a", "b", "a", "b"])
    >>> list(display.frame())
    ['dimension 1', 'dimension 2', 'y']
    """

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, y: Any = None, *, title: str | None = None
    ) -> Self:
        """The embedding of a fitted transformer.

        Parameters
        ----------
        model : a fitted model with `embedding_` or `transform`.
        X : the table; a model with `embedding_` needs none.
        y : classes or numbers that colour the rows. There may be any number of classes.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.embedding"
        if hasattr(model, "embedding_"):
            points, target = rows_of(np.asarray(model.embedding_, dtype=float), _beside(X, y))
        else:
            check_fitted(model, owner)
            if not hasattr(model, "transform"):
                raise ParameterError(
                    f"{owner} needs a model with embedding_ or transform, such as TSNE or PCA. Got "
                    f"{type(model).__name__}."
                )
            if X is None:
                raise ParameterError(f"{owner} needs X for {type(model).__name__}.")
            X, target = rows_of(X, y)
            points = np.asarray(model.transform(X), dtype=float)
        return cls.from_points(points, target, title=title or type(model).__name__)

    @classmethod
    def from_points(cls, points: Any, y: Any = None, *, title: str | None = None) -> Self:
        """The first two columns of an array of points."""
        points, target = rows_of(np.asarray(points, dtype=float), y)
        if points.ndim != 2 or points.shape[1] < 2:
            raise DataError(f"plot.embedding needs two dimensions. Got shape {points.shape}.")
        panel = Panel(
            grouped_points(points[:, :2], target), x=Axis("dimension 1"), y=Axis("dimension 2"),
            title=title or "Embedding", width=480, height=360,
        )  # fmt: skip
        data = {"dimension 1": points[:, 0], "dimension 2": points[:, 1]}
        if target is not None:
            data["y"] = target
        return cls(Picture((panel,), kind="Embedding"), data)


def _beside(X: Any, y: Any) -> Any:
    """The target of the rows of an embedding; it may be the name of a column of X."""
    return rows_of(X, y)[1] if isinstance(y, str) else y


biplot = as_function("biplot", BiplotDisplay.from_estimator)
scree = as_function("scree", ScreeDisplay.from_estimator)
embedding = as_function("embedding", EmbeddingDisplay.from_estimator)
