"""Ridge and Bayesian linear regression: solvers, eigenvectors, evidence, posterior."""
