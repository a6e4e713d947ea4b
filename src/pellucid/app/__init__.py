"""The command line: it reads arguments and files, calls the library and writes the results."""
