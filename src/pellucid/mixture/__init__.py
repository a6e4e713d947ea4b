"""Mixtures of densities: the Gaussian mixture."""

from pellucid.mixture.gaussian_mixture import GaussianMixture

__all__ = ["GaussianMixture"]
