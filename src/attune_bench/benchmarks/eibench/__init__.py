"""EIBench: models in conversation with simulated people, scored by where it led."""

from attune_bench.benchmarks.base import Benchmark

__all__ = ["BENCHMARK"]

_ROOM = "attune_bench.benchmarks.eibench"

BENCHMARK = Benchmark(
    name="eibench",
    title="EIBench",
    docs="eibench.md",
    data="attune_data.reading:SCENARIO",
    results="attune_data.reading:EPISODE",
    score=f"{_ROOM}.scoring:score",
)
