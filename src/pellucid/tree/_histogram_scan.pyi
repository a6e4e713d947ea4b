# For other loops only: `_histogram_scan.pxd` declares the functions.
