# For other loops only: `_histogram_search.pxd` declares the functions.
