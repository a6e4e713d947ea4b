# For other loops only: `_categories.pxd` declares the functions.
