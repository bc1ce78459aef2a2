"""EIBench: models in conversation with simulated people, scored by where it led."""

from attune_bench.benchmarks.base import Benchmark, Choice

__all__ = ["BENCHMARK"]

_ROOM = "attune_bench.benchmarks.eibench"

BENCHMARK = Benchmark(
    name="eibench",
    title="EIBench",
    docs="eibench.md",
    data="attune_data.reading:SCENARIO",
    results="attune_data.reading:EPISODE",
    score=f"{_ROOM}.scoring:score",
    choices=(
        Choice(
            name="rule",
            help="how an axis is scored; evaluation, as published: its better direction is inferred from its anchors; "
            "directed: anger is better lower, trust higher",
            options=("evaluation", "directed"),
        ),
        Choice(
            name="failed",
            help="what a failed episode counts; exclude: nothing; start, as published: the state it broke off in; "
            "worst: the worst case",
            options=("exclude", "start", "worst"),
        ),
    ),
    sections=f"{_ROOM}.page:sections",
    limits=(
        "The person is played by a language model, which also judges how its state changes: a reward says what that "
        "simulator, under its instructions, made of the conversation, not what a person would have felt. Another "
        "simulator gives other rewards.",
        "A failed episode is a fault of the model, of the simulator or of a connection, and which treatment of it is "
        "fair depends on which. Where many failed, look at all treatments.",
    ),
)
