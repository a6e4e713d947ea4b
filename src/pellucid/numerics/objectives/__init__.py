"""Losses, links, families and penalties with their derivatives."""
