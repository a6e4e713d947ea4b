# For other loops only: `_subtree.pxd` declares the functions.
