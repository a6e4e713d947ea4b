"""Tables that need not fit into memory: files, data sets, lazy frames, databases, Dask frames.

`find` turns what the user gives into a `BlockSource`: names, types and record batches in a fixed order
of rows. `large` decides whether it fits below the memory ceiling; if not, `scratch_table` writes it into
arrays in scratch files, with which every model does the same as with arrays in memory.
"""
