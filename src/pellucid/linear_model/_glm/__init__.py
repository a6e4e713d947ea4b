"""Generalized linear models: objective, solvers, distributions, optima on the boundary."""
