"""One module per command, named after it; imported only when that command is asked for."""
