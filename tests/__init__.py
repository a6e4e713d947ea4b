"""The tests. A package, so that adapters and readers of the source can be imported by name."""
