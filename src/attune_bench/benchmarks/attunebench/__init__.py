"""AttuneBench: predictions of what participants annotated in their conversations with a model."""

from attune_bench.benchmarks.base import Benchmark, ScoresFormat

__all__ = ["BENCHMARK"]

_ROOM = "attune_bench.benchmarks.attunebench"

BENCHMARK = Benchmark(
    name="attunebench",
    title="AttuneBench",
    docs="attunebench.md",
    data="attune_data.reading:CONVERSATION",
    results="attune_data.reading:RUN",
    score=f"{_ROOM}.scoring:score",
    scores_format=ScoresFormat(
        keys=frozenset(("conversations", "aggregates")),
        read=f"{_ROOM}.scores_json:read_scores_json",
        write=f"{_ROOM}.scores_json:write_scores_json",
        default="scores.json",
    ),
)
