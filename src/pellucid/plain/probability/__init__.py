"""Models of probability distributions: Bayes classifiers, discriminants, Bayesian regression."""
