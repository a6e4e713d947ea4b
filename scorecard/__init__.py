"""The reliability scorecard: every promise with the tests that check it, at full size."""
