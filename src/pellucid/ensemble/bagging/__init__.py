"""Bagging of any base estimator."""
