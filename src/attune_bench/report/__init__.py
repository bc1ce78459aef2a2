"""Reports of scores: as text, as figures (`attune_bench.report.figures`) and as a page of HTML."""

from attune_bench.report.text import FORMATS, GROUPS, WIDTH, Format, report

__all__ = ["FORMATS", "GROUPS", "WIDTH", "Format", "report"]
