"""Displays of what `pellucid.inspection` and `explain` find."""
