"""What the results show: leaderboard, intervals, pairwise tests, test set, model details."""
