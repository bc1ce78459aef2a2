"""Leaderboards: entries of many files, boards of those that may be compared, and the site that shows them."""
