"""Statistics on units and clusters: intervals, comparisons, agreement, ranks, and how much data a difference needs."""
