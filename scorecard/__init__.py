"""The reliability scorecard: every promise with the tests that hold it, at full size."""
