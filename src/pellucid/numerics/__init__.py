"""Mathematics on plain arrays: losses, links, penalties, linear algebra, moments, optimisation.

Invariant: pure functions of arrays and scalars. Nothing here depends on a table, an estimator or a user;
sums over rows run over fixed blocks in fixed order, so bits do not depend on threads.
"""
