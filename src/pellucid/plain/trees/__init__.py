"""Decision trees, and the models that combine many of them."""
