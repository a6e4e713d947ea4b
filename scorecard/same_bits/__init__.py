"""Whether a change of the code changes a single bit of what the models compute.

`python -m scorecard.same_bits record FILE` fits every public class on five tables with the
settings of `settings`, and writes a SHA-256 of every learned attribute and every prediction.
`python -m scorecard.same_bits compare FILE` fits them again and lists what differs from FILE.

Only numbers and labels count: messages, titles and names of terms may be rewritten. Classes are
found by their public names, so they may move. The bits hold for one machine and one set of
packages, therefore no FILE is kept in the repository: record it before a change, compare after it.
"""
