"""One module per command, named after it and imported only when the command is called."""
