"""Displays of predictions, errors, curves of a fit, and coefficients."""
