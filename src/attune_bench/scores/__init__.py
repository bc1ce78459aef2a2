"""Scores: the table that every analysis takes, its columns, its files, and tables of others."""
