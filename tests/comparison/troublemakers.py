"""Models that misbehave, each in its own way; they stand here so that a child can import them."""

import os
import signal
import time

import numpy as np


class Troublemaker:
    """The least that a comparison asks of a model: predicts the first class, or zero."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds

    def get_params(self, deep=True):
        return {"seconds": self.seconds}

    def set_params(self, **params):
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X, y):
        self.trouble()
        self.classes_ = np.unique(y)
        return self

    def trouble(self):
        """Nothing happens here."""

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Raises(Troublemaker):
    def trouble(self):
        raise RuntimeError("the sky is falling")


class Hangs(Troublemaker):
    def trouble(self):
        time.sleep(600)


class Spins(Troublemaker):
    def trouble(self):
        end = time.monotonic() + 600
        while time.monotonic() < end:
            pass


class Eats(Troublemaker):
    def trouble(self):
        self.eaten = [np.ones(2**24) for _ in range(10_000)]


class Dies(Troublemaker):
    def trouble(self):
        os.kill(os.getpid(), signal.SIGKILL)


class FitsLongAndSaysNothing(Troublemaker):
    """Its rounds on folds fail while the one on all 40 rows still fits."""

    def fit(self, X, y):
        time.sleep(self.seconds if len(X) == 40 else 0)
        return super().fit(X, y)

    def predict(self, X):
        raise RuntimeError("no answer")


class Sleeps(Troublemaker):
    def trouble(self):
        time.sleep(self.seconds)


class HangsOnMany(Troublemaker):
    """Learns from the rows of a fold, but not from all training rows."""

    def fit(self, X, y):
        if len(y) > 100:
            time.sleep(600)
        return super().fit(X, y)


class HangsOnFew(Troublemaker):
    """The nearest mean bill of penguins; hangs on fewer rows than a fold has."""

    def fit(self, X, y):
        if len(y) < 80:
            time.sleep(600)
        super().fit(X, y)
        bills = self.bills(X)
        self.means = np.array([bills[y == label].mean(axis=0) for label in self.classes_])
        return self

    def bills(self, X):
        names = ("bill_length_mm", "bill_depth_mm")
        return np.column_stack([np.nan_to_num(X.column(name).to_numpy(), nan=40) for name in names])

    def predict(self, X):
        far = ((self.bills(X)[:, None] - self.means) ** 2).sum(axis=2)
        return self.classes_[far.argmin(axis=1)]
