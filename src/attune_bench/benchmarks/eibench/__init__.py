"""EIBench: models in conversation with simulated people, scored by where it led."""

from attune_bench.scores.benchmark import EPISODE_OPTIONS, Benchmark, Choice, Option

_ROOM = "attune_bench.benchmarks.eibench"

BENCHMARK = Benchmark(
    name="eibench",
    title="EIBench",
    docs="eibench.md",
    data="attune_data.kinds:SCENARIO",
    results="attune_data.kinds:EPISODE",
    score=f"{_ROOM}.scoring:score",
    row=f"{_ROOM}.scoring:row",
    options=(
        *EPISODE_OPTIONS,
        Option(
            name="judge_all",
            help="Judge the last reply of charm episodes too, which the benchmark leaves unjudged.",
            verbs=("run",),
            kind=bool,
        ),
        Option(
            name="published",
            help="Score as the published evaluation does: --failed start is the default of these scores, and an anchor "
            "that a scenario lacks is filled in; by default such scenarios are left out.",
            verbs=("score",),
            kind=bool,
        ),
    ),
    task=f"{_ROOM}.task:TASK",
    choices=(
        Choice(
            name="rule",
            help="how an axis is scored; evaluation, as published: its better direction is inferred from its anchors; "
            "directed: anger is better lower, trust higher",
            values=("evaluation", "directed"),
        ),
        Choice(
            name="failed",
            help="what a failed episode counts; exclude: nothing; start, as published: the state it broke off in; "
            "worst: the worst case",
            values=("exclude", "start", "worst"),
        ),
    ),
    analyses=f"{_ROOM}.report:ANALYSES",
    sections=f"{_ROOM}.report:sections",
    transcripts=f"{_ROOM}.report:transcript",
    limits=(
        "The person is played by a language model, which also judges how its state changes: a reward says what that "
        "simulator, under its instructions, made of the conversation, not what a person would have felt. Another "
        "simulator gives other rewards, and so do other words of its instructions: compare published numbers only "
        "where both are the same.",
        "A failed episode is a fault of the model, of the simulator or of a connection, and which treatment of it is "
        "fair depends on which. Where many failed, look at all treatments.",
    ),
)
