# For other loops only: `_histogram_count.pxd` declares the functions.
