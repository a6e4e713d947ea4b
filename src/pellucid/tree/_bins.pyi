# For other loops only: `_bins.pxd` declares the functions.
