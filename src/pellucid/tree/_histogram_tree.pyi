# For other loops only: `_histogram_tree.pxd` declares the functions.
