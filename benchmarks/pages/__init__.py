"""The figures of the method pages: speed, memory and accuracy beside other libraries.

`python -m benchmarks pages` measures them and writes `docs/_data/comparison.json`, from which the site
makes the tables of the pages.
"""
