"""Gaussian classifiers: normal clouds of one shape, of their own shapes, and their projections."""

from pellucid.discriminant_analysis.fisher import FisherDiscriminant
from pellucid.discriminant_analysis.gaussian_bayes import GaussianBayesClassifier
from pellucid.discriminant_analysis.lda import LinearDiscriminantAnalysis
from pellucid.discriminant_analysis.qda import QuadraticDiscriminantAnalysis

__all__ = [
    "FisherDiscriminant",
    "GaussianBayesClassifier",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
]
