"""Lasso and elastic net: working sets, active sets, paths, cross-validation, proximal Newton."""
