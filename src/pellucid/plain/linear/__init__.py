"""Linear models: regression, classification by linear functions."""
