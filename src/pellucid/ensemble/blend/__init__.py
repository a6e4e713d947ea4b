"""Blends: weighted means of different models, chosen on out-of-fold predictions."""
