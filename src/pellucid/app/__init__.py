"""The command line. Nothing here computes: it reads, calls the library, and writes."""
