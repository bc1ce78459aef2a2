"""SAGE: conversations with simulated people, scored by the emotion at their end."""

from attune_bench.scores.benchmark import EPISODE_OPTIONS, Benchmark

_ROOM = "attune_bench.benchmarks.sage"

BENCHMARK = Benchmark(
    name="sage",
    title="SAGE",
    docs="sage.md",
    units="attune_data.kinds:PROFILE",
    results="attune_data.kinds:DIALOGUE",
    score=f"{_ROOM}.scoring:score",
    row=f"{_ROOM}.scoring:row",
    options=EPISODE_OPTIONS,
    task=f"{_ROOM}.task:TASK",
    analyses=f"{_ROOM}.report:ANALYSES",
    sections=f"{_ROOM}.report:sections",
    transcripts=f"{_ROOM}.report:transcript",
)
