"""AdaBoost for classification (SAMME) and regression (AdaBoost.R2)."""
