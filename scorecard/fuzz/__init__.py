"""`python -m scorecard fuzz`: hostile model files, tables, formulas and regular expressions.

`mutations` changes bytes, JSON trees and model files; `targets` says for each kind of input how a
hostile one is made from a seed and when it was taken badly; `corpus` replays what was ever bad;
`command` runs all of it in child processes with limits of time and memory.
"""
