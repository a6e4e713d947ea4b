"""Gradient boosting: exact and histogram-based."""
