"""One file per family of models; each holds a tuple `WORKLOADS`."""
