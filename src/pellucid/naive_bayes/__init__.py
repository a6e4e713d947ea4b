"""Naive Bayes: columns that are independent given the class, each with its own distribution."""

from pellucid.naive_bayes.bernoulli import BernoulliNB
from pellucid.naive_bayes.categorical import CategoricalNB
from pellucid.naive_bayes.complement import ComplementNB
from pellucid.naive_bayes.gaussian import GaussianNB
from pellucid.naive_bayes.mixed import MixedNB
from pellucid.naive_bayes.multinomial import MultinomialNB
from pellucid.naive_bayes.poisson import PoissonNB

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
]
