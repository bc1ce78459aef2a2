"""Statistics of any scores: summaries, comparisons, subgroups, signatures."""
