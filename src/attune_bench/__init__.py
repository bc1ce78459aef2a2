"""Scoring, comparison and reports: what joins the records of `attune_data` with the metrics of `attune_metrics`."""

from attune_bench._version import __version__
from attune_bench.benchmarks.attunebench.scoring import score
from attune_bench.scores import Scores

__all__ = ["Scores", "__version__", "score"]
