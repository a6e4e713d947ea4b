# For other loops only: `_rare.pxd` declares the functions.
