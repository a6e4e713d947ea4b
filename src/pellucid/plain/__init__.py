"""Every method built from first principles: short NumPy code to read, not to run fast.

Each file states the objective as a formula and the numbered steps of the algorithm, and the same
numbers stand beside the lines of code. The constructions check no input. Tests compare each of them
with the class of the library. `pellucid show METHOD --plain` prints the file.
"""

from pellucid.plain.linear.least_squares import LeastSquares, LeastSquaresDescent

# The constructions of each method, by the name that `pellucid show` uses.
METHODS = {
    "ols": (LeastSquares, LeastSquaresDescent),
}

__all__ = ["METHODS", *sorted({made.__name__ for several in METHODS.values() for made in several})]
