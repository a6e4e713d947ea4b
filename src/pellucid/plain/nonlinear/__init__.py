"""Models with curved boundaries: neighbors, kernels, layers."""
