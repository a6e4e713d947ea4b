"""Coded checks of a table before anything is trained, and the facts they use."""
