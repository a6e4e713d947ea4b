"""A finished comparison as plain data (`summary`), then as text, Markdown or HTML.

Invariant: nothing right of the summary computes a number.
"""
