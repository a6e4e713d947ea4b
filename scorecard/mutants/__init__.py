"""Mutation testing of the compiled loops and the solvers: would a test notice a changed line?

`sites` finds the places that can be changed and what to write there, `laboratory` keeps a copy of the
project that is rebuilt after each change, `__main__` draws mutants, runs the tests and keeps a journal.
"""
