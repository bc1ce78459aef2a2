"""EQ-Bench v2: how strongly characters of a dialogue feel four emotions, against reference intensities."""

from attune_bench.scores.benchmark import Benchmark

_ROOM = "attune_bench.benchmarks.eqbench.protocol"

BENCHMARK = Benchmark(
    name="eqbench",
    title="EQ-Bench v2",
    docs="eqbench.md",
    data="attune_data.kinds:QUESTION",
    results="attune_data.kinds:ANSWER",
    cluster="dialogue",
    score=f"{_ROOM}:score",
    row=f"{_ROOM}:row",
    comparability_keys={"temperature": "temperature"},
    task=f"{_ROOM}:TASK",
    limits=(
        "The references are one author's, of invented people: a score says how near a model comes to that author.",
        "Questions on one dialogue, cut off at several places, are not independent; intervals draw dialogues.",
        "The pass that counts is chosen before anything is drawn, and intervals do not contain that choice.",
    ),
)
