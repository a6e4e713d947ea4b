# For other loops only: `_random_splits.pxd` declares the functions.
