"""SAGE: published conversations with simulated people, scored by their final emotion."""

from attune_bench.scores.benchmark import Benchmark

_ROOM = "attune_bench.benchmarks.sage"

BENCHMARK = Benchmark(
    name="sage",
    title="SAGE",
    docs="sage.md",
    data=None,
    results="attune_data.kinds:DIALOGUE",
    score=f"{_ROOM}.scoring:score",
    row=f"{_ROOM}.scoring:row",
    analyses=f"{_ROOM}.recovery:ANALYSES",
    sections=f"{_ROOM}.report:sections",
    transcripts=f"{_ROOM}.report:transcript",
)
