"""How fast Pellucid is beside its peers, on the same work, at the same answer.

`python -m benchmarks` runs everything; README.md says how a row comes about.
"""
