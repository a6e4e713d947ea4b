# For other loops only: `_thresholds.pxd` declares the functions.
