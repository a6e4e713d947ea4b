"""Classical machine learning you can see through."""
