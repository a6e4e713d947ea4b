# For other loops only: `_buckets.pxd` declares the functions.
