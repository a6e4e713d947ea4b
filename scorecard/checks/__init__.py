"""The cases of each row: functions `share -> cases`, where share 1 is the full size."""
