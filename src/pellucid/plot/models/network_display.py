"""The diagram of a neural network: layers of units, and weights by width and sign."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import check_fitted
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.component_displays import term_names
from pellucid.plot.models.model_marks import Rings, columns_of, ends_of, xy
from pellucid.plot.picture import Axis, Mark, Panel, Picture, Segments, Text

WIDEST = 5.0  # pixels of the largest weight
MOST = 12
SIDE = 1.0  # room for names beside the first and the last layer, in distances of layers


class NetworkDisplay(ModelDisplay):
    """Units as circles, weights as lines: wider for larger ones, coloured by sign.

    `frame()` has one row for each weight that is drawn: its layer, the units that it joins (from 0),
    and its value.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.neural_network import MLPClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], ["a", "a", "b", "b"]
    >>> model = MLPClassifier((3,), solver="lbfgs", random_state=0).fit(X, y)
    >>> len(plot.network(model).frame()["weight"])
    9
    """

    @classmethod
    def from_estimator(cls, model: Any, *, most: int = MOST, title: str | None = None) -> Self:
        """The diagram of a fitted network.

        Parameters
        ----------
        model : a fitted MLPClassifier, MLPRegressor or other model with `coefs_`.
        most : largest number of units drawn per layer; larger layers show their first and last units.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.network"
        check_fitted(model, owner)
        weights = [np.asarray(layer, dtype=float) for layer in getattr(model, "coefs_", ())]
        if not weights:
            raise ParameterError(
                f"{owner} needs a neural network with coefs_, such as MLPClassifier. Got "
                f"{type(model).__name__}."
            )
        if not isinstance(most, int | np.integer) or most < 2:
            raise ParameterError(
                f"The 'most' parameter of {owner} must be an integer of at least 2. Got {shown(most)}."
            )
        sizes = [len(weights[0]), *(layer.shape[1] for layer in weights)]
        units = [_shown(size, int(most)) for size in sizes]
        data = _columns(weights, units)
        picture = _picture(model, data, sizes, units, title or type(model).__name__)
        return cls(picture, data)


def _shown(size: int, most: int) -> list[int]:
    """All units of a layer, or the first and last ones."""
    if size <= most:
        return list(range(size))
    head = (most + 1) // 2
    return [*range(head), *range(size - (most - head), size)]


def _columns(weights: list[np.ndarray], units: list[list[int]]) -> dict[str, Any]:
    rows = [
        (k, i, j, float(layer[i, j]))
        for k, layer in enumerate(weights)
        for i in units[k]
        for j in units[k + 1]
    ]
    return dict(zip(("layer", "from", "to", "weight"), map(list, zip(*rows))))


def _places(units: list[list[int]], sizes: list[int]) -> dict[tuple[int, int], tuple[float, float]]:
    """Places of the units: layers from left to right, centred; a gap where units are left out."""
    places = {}
    for k, layer in enumerate(units):
        gaps = [0.0]
        for before, after in itertools.pairwise(layer):
            gaps.append(gaps[-1] + (1.0 if after == before + 1 else 1.8))
        for unit, y in zip(layer, gaps):
            places[k, unit] = (float(k), gaps[-1] / 2 - y)
    return places


def _picture(
    model: Any, data: dict[str, Any], sizes: list[int], units: list[list[int]], title: str
) -> Picture:
    places = _places(units, sizes)
    values = np.array(data["weight"])
    largest = float(np.abs(values).max()) or 1.0
    ends = np.array(
        [
            [*places[k, i], *places[k + 1, j]]
            for k, i, j in zip(data["layer"], data["from"], data["to"])
        ]
    )
    marks: list[Mark] = []
    for index, name, own in (
        (0, "positive weight", values > 0),
        (1, "negative weight", values < 0),
    ):
        widths = WIDEST * np.abs(values[own]) / largest
        drawn = widths > 0.05  # thinner lines cannot be seen
        marks.append(
            Segments(*ends_of(ends[own][drawn]), widths=widths[drawn], index=index, name=name)
        )
    spots = np.array(list(places.values()))
    marks.append(Rings(*xy(spots), radius=7.0, filled=True))
    marks += _texts(model, places, sizes, units)
    tallest = max(len(layer) for layer in units)
    left_out = [f"layer {k}: {len(u)} of {n} units" for k, (u, n) in enumerate(zip(units, sizes))
                if len(u) < n]  # fmt: skip
    note = f"Widest line: weight {largest:.3g}." + (
        f" Shown: {', '.join(left_out)}." if left_out else ""
    )
    last = len(sizes) - 1
    panel = Panel(
        tuple(marks), x=Axis(low=-SIDE, high=last + SIDE, ticks=False, grid=False),
        y=Axis(low=-tallest / 2 - 1.2, high=tallest / 2 + 0.8, ticks=False, grid=False), title=title,
        note=note, width=_width(len(sizes)), height=max(180, 30 * tallest + 40),
    )  # fmt: skip
    return Picture((panel,), kind="Diagram of a network")


def _width(n_layers: int) -> int:
    return max(480, 170 * (n_layers + 1))


def _texts(model: Any, places: Any, sizes: list[int], units: list[list[int]]) -> list[Mark]:
    """Names of inputs and outputs beside their units, and of the layers below."""
    last = len(sizes) - 1
    inputs = term_names(model, sizes[0])
    classes = getattr(model, "classes_", None)
    two = classes is not None and sizes[-1] == 1
    names = (
        [str(model.classes_[-1])] if two
        else ["output"] if classes is None and sizes[-1] == 1
        else [f"output {j}" for j in range(sizes[-1])] if classes is None or len(classes) != sizes[-1]
        else [str(c) for c in classes]
    )  # fmt: skip
    sides: list[Mark] = []
    for k, texts, shift, anchor in ((0, inputs, -0.07, "end"), (last, names, 0.07, "start")):
        spots = [(places[k, u][0] + shift, places[k, u][1], texts[u]) for u in units[k]]
        em = SIDE * _width(len(sizes)) / (last + 2 * SIDE) / 14
        sides.append(Text(*columns_of(spots), anchor=anchor, em=em))
    bottom = -max(len(layer) for layer in units) / 2 - 0.9
    hidden = [f"hidden {k} ({sizes[k]})" for k in range(1, last)]
    layers = [f"inputs ({sizes[0]})", *hidden, f"outputs ({sizes[-1]})"]
    return [*sides, Text(range(last + 1), [bottom] * (last + 1), layers, size=11)]


network = as_function("network", NetworkDisplay.from_estimator)
