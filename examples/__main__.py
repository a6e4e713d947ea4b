"""`python -m examples [--data FOLDER]`: the figures of all texts."""

import sys

from examples import d0, d1, d2, d2_regression, d3, d4
from examples.figures import main

if __name__ == "__main__":
    every = [f for text in (d0, d1, d2_regression, d2, d3, d4) for f in text.FIGURES]
    sys.exit(main(every))
