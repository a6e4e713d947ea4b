# For other loops only: `_medians.pxd` declares the functions.
