"""Logistic regression: objective, solvers, separation, penalty paths."""
