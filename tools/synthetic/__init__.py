"""Synthetic records with known effects: the demonstration data of the package, and larger sets to test analyses with.

A tool of the repository, not part of the wheel. ``make demo-data`` writes the demonstration data again.
"""
