# For other loops only: `_splitter.pxd` declares the functions.
