"""Statistics of any scores: summaries, comparisons, subgroups, signatures."""

__all__: list[str] = []
