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
    transcripts=f"{_ROOM}.report:transcript",
)
