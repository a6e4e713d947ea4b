"""Every model on every shape of table: where is a fit or a prediction slower than a peer's?

`grid` has the tables, `contenders` the models and what answers must agree, `command` runs the races.
"""
