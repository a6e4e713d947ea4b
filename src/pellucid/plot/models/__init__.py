"""Displays of fitted models and of tables."""
