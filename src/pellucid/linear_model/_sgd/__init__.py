"""Stochastic gradient descent for linear models."""
