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
    analyses=f"{_ROOM}.analyses:ANALYSES",
    sections=f"{_ROOM}.page:sections",
    limits=(
        "Scores measure agreement with what the participant reported, not the emotional intelligence of a model: a "
        "self-report can be incomplete, and a model can agree with it for other reasons than understanding.",
        "For research, not a clinical instrument: the scores say nothing of any single person.",
    ),
    scores_format=ScoresFormat(
        keys=frozenset(("conversations", "aggregates")),
        read=f"{_ROOM}.scores_json:read_scores_json",
        write=f"{_ROOM}.scores_json:write_scores_json",
        default="scores.json",
    ),
)
