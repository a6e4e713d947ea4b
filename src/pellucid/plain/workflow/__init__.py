"""Evaluation: metrics, cross-validation, the bootstrap."""
