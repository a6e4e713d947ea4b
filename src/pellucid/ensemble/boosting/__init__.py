"""Gradient boosting on histograms, with the names of both pairs of classes of scikit-learn."""
