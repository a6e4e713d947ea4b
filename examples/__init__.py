"""Studies of the source texts, with our figures beside theirs."""
