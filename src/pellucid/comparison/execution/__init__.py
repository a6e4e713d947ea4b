"""Running a plan: worker processes, fold tasks, journal, run folder, time limit."""
