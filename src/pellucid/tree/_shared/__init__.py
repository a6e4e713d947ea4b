"""Trees of rows that several processes share: their bins, and a round of boosting."""
