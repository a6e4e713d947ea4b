"""Standard errors, tests, robust covariances and intervals of linear models."""
