# For other loops only: `_partition.pxd` declares the functions.
