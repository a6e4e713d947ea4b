# For other loops only: `_row_order.pxd` declares the functions.
