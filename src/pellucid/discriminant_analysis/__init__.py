"""Gaussian classifiers: normal classes with a shared covariance or their own, and projections."""

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
