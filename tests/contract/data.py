"""Small tables for the contract: every number is a multiple of 1/64, so float32 holds it exactly.

A sample is made for a class: labels for classifiers, numbers for regressors, both columns where a
class only takes several targets, nothing negative where its tags forbid it.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tests.contract.classes import classifier, regressor, tags

COLUMNS = ["length", "width", "größe", "重さ 🐧"]
LEVELS = ["amber", "blue", "green"]


@dataclass(frozen=True)
class Sample:
    X: object
    y: np.ndarray | None
    weights: np.ndarray

    def take(self, rows) -> "Sample":
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return Sample(X, None if self.y is None else self.y[rows], self.weights[rows])

    def with_X(self, X) -> "Sample":
        return replace(self, X=X)

    def with_y(self, y) -> "Sample":
        return replace(self, y=y)


def dyadic(values) -> np.ndarray:
    return np.round(np.asarray(values) * 64) / 64


def numbers(Model: type, n: int = 60, p: int = 4, n_classes: int = 3, seed: int = 0) -> Sample:
    """Overlapping groups (so that probabilities lie inside 0..1), targets linear plus noise."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % class_count(Model, n_classes)
    centres = 1.5 * rng.normal(size=(group.max() + 1, p))
    X = dyadic(centres[group] + rng.normal(size=(n, p)))
    if tags(Model).input_tags.positive_only:
        X = np.abs(X)
    return Sample(X, target(Model, X, group, rng), rng.integers(1, 4, n).astype(float))


def class_count(Model: type, wanted: int) -> int:
    one_boundary = classifier(Model) and not tags(Model).classifier_tags.multi_class
    return 2 if one_boundary else wanted


def target(Model: type, X: np.ndarray, group: np.ndarray, rng) -> np.ndarray | None:
    if classifier(Model):
        return group.astype(np.int64)
    if not regressor(Model):
        return group.astype(np.int64) if tags(Model).target_tags.required else None
    y = dyadic(X @ np.linspace(1, 2, X.shape[1]) + rng.normal(size=len(X)))
    if tags(Model).target_tags.positive_only:
        y = np.abs(y) + 1
    return y if tags(Model).target_tags.single_output else np.column_stack([y, y[::-1]])


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=COLUMNS[: X.shape[1]])


def mixed(Model: type, n: int = 60, seed: int = 1) -> Sample:
    """Numbers, a flag, categories, text levels and dates, most of them with missing cells."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % class_count(Model, 3)
    height = dyadic(2 + group + np.abs(rng.normal(size=n)))
    y = target(Model, height[:, None], group, rng)
    height[::7] = np.nan
    colour = np.array(LEVELS, dtype=object)[(group + (rng.random(n) < 0.3)) % 3]
    colour[::11] = None
    town = np.array(["Lund", "Ubud", "Ålesund"], dtype=object)[rng.integers(0, 3, n)]
    town[5] = None
    when = np.datetime64("2021-03-01") + rng.integers(0, 400, n).astype("timedelta64[D]")
    when[::13] = np.datetime64("NaT")
    table = pd.DataFrame(
        {
            "height": height,
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "colour": pd.Categorical(colour, categories=LEVELS),
            "town": town,
            "when": when.astype("datetime64[ms]"),
        }
    )
    return Sample(table, y, rng.integers(1, 4, n).astype(float))


def noise(Model: type, n: int = 40) -> Sample:
    """A target that has nothing to do with the table, and a class that occurs once."""
    sample = numbers(Model, n=n, n_classes=2, seed=3)
    labels = np.random.default_rng(4).integers(0, 2, n)
    labels[7] = class_count(Model, 3) - 1
    return sample.with_y(labels)
