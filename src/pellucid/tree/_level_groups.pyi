# For other loops only: `_level_groups.pxd` declares the functions.
